// SPDX-License-Identifier: BSD-3-Clause
// JobPlace: what a process is told of its job.
#pragma once

#include <string>

#include "fci_core/nhi/types.h"

namespace fci::api {

struct JobPlace {
    nhi::PeerId ranks = 0;        // with this one; their cards are added before others
    nhi::PeerId local_ranks = 0;  // of them, on this host
    int local_rank = -1;          // which of these it is; -1: unknown
    std::string why_driver{};     // it has this one, for the user; may be empty
};

}  // namespace fci::api
