// SPDX-License-Identifier: BSD-3-Clause
#include "netmod/libfabric/sends.h"

#include <cstdlib>
#include <cstring>
#include <new>
#include <utility>

namespace fci::libfabric {

/// A send whose data the program wants back at once, where the core does not take it at once.
struct Sends::Copy {
    fci_icl_completion then;
    Copy* next;
    Copy** here;  // the pointer to this one
    std::size_t bytes;
    char data[];

    static void sent(void* user, void* owner, const fci_icl_status* status) {
        auto* const copy = static_cast<Copy*>(user);
        Sends& self = *static_cast<Sends*>(owner);
        self.copied_bytes_ -= sizeof(Copy) + copy->bytes;
        if (self.copied_bytes_ == 0) self.copied_most_ = kCopiedMost;
        self.stuck_.reset();
        *copy->here = copy->next;
        if (copy->next != nullptr) copy->next->here = copy->here;
        copy->then.done(copy->then.user, owner, status);
        std::free(copy);
    }
};

Sends::Sends(Completions& completions) noexcept : completions_(completions) {
    for (const Space space : {kTagged, kMessage}) {
        injected_[space] = {sent_call(space, false), nullptr, this};
    }
}

Sends::~Sends() {
    while (copies_ != nullptr) std::free(std::exchange(copies_, copies_->next));
}

void Sends::begin() noexcept {
    struct fci_icl_limits limits {};
    fci_icl_limits(completions_.icl(), &limits);
    inject_room_ = limits.inject_bytes == 0 ? 0 : limits.inject_bytes + 1;
}

/// A completion of the core means at least "the peer's FCI has it or will fetch it": that covers
/// every level below the match.
void Sends::settle_flags() noexcept {
    Direction& transmit = completions_.transmit;
    transmit.report = transmit.reports(transmit.op_flags);
    flags_of_all_ = (transmit.op_flags & FI_MATCH_COMPLETE) != 0 ? FCI_ICL_SYNCHRONOUS : 0;
}

/// The core did not take it at once.
ssize_t Sends::injected_late(Space space, const void* data, std::size_t bytes, fci_icl_peer peer,
                             std::uint32_t flags, std::uint64_t tag, std::uint64_t immediate,
                             int result) noexcept {
    if (result == FCI_ICL_EHELD) {
        const iovec range{const_cast<void*>(data), bytes};
        return send_copy({peer, space, flags, tag, immediate, &range, 1, {}}, bytes, nullptr,
                         false);
    }
    return result == FCI_ICL_OK ? 0 : completions_.refused(result, peer);
}

ssize_t Sends::ranges(Space space, const fi_msg_tagged& message, std::uint64_t flags,
                      bool report) noexcept {
    if ((flags & FI_FENCE) != 0) return -FI_EBADFLAGS;  // not among the capabilities
    const fci_icl_peer peer = completions_.peers.peer_of(message.addr);
    if (peer == PeerNumbers::kNobody) return -FI_EINVAL;
    const bool has_data = (flags & FI_REMOTE_CQ_DATA) != 0;
    const bool synchronous = (flags & FI_MATCH_COMPLETE) != 0;
    struct fci_icl_send send {};
    send.peer = peer;
    send.space = space;
    send.flags = (has_data ? FCI_ICL_IMMEDIATE : 0) | (synchronous ? FCI_ICL_SYNCHRONOUS : 0);
    send.match = message.tag;
    send.immediate = has_data ? message.data : 0;
    send.iov = message.msg_iov;
    send.iov_count = message.iov_count;
    std::size_t bytes = 0;
    if ((flags & FI_INJECT) != 0) {
        for (std::size_t i = 0; i < send.iov_count; ++i) bytes += send.iov[i].iov_len;
        if (bytes > kInjectBytes) return -FI_EINVAL;
        if (synchronous || bytes >= inject_room_) {
            return send_copy(send, bytes, message.context, report);
        }
        send.flags |= FCI_ICL_BUFFERED;
    }
    send.completion = {sent_call(space, report), message.context, this};
    fci_icl_order order;
    const int result = fci_icl_send(completions_.icl(), &send, &order);
    if (result == FCI_ICL_EHELD) {
        send.flags &= ~FCI_ICL_BUFFERED;
        return send_copy(send, bytes, message.context, report);
    }
    if (result == FCI_ICL_DONE) {
        completions_.send_completed(space, message.context, report);
        return 0;
    }
    return result == FCI_ICL_OK ? 0 : completions_.refused(result, peer);
}

/// A full room holds the program back until receivers take its messages. But a receiver may first
/// want a message that is still to come (MPI_Isend, where the MPI library sends by injection, must
/// not wait for its receive). So the room grows while nothing is taken.
bool Sends::may_copy() noexcept {
    if (copied_bytes_ <= copied_most_) return true;
    if (!stuck_) stuck_.emplace(kStuckMs);
    if (stuck_->left_ns() != 0) return false;
    stuck_.reset();
    copied_most_ += kCopiedMost;
    return true;
}

ssize_t Sends::send_copy(const struct fci_icl_send& send, std::size_t bytes, void* context,
                         bool report) noexcept {
    if (!may_copy()) return completions_.refused(FCI_ICL_EAGAIN, send.peer);
    auto* const copy = static_cast<Copy*>(std::malloc(sizeof(Copy) + bytes));
    if (copy == nullptr) return -FI_ENOMEM;
    const auto space = static_cast<Space>(send.space);
    copy->then = {sent_call(space, report), context, this};
    copy->bytes = bytes;
    char* to = copy->data;
    for (std::size_t i = 0; i < send.iov_count; ++i) {
        if (send.iov[i].iov_len != 0) std::memcpy(to, send.iov[i].iov_base, send.iov[i].iov_len);
        to += send.iov[i].iov_len;
    }
    const fci_icl_completion completion{Copy::sent, copy, this};
    fci_icl_order order;
    const int result =
        fci_icl_send_bytes(completions_.icl(), send.peer, space, send.flags, send.match,
                           send.immediate, copy->data, bytes, &completion, &order);
    if (result == FCI_ICL_OK) {
        copied_bytes_ += sizeof(Copy) + bytes;
        copy->next = copies_;
        copy->here = &copies_;
        if (copies_ != nullptr) copies_->here = &copy->next;
        copies_ = copy;
        return 0;
    }
    std::free(copy);
    if (result != FCI_ICL_DONE) return completions_.refused(result, send.peer);
    completions_.send_completed(space, context, report);
    return 0;
}

}  // namespace fci::libfabric
