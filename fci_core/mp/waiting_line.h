// SPDX-License-Identifier: BSD-3-Clause
// WaitingLine: a request that found no free slot at its peer.
#pragma once

#include "fci_core/base/intrusive_list.h"
#include "fci_core/gcs/request_block.h"

namespace fci::mp {

struct WaitingLine : ListLink {
    gcs::Line line;
};

}  // namespace fci::mp
