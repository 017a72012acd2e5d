// SPDX-License-Identifier: BSD-3-Clause
// Receives: an endpoint's plain receives on their way to the core, and how they are cancelled.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "fci_core/api/icl.h"
#include "netmod/libfabric/completions.h"
#include "netmod/libfabric/receive_records.h"
#include "netmod/libfabric/space.h"

namespace fci::libfabric {

/// Under the domain's lock.
class Receives {
public:
    /// `in_context`: pending receives are noted in the program's contexts. `directed`: programs
    /// receive by source.
    Receives(Completions& completions, bool in_context, bool directed) noexcept
        : completions_(completions), in_context_(in_context), directed_(directed) {}

    /// FCI_ICL_ANY_SOURCE unless the program receives by source.
    [[nodiscard]] fci_icl_peer source_wanted(fi_addr_t number) const noexcept {
        return !directed_ || number == FI_ADDR_UNSPEC ? FCI_ICL_ANY_SOURCE
                                                      : completions_.peers.peer_of(number);
    }
    ssize_t post(const ReceiveCall& call, Space space, bool report) noexcept;
    /// The fast path for one range. False: it has to go another way.
    bool post_directly(Space space, void* data, std::size_t bytes, fi_addr_t from,
                       std::uint64_t tag, std::uint64_t ignore, void* context,
                       ssize_t* answer) noexcept {
        const fci_icl_peer source = source_wanted(from);
        const fci_icl_done_fn done = direct_done_[space];
        if (done == nullptr || context == nullptr || source == PeerNumbers::kNobody) [[unlikely]] {
            return false;
        }
        ContextMark& mark = *static_cast<ContextMark*>(context);
        const fci_icl_completion completion{done, context, this};
        fci_icl_status status;
        const int result = fci_icl_receive_bytes(completions_.icl(), source, space, tag, ignore,
                                                 data, bytes, &completion, &mark.order, &status);
        if (result == FCI_ICL_OK) [[likely]] {
            mark.owner = this;
            *answer = 0;
            return true;
        }
        mark.owner = nullptr;
        *answer = answered(space, result, source, context, status, completions_.receive.report);
        return true;
    }
    /// Whether there is a fast path.
    void set_direct(Space space, bool direct) noexcept;
    /// Of a message that was taken out of the matching; such a receive cannot be cancelled.
    ssize_t post_claimed(const ReceiveCall& call, Space space, fci_icl_message* message,
                         bool report) noexcept;
    /// The completion follows by progress, whichever of cancelling and matching was first.
    ssize_t cancel(void* context) noexcept;

private:
    template <Space kSpace, bool kReport, bool kInContext>
    static void received(void* user, void* owner, const fci_icl_status* status);
    static fci_icl_done_fn received_call(Space space, bool report, bool in_context) noexcept;
    ssize_t answered(Space space, int result, fci_icl_peer source, void* context,
                     const fci_icl_status& status, bool report) noexcept;

    Completions& completions_;
    /// A receive of one range goes straight to the core, its order is noted in the context, and
    /// this ends it. nullptr: not so.
    std::array<fci_icl_done_fn, FCI_ICL_SPACES> direct_done_{};
    const bool in_context_, directed_;
    ReceiveRecords records_;
};

}  // namespace fci::libfabric
