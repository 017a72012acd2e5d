// Receives and their cancelling.
#include "netmod/libfabric/calls.h"
#include "netmod/libfabric/endpoint.h"
#include "netmod/libfabric/errors.h"

namespace fci::libfabric {

/// Under the lock. Hands a plain receive to the core.
ssize_t Endpoint::post(Space space, const ReceiveCall& call, bool report) noexcept {
    const fci_icl_peer source = source_wanted(call.source);
    if (source == kNobody) [[unlikely]] return -FI_EINVAL;
    struct fci_icl_receive receive;
    receive.source = source;
    receive.space = space;
    receive.match = call.tag;
    receive.ignore = call.ignore;
    receive.iov = call.iov;
    receive.iov_count = call.iov_count;
    receive.completion.done = received_call(space, report, in_context_);
    receive.completion.owner = this;
    fci_icl_status status;
    if (in_context_) {
        // The program lends us its context for as long as the receive is pending.
        ContextMark unnamed;
        ContextMark& mark =
            call.context == nullptr ? unnamed : *static_cast<ContextMark*>(call.context);
        receive.completion.user = call.context;
        const int result = fci_icl_receive(icl_, &receive, &mark.order, &status);
        if (result == FCI_ICL_OK) {
            mark.owner = this;
            return 0;
        }
        mark.owner = nullptr;
        return answered(space, result, source, call.context, status, report);
    }
    ReceiveRecord* const record = records_.take(call.context);
    if (record == nullptr) [[unlikely]] return -FI_ENOMEM;
    receive.completion.user = record;
    const int result = fci_icl_receive(icl_, &receive, &record->order, &status);
    if (result == FCI_ICL_OK) return 0;
    records_.give_back(*record);
    return answered(space, result, source, call.context, status, report);
}

/// The core did not keep the receive: a message was there, or something is wrong.
ssize_t Endpoint::answered(Space space, int result, fci_icl_peer source, void* context,
                           const fci_icl_status& status, bool report) noexcept {
    if (result != FCI_ICL_DONE) [[unlikely]] return refused(result, source);
    receive_completed(space, context, status, report);
    return 0;
}

/// The fast path of receive() for one range.
inline ssize_t Endpoint::receive_range(Space space, void* data, std::size_t bytes, fi_addr_t from,
                                       std::uint64_t tag, std::uint64_t ignore,
                                       void* context) noexcept {
    const fci_icl_peer source = source_wanted(from);
    const fci_icl_done_fn done = direct_done_[space];
    if (done == nullptr || context == nullptr || source == kNobody) [[unlikely]] {
        const iovec range{data, bytes};
        return receive(space, {&range, 1, from, tag, ignore, context}, receive_.report);
    }
    ContextMark& mark = *static_cast<ContextMark*>(context);
    const fci_icl_completion completion{done, context, this};
    fci_icl_status status;
    const int result = fci_icl_receive_bytes(icl_, source, space, tag, ignore, data, bytes,
                                             &completion, &mark.order, &status);
    if (result == FCI_ICL_OK) [[likely]] {
        mark.owner = this;
        return 0;
    }
    mark.owner = nullptr;
    return answered(space, result, source, context, status, receive_.report);
}

ssize_t Endpoint::receive(Space space, const ReceiveCall& call, bool report) noexcept {
    Guard guard(domain_.lock());
    if (slow_[space]) [[unlikely]] {
        return no_throw([&] {
            return receive_slowly(space, call, report,
                                  (receive_.op_flags & FI_MULTI_RECV) != 0);
        });
    }
    return post(space, call, report);
}

ssize_t Endpoint::receive_flagged(Space space, const ReceiveCall& call,
                                  std::uint64_t flags) noexcept {
    constexpr std::uint64_t kSpecial = FI_PEEK | FI_CLAIM | FI_DISCARD | FI_MULTI_RECV;
    const bool report = receive_.reports(flags);
    Guard guard(domain_.lock());
    if ((flags & kSpecial) == 0 && !slow_[space]) [[likely]] return post(space, call, report);
    return no_throw([&] {
        if ((flags & FI_PEEK) != 0) return peek(space, call, flags);
        if ((flags & FI_CLAIM) != 0) return receive_claimed(space, call, flags);
        return receive_slowly(space, call, report, (flags & FI_MULTI_RECV) != 0);
    });
}

ssize_t Endpoint::cancel(fid_t object, void* context) {
    Endpoint& self = of(object);
    Guard guard(self.domain_.lock());
    if (self.icl_ == nullptr) return -FI_EOPBADSTATE;
    return self.cancel_pending(context);
}

/// The completion follows by progress, whichever of cancelling and matching was first.
ssize_t Endpoint::cancel_pending(void* context) noexcept {
    const ssize_t slow = cancel_slow(context);
    if (slow != -FI_ENOENT) return slow;
    fci_icl_order order = 0;
    if (!in_context_) {
        order = records_.find(context);
    } else if (context != nullptr && static_cast<ContextMark*>(context)->owner == this) {
        order = static_cast<ContextMark*>(context)->order;
    }
    return order == 0 ? -FI_ENOENT : -error_of(fci_icl_cancel(icl_, order));
}

ssize_t Receives::tagged(fid_ep* ep, void* data, std::size_t bytes, void*, fi_addr_t from,
                         std::uint64_t tag, std::uint64_t ignore, void* context) {
    return Endpoint::of(ep).receive_range(kTagged, data, bytes, from, tag, ignore, context);
}

ssize_t Receives::tagged_vector(fid_ep* ep, const iovec* ranges, void**, std::size_t count,
                                fi_addr_t from, std::uint64_t tag, std::uint64_t ignore,
                                void* context) {
    Endpoint& self = Endpoint::of(ep);
    return self.receive(kTagged, {ranges, count, from, tag, ignore, context},
                        self.receive_.report);
}

ssize_t Receives::tagged_message(fid_ep* ep, const fi_msg_tagged* message, std::uint64_t flags) {
    return Endpoint::of(ep).receive_flagged(kTagged,
                                            {message->msg_iov, message->iov_count, message->addr,
                                             message->tag, message->ignore, message->context},
                                            flags);
}

ssize_t Receives::plain(fid_ep* ep, void* data, std::size_t bytes, void*, fi_addr_t from,
                        void* context) {
    return Endpoint::of(ep).receive_range(kMessage, data, bytes, from, 0, ~0ull, context);
}

ssize_t Receives::plain_vector(fid_ep* ep, const iovec* ranges, void**, std::size_t count,
                               fi_addr_t from, void* context) {
    Endpoint& self = Endpoint::of(ep);
    return self.receive(kMessage, {ranges, count, from, 0, ~0ull, context},
                        self.receive_.report);
}

ssize_t Receives::plain_message(fid_ep* ep, const fi_msg* message, std::uint64_t flags) {
    return Endpoint::of(ep).receive_flagged(
        kMessage,
        {message->msg_iov, message->iov_count, message->addr, 0, ~0ull, message->context}, flags);
}

}  // namespace fci::libfabric
