// Sends: the nine calls of each kind end in the same two.
#include <cstdlib>
#include <cstring>
#include <new>
#include <utility>

#include "netmod/libfabric/calls.h"
#include "netmod/libfabric/endpoint.h"
#include "netmod/libfabric/errors.h"

namespace fci::libfabric {

/// A send whose data the program wants back at once, where the core does not take it at once.
struct Endpoint::SendCopy {
    fci_icl_completion then;
    SendCopy* next;
    SendCopy** here;  // what points to this one
    std::size_t bytes;
    char data[];

    static void sent(void* user, void* owner, const fci_icl_status* status) {
        auto* const copy = static_cast<SendCopy*>(user);
        Endpoint& self = *static_cast<Endpoint*>(owner);
        self.copied_bytes_ -= sizeof(SendCopy) + copy->bytes;
        if (self.copied_bytes_ == 0) self.copied_most_ = kCopiedMost;
        self.stuck_.reset();
        *copy->here = copy->next;
        if (copy->next != nullptr) copy->next->here = copy->here;
        copy->then.done(copy->then.user, owner, status);
        std::free(copy);
    }
};

/// Those that nobody took until the endpoint was closed.
void Endpoint::free_copies() noexcept {
    while (copies_ != nullptr) std::free(std::exchange(copies_, copies_->next));
}

inline ssize_t Endpoint::send_bytes(Space space, const void* data, std::size_t bytes, fi_addr_t to,
                                    std::uint32_t flags, std::uint64_t tag,
                                    std::uint64_t immediate, void* context) noexcept {
    const fci_icl_peer peer = peer_of(to);
    if (peer == kNobody) [[unlikely]] return -FI_EINVAL;
    const bool report = transmit_.report;
    const fci_icl_completion completion{sent_call(space, report), context, this};
    fci_icl_order order;
    const int result = fci_icl_send_bytes(icl_, peer, space, flags | transmit_flags_, tag,
                                          immediate, data, bytes, &completion, &order);
    if (result == FCI_ICL_DONE) [[likely]] {
        send_completed(space, context, report);
        return 0;
    }
    return result == FCI_ICL_OK ? 0 : refused(result, peer);
}

inline ssize_t Endpoint::inject(Space space, const void* data, std::size_t bytes, fi_addr_t to,
                                std::uint32_t flags, std::uint64_t tag,
                                std::uint64_t immediate) noexcept {
    const fci_icl_peer peer = peer_of(to);
    if (peer == kNobody || bytes > kInjectBytes) [[unlikely]] return -FI_EINVAL;
    int result = FCI_ICL_EHELD;
    if (bytes < inject_room_) [[likely]] {
        result = fci_icl_send_bytes(icl_, peer, space, flags | FCI_ICL_BUFFERED, tag, immediate,
                                    data, bytes, &injected_[space], nullptr);
    }
    if (result == FCI_ICL_DONE) [[likely]] {
        send_completed(space, nullptr, false);
        return 0;
    }
    return injected_late(space, data, bytes, peer, flags, tag, immediate, result);
}

/// The core did not take it at once.
[[gnu::noinline]] ssize_t Endpoint::injected_late(Space space, const void* data, std::size_t bytes,
                                                  fci_icl_peer peer, std::uint32_t flags,
                                                  std::uint64_t tag, std::uint64_t immediate,
                                                  int result) noexcept {
    if (result == FCI_ICL_EHELD) {
        const iovec range{const_cast<void*>(data), bytes};
        return send_copy({peer, space, flags, tag, immediate, &range, 1, {}}, bytes, nullptr,
                         false);
    }
    return result == FCI_ICL_OK ? 0 : refused(result, peer);
}

ssize_t Endpoint::send_ranges(Space space, const fi_msg_tagged& message, std::uint64_t flags,
                              bool report) noexcept {
    if ((flags & FI_FENCE) != 0) return -FI_EBADFLAGS;  // not among the capabilities
    Guard guard(domain_.lock());
    const fci_icl_peer peer = peer_of(message.addr);
    if (peer == kNobody) return -FI_EINVAL;
    const bool has_data = (flags & FI_REMOTE_CQ_DATA) != 0;
    const bool synchronous = (flags & FI_MATCH_COMPLETE) != 0;
    struct fci_icl_send send{};
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
    const int result = fci_icl_send(icl_, &send, &order);
    if (result == FCI_ICL_EHELD) {
        send.flags &= ~FCI_ICL_BUFFERED;
        return send_copy(send, bytes, message.context, report);
    }
    if (result == FCI_ICL_DONE) {
        send_completed(space, message.context, report);
        return 0;
    }
    return result == FCI_ICL_OK ? 0 : refused(result, peer);
}

/// A program that may not go on until somebody takes what it has sent is held back so; but whoever
/// should take it may want something first that is still to come (MPI_Isend, where the MPI library
/// sends by injection, must not wait for its receive). So the room grows while nothing is taken.
bool Endpoint::may_copy() noexcept {
    if (copied_bytes_ <= copied_most_) return true;
    if (!stuck_) stuck_.emplace(kStuckMs);
    if (stuck_->left_ns() != 0) return false;
    stuck_.reset();
    copied_most_ += kCopiedMost;
    return true;
}

/// Under the lock.
ssize_t Endpoint::send_copy(const struct fci_icl_send& send, std::size_t bytes, void* context,
                            bool report) noexcept {
    if (!may_copy()) return refused(FCI_ICL_EAGAIN, send.peer);
    auto* const copy = static_cast<SendCopy*>(std::malloc(sizeof(SendCopy) + bytes));
    if (copy == nullptr) return -FI_ENOMEM;
    const auto space = static_cast<Space>(send.space);
    copy->then = {sent_call(space, report), context, this};
    copy->bytes = bytes;
    char* to = copy->data;
    for (std::size_t i = 0; i < send.iov_count; ++i) {
        if (send.iov[i].iov_len != 0) std::memcpy(to, send.iov[i].iov_base, send.iov[i].iov_len);
        to += send.iov[i].iov_len;
    }
    const fci_icl_completion completion{SendCopy::sent, copy, this};
    fci_icl_order order;
    const int result =
        fci_icl_send_bytes(icl_, send.peer, space, send.flags, send.match, send.immediate,
                           copy->data, bytes, &completion, &order);
    if (result == FCI_ICL_OK) {
        copied_bytes_ += sizeof(SendCopy) + bytes;
        copy->next = copies_;
        copy->here = &copies_;
        if (copies_ != nullptr) copies_->here = &copy->next;
        copies_ = copy;
        return 0;
    }
    std::free(copy);
    if (result != FCI_ICL_DONE) return refused(result, send.peer);
    send_completed(space, context, report);
    return 0;
}

ssize_t Sends::tagged(fid_ep* ep, const void* data, std::size_t bytes, void*, fi_addr_t to,
                      std::uint64_t tag, void* context) {
    Endpoint& self = Endpoint::of(ep);
    return self.guarded([=, &self] {
        return self.send_bytes(kTagged, data, bytes, to, 0, tag, 0, context);
    });
}

ssize_t Sends::tagged_data(fid_ep* ep, const void* data, std::size_t bytes, void*,
                           std::uint64_t immediate, fi_addr_t to, std::uint64_t tag,
                           void* context) {
    Endpoint& self = Endpoint::of(ep);
    return self.guarded([=, &self] {
        return self.send_bytes(kTagged, data, bytes, to, FCI_ICL_IMMEDIATE, tag, immediate,
                               context);
    });
}

ssize_t Sends::tagged_inject(fid_ep* ep, const void* data, std::size_t bytes, fi_addr_t to,
                             std::uint64_t tag) {
    Endpoint& self = Endpoint::of(ep);
    return self.guarded([=, &self] { return self.inject(kTagged, data, bytes, to, 0, tag, 0); });
}

ssize_t Sends::tagged_inject_data(fid_ep* ep, const void* data, std::size_t bytes,
                                  std::uint64_t immediate, fi_addr_t to, std::uint64_t tag) {
    Endpoint& self = Endpoint::of(ep);
    return self.guarded([=, &self] {
        return self.inject(kTagged, data, bytes, to, FCI_ICL_IMMEDIATE, tag, immediate);
    });
}

ssize_t Sends::tagged_vector(fid_ep* ep, const iovec* ranges, void**, std::size_t count,
                             fi_addr_t to, std::uint64_t tag, void* context) {
    Endpoint& self = Endpoint::of(ep);
    return self.send_ranges(kTagged, {ranges, nullptr, count, to, tag, 0, context, 0},
                            self.transmit_.op_flags, self.transmit_.report);
}

ssize_t Sends::tagged_message(fid_ep* ep, const fi_msg_tagged* message, std::uint64_t flags) {
    Endpoint& self = Endpoint::of(ep);
    return self.send_ranges(kTagged, *message, flags, self.transmit_.reports(flags));
}

ssize_t Sends::plain(fid_ep* ep, const void* data, std::size_t bytes, void*, fi_addr_t to,
                     void* context) {
    Endpoint& self = Endpoint::of(ep);
    return self.guarded([=, &self] {
        return self.send_bytes(kMessage, data, bytes, to, 0, 0, 0, context);
    });
}

ssize_t Sends::plain_data(fid_ep* ep, const void* data, std::size_t bytes, void*,
                          std::uint64_t immediate, fi_addr_t to, void* context) {
    Endpoint& self = Endpoint::of(ep);
    return self.guarded([=, &self] {
        return self.send_bytes(kMessage, data, bytes, to, FCI_ICL_IMMEDIATE, 0, immediate,
                               context);
    });
}

ssize_t Sends::plain_inject(fid_ep* ep, const void* data, std::size_t bytes, fi_addr_t to) {
    Endpoint& self = Endpoint::of(ep);
    return self.guarded([=, &self] { return self.inject(kMessage, data, bytes, to, 0, 0, 0); });
}

ssize_t Sends::plain_inject_data(fid_ep* ep, const void* data, std::size_t bytes,
                                 std::uint64_t immediate, fi_addr_t to) {
    Endpoint& self = Endpoint::of(ep);
    return self.guarded([=, &self] {
        return self.inject(kMessage, data, bytes, to, FCI_ICL_IMMEDIATE, 0, immediate);
    });
}

ssize_t Sends::plain_vector(fid_ep* ep, const iovec* ranges, void**, std::size_t count,
                            fi_addr_t to, void* context) {
    Endpoint& self = Endpoint::of(ep);
    return self.send_ranges(kMessage, {ranges, nullptr, count, to, 0, 0, context, 0},
                            self.transmit_.op_flags, self.transmit_.report);
}

ssize_t Sends::plain_message(fid_ep* ep, const fi_msg* message, std::uint64_t flags) {
    Endpoint& self = Endpoint::of(ep);
    return self.send_ranges(kMessage,
                            {message->msg_iov, nullptr, message->iov_count, message->addr, 0, 0,
                             message->context, message->data},
                            flags, self.transmit_.reports(flags));
}

}  // namespace fci::libfabric
