// Pools: those of two processes, as one of them uses them with the other.
#pragma once

#include <cstdint>

#include "fci_core/gcs/cells.h"
#include "fci_core/gcs/piece_pool.h"
#include "fci_core/mp/landing.h"

namespace fci::mp {

struct Pools {
    gcs::PiecesOut out;            // of the own pool, at the peer
    gcs::PiecesIn in;              // of the peer's pool
    gcs::Cells cells;              // of both
    std::uint64_t cell_bytes = 0;  // of the smaller; 0: there are none
    std::uint64_t lend_after = 0;  // so many bytes went, and came: the peer answers
    ColdLanding landing;           // of what comes from the peer's
};

}  // namespace fci::mp
