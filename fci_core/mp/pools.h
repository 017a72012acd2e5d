// SPDX-License-Identifier: BSD-3-Clause
// Pools: those of two processes, as one of them uses them with the other.
#pragma once

#include "fci_core/gcs/cells.h"
#include "fci_core/gcs/piece_pool.h"
#include "fci_core/mp/move/landing.h"

namespace fci::mp {

struct Pools {
    gcs::PiecesOut out;            // of the own pool, at the peer
    gcs::PiecesIn in;              // of the peer's pool
    gcs::Cells cells;              // of both
    ColdLanding landing;           // of what comes from the peer's
};

}  // namespace fci::mp
