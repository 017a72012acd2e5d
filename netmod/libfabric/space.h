// SPDX-License-Identifier: BSD-3-Clause
// The two kinds of messages, and a receive of either.
#pragma once

#include <rdma/fabric.h>
#include <sys/uio.h>

#include <cstddef>
#include <cstdint>

#include "fci_core/api/icl.h"

namespace fci::libfabric {

/// Tagged and untagged messages never match each other: each has one of the core's spaces.
enum Space : std::uint32_t { kTagged = 0, kMessage = 1 };
static_assert(FCI_ICL_SPACES == 2);
inline constexpr std::uint64_t kSpaceFlags[FCI_ICL_SPACES] = {FI_TAGGED, FI_MSG};

/// A receive as the program described it, whichever of the calls it came by.
struct ReceiveCall {
    const iovec* iov;
    std::size_t iov_count;
    fi_addr_t source;
    std::uint64_t tag, ignore;  // 0 and all bits for untagged ones
    void* context;
};

}  // namespace fci::libfabric
