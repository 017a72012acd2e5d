// SPDX-License-Identifier: BSD-3-Clause
// Claims: FI_PEEK, FI_CLAIM and FI_DISCARD: looking at a message, taking it out of the matching,
// receiving or dropping it later. A claim is known by its context; tag and source of that call do
// not matter.
#pragma once

#include <cstdint>
#include <vector>

#include "fci_core/api/icl.h"
#include "netmod/libfabric/completions.h"
#include "netmod/libfabric/receives.h"

namespace fci::libfabric {

/// Under the domain's lock.
class Claims {
public:
    Claims(Completions& completions, Receives& receives) noexcept
        : completions_(completions), receives_(receives) {}

    /// The answer is an entry of the completion queue, a miss too: some programs only look there.
    /// Always reported: nobody peeks without wanting to know.
    ssize_t peek(Space space, const ReceiveCall& call, std::uint64_t flags);
    ssize_t receive(Space space, const ReceiveCall& call, std::uint64_t flags);
    /// Before the channel is closed.
    void discard_all() noexcept;

private:
    struct Claim {
        void* context;
        fci_icl_message* message;
        fci_icl_status status;
    };

    Completions& completions_;
    Receives& receives_;
    std::vector<Claim> claims_;
};

}  // namespace fci::libfabric
