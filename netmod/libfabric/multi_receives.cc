// SPDX-License-Identifier: BSD-3-Clause
#include "netmod/libfabric/multi_receives.h"

#include <algorithm>

#include "netmod/libfabric/errors.h"

namespace fci::libfabric {

namespace {

// Programs put structures at the start of their messages.
constexpr std::size_t kAlignment = 16;

constexpr std::size_t aligned(std::size_t bytes) noexcept {
    return (bytes + kAlignment - 1) & ~(kAlignment - 1);
}

}  // namespace

MultiReceive::MultiReceive(Completions& completions, const Receives& receives,
                           const std::size_t& least, Space space, const ReceiveCall& call) noexcept
    : completions_(completions),
      least_(least),
      base_(call.iov_count == 0 ? nullptr : static_cast<char*>(call.iov[0].iov_base)),
      bytes_(call.iov_count == 0 ? 0 : call.iov[0].iov_len),
      context_(call.context),
      tag_(call.tag),
      ignore_(call.ignore),
      source_(receives.source_wanted(call.source)),
      space_(space) {}

bool MultiReceive::covers_all() const noexcept {
    return source_ == FCI_ICL_ANY_SOURCE && ignore_ == ~0ull;
}

/// A buffer that is small from the start still takes one message.
bool MultiReceive::full() const noexcept {
    return touched_ && (used_ >= bytes_ || bytes_ - used_ < least_);
}

void MultiReceive::pump() noexcept {
    stalled_ = false;
    while (!ended_) {
        const iovec rest{base_ + used_, bytes_ - used_};
        struct fci_icl_receive receive{};
        receive.source = source_;
        receive.space = space_;
        receive.match = tag_;
        receive.ignore = ignore_;
        receive.iov = &rest;
        receive.iov_count = 1;
        receive.completion = {received, this, nullptr};
        fci_icl_status status{};
        const int result = fci_icl_receive(completions_.icl(), &receive, &order_, &status);
        if (result == FCI_ICL_OK) return;
        order_ = 0;
        if (result == FCI_ICL_EAGAIN) {
            stalled_ = true;
            completions_.channel.stall();
            return;
        }
        if (result != FCI_ICL_DONE) {
            status = {};
            status.error = result;
            status.source = source_;
        }
        take(status);
    }
}

/// From progress. The next message must find the rest of the buffer, so it is posted before
/// anything else; what waits behind a full one follows when progress is over.
void MultiReceive::received(void* user, void*, const fci_icl_status* status) {
    auto& self = *static_cast<MultiReceive*>(user);
    self.order_ = 0;
    self.take(*status);
    if (self.ended_) {
        self.completions_.channel.stall();
    } else {
        self.pump();
    }
}

void MultiReceive::take(const fci_icl_status& status) noexcept {
    CompletionEntry entry = completions_.received_entry(space_, context_, status);
    entry.buffer = base_ + used_;
    const bool well = status.error == FCI_ICL_OK;
    if (well || status.error == FCI_ICL_ETRUNC) {
        touched_ = true;
        used_ = std::min(bytes_, aligned(used_ + status.received));
        ended_ = full();
    } else {
        ended_ = true;
    }
    if (!well) {
        if (status.error == FCI_ICL_ECANCELED) entry.flags |= FI_MULTI_RECV;
        completions_.receive_failed(entry, status);
        // Programs tell error entries and the buffer's return apart; cancelling is the return.
        if (ended_ && status.error != FCI_ICL_ECANCELED) give_back_alone();
        return;
    }
    if (ended_) entry.flags |= FI_MULTI_RECV;
    if (completions_.receive.queue != nullptr) completions_.receive.queue->push(entry);
    if (completions_.receive.counter != nullptr) completions_.receive.counter->count(true);
}

void MultiReceive::give_back_alone() noexcept {
    if (completions_.receive.queue == nullptr) return;
    completions_.receive.queue->push({context_, FI_RECV | kSpaceFlags[space_] | FI_MULTI_RECV, 0,
                                      nullptr, 0, 0, FI_ADDR_NOTAVAIL, nullptr});
}

int MultiReceive::cancel() noexcept {
    if (order_ != 0) return -error_of(fci_icl_cancel(completions_.icl(), order_));
    fci_icl_status status{};
    status.error = FCI_ICL_ECANCELED;
    status.source = FCI_ICL_ANY_SOURCE;
    take(status);
    return 0;
}

// --- all of an endpoint ---

void MultiReceives::settle_flags() noexcept {
    Direction& direction = completions_.receive;
    direction.report = direction.reports(direction.op_flags);
    find_needed();
}

void MultiReceives::find_needed() noexcept {
    const bool always = (completions_.receive.op_flags & FI_MULTI_RECV) != 0;
    for (const Space space : {kTagged, kMessage}) {
        needed_[space] = always || must_wait(space);
        receives_.set_direct(space, !needed_[space]);
    }
}

ssize_t MultiReceives::receive(Space space, const ReceiveCall& call, bool report, bool multi) {
    if (multi && call.iov_count > 1) return -FI_EINVAL;
    if (receives_.source_wanted(call.source) == PeerNumbers::kNobody) return -FI_EINVAL;
    if (must_wait(space)) {
        held_[space].emplace_back(call, report, multi);
        find_needed();
        return 0;
    }
    if (!multi) return receives_.post(call, space, report);
    start(space, call);
    settle();
    return 0;
}

void MultiReceives::start(Space space, const ReceiveCall& call) {
    buffers_.push_back(std::make_unique<MultiReceive>(completions_, receives_, least, space, call));
    MultiReceive& buffer = *buffers_.back();
    if (buffer.covers_all()) covering_[space] = &buffer;
    buffer.pump();
}

/// Removes what ended and posts what waited behind it.
void MultiReceives::settle() noexcept try {
    for (bool again = true; again;) {
        again = false;
        for (MultiReceive*& buffer : covering_) {
            if (buffer != nullptr && buffer->ended()) buffer = nullptr;
        }
        std::erase_if(buffers_, [](const auto& buffer) { return buffer->ended(); });
        for (const Space space : {kTagged, kMessage}) {
            auto& waiting = held_[space];
            while (covering_[space] == nullptr && !waiting.empty() && !again) {
                const HeldReceive& next = waiting.front();
                if (next.multi) {
                    start(space, next.now());
                    again = true;
                } else if (receives_.post(next.now(), space, next.report) == -FI_EAGAIN) {
                    completions_.channel.stall();
                    break;
                }
                waiting.pop_front();
            }
        }
    }
    find_needed();
} catch (...) {
    completions_.channel.stall();  // no memory: the next progress tries again
}

void MultiReceives::resume() noexcept {
    if (buffers_.empty() && held_[kTagged].empty() && held_[kMessage].empty()) return;
    for (const auto& buffer : buffers_) {
        if (buffer->stalled()) buffer->pump();
    }
    settle();
}

ssize_t MultiReceives::cancel(void* context) noexcept {
    for (const auto& buffer : buffers_) {
        if (buffer->context() != context || buffer->ended()) continue;
        const int result = buffer->cancel();
        if (buffer->ended()) settle();
        return result;
    }
    for (const Space space : {kTagged, kMessage}) {
        auto& waiting = held_[space];
        const auto held = std::find_if(waiting.begin(), waiting.end(), [&](const HeldReceive& h) {
            return h.call.context == context;
        });
        if (held == waiting.end()) continue;
        fci_icl_status status{};
        status.error = FCI_ICL_ECANCELED;
        status.source = FCI_ICL_ANY_SOURCE;
        CompletionEntry entry = completions_.received_entry(space, context, status);
        if (held->multi) entry.flags |= FI_MULTI_RECV;
        completions_.receive_failed(entry, status);
        waiting.erase(held);
        find_needed();
        return 0;
    }
    return -FI_ENOENT;
}

}  // namespace fci::libfabric
