// SPDX-License-Identifier: BSD-3-Clause
// Sends: an endpoint's messages on their way to the core. Each kind of call ends in one of three.
// A pending operation needs no object: what is to be done with it is in the choice of the callback,
// its context is `user`, its endpoint's object is `owner`.
#pragma once

#include <rdma/fi_tagged.h>

#include <cstddef>
#include <cstdint>
#include <optional>

#include "fci_core/api/icl.h"
#include "netmod/libfabric/completions.h"
#include "netmod/libfabric/sheet.h"
#include "netmod/libfabric/space.h"

namespace fci::libfabric {

/// Under the domain's lock.
class Sends {
public:
    explicit Sends(Completions& completions) noexcept;
    ~Sends();  // and nobody took the copies that are left
    Sends(const Sends&) = delete;
    Sends& operator=(const Sends&) = delete;

    /// When the channel is open, and when the flags of calls without flags have changed.
    void begin() noexcept;
    void settle_flags() noexcept;

    ssize_t bytes(Space space, const void* data, std::size_t bytes, fi_addr_t to,
                  std::uint32_t flags, std::uint64_t tag, std::uint64_t immediate,
                  void* context) noexcept {
        const fci_icl_peer peer = completions_.peers.peer_of(to);
        if (peer == PeerNumbers::kNobody) [[unlikely]] return -FI_EINVAL;
        const bool report = completions_.transmit.report;
        const fci_icl_completion completion{sent_call(space, report), context, this};
        fci_icl_order order;
        const int result =
            fci_icl_send_bytes(completions_.icl(), peer, space, flags | flags_of_all_, tag,
                               immediate, data, bytes, &completion, &order);
        if (result == FCI_ICL_DONE) [[likely]] {
            completions_.send_completed(space, context, report);
            return 0;
        }
        return result == FCI_ICL_OK ? 0 : completions_.refused(result, peer);
    }
    ssize_t inject(Space space, const void* data, std::size_t bytes, fi_addr_t to,
                   std::uint32_t flags, std::uint64_t tag, std::uint64_t immediate) noexcept {
        const fci_icl_peer peer = completions_.peers.peer_of(to);
        if (peer == PeerNumbers::kNobody || bytes > kInjectBytes) [[unlikely]] return -FI_EINVAL;
        int result = FCI_ICL_EHELD;
        if (bytes < inject_room_) [[likely]] {
            result = fci_icl_send_bytes(completions_.icl(), peer, space, flags | FCI_ICL_BUFFERED,
                                        tag, immediate, data, bytes, &injected_[space], nullptr);
        }
        if (result == FCI_ICL_DONE) [[likely]] {
            completions_.send_completed(space, nullptr, false);
            return 0;
        }
        return injected_late(space, data, bytes, peer, flags, tag, immediate, result);
    }
    ssize_t ranges(Space space, const fi_msg_tagged& message, std::uint64_t flags,
                   bool report) noexcept;

private:
    struct Copy;
    static constexpr std::size_t kCopiedMost = 1u << 20;  // then the program has to come again
    static constexpr int kStuckMs = 1000;

    template <Space kSpace, bool kReport>
    static void sent(void* user, void* owner, const fci_icl_status* status);
    static fci_icl_done_fn sent_call(Space space, bool report) noexcept {
        static constexpr fci_icl_done_fn calls[FCI_ICL_SPACES][2] = {
            {sent<kTagged, false>, sent<kTagged, true>},
            {sent<kMessage, false>, sent<kMessage, true>},
        };
        return calls[space][report];
    }
    ssize_t injected_late(Space space, const void* data, std::size_t bytes, fci_icl_peer peer,
                          std::uint32_t flags, std::uint64_t tag, std::uint64_t immediate,
                          int result) noexcept;
    bool may_copy() noexcept;
    ssize_t send_copy(const struct fci_icl_send& send, std::size_t bytes, void* context,
                      bool report) noexcept;

    Completions& completions_;
    std::uint32_t flags_of_all_ = 0;  // FCI_ICL_...
    std::size_t inject_room_ = 0;     // injects of less go straight to the core
    fci_icl_completion injected_[FCI_ICL_SPACES];
    std::size_t copied_bytes_ = 0;  // of sends that are pending in a copy
    Copy* copies_ = nullptr;        // these
    std::size_t copied_most_ = kCopiedMost;
    std::optional<Deadline> stuck_;  // since a send was refused nobody has taken one of them
};

template <Space kSpace, bool kReport>
void Sends::sent(void* user, void* owner, const fci_icl_status* status) {
    Completions& completions = static_cast<Sends*>(owner)->completions_;
    if (status->error != FCI_ICL_OK) [[unlikely]] {
        return completions.send_failed(kSpace, user, *status);
    }
    completions.send_completed(kSpace, user, kReport);
}

}  // namespace fci::libfabric
