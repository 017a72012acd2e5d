#include "netmod/libfabric/multi_receive.h"

#include <algorithm>

#include "netmod/libfabric/endpoint.h"
#include "netmod/libfabric/errors.h"

namespace fci::libfabric {

namespace {

// Programs put structures at the start of their messages.
constexpr std::size_t kAlignment = 16;

constexpr std::size_t aligned(std::size_t bytes) noexcept {
    return (bytes + kAlignment - 1) & ~(kAlignment - 1);
}

}  // namespace

MultiReceive::MultiReceive(Endpoint& endpoint, Space space, const ReceiveCall& call) noexcept
    : endpoint_(endpoint),
      base_(call.iov_count == 0 ? nullptr : static_cast<char*>(call.iov[0].iov_base)),
      bytes_(call.iov_count == 0 ? 0 : call.iov[0].iov_len),
      context_(call.context),
      tag_(call.tag),
      ignore_(call.ignore),
      source_(endpoint.source_wanted(call.source)),
      space_(space) {}

bool MultiReceive::covers_all() const noexcept {
    return source_ == FCI_ICL_ANY_SOURCE && ignore_ == ~0ull;
}

/// A buffer that is small from the start still takes one message.
bool MultiReceive::full() const noexcept {
    return touched_ && (used_ >= bytes_ || bytes_ - used_ < endpoint_.min_multi_receive_);
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
        receive.completion = {received, this, &endpoint_};
        fci_icl_status status{};
        const int result = fci_icl_receive(endpoint_.icl_, &receive, &order_, &status);
        if (result == FCI_ICL_OK) return;
        order_ = 0;
        if (result == FCI_ICL_EAGAIN) {
            stalled_ = true;
            endpoint_.stalled_ = true;
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
        self.endpoint_.stalled_ = true;
    } else {
        self.pump();
    }
}

void MultiReceive::take(const fci_icl_status& status) noexcept {
    CompletionEntry entry = endpoint_.received_entry(space_, context_, status);
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
        endpoint_.receive_failed(entry, status);
        // Programs tell error entries and the buffer's return apart; cancelling is the return.
        if (ended_ && status.error != FCI_ICL_ECANCELED) give_back_alone();
        return;
    }
    if (ended_) entry.flags |= FI_MULTI_RECV;
    if (endpoint_.receive_.queue != nullptr) endpoint_.receive_.queue->push(entry);
    if (endpoint_.receive_.counter != nullptr) endpoint_.receive_.counter->count(true);
}

void MultiReceive::give_back_alone() noexcept {
    if (endpoint_.receive_.queue == nullptr) return;
    endpoint_.receive_.queue->push({context_, FI_RECV | kSpaceFlags[space_] | FI_MULTI_RECV, 0,
                                    nullptr, 0, 0, FI_ADDR_NOTAVAIL, nullptr});
}

int MultiReceive::cancel() noexcept {
    if (order_ != 0) return -error_of(fci_icl_cancel(endpoint_.icl_, order_));
    fci_icl_status status{};
    status.error = FCI_ICL_ECANCELED;
    status.source = FCI_ICL_ANY_SOURCE;
    take(status);
    return 0;
}

// --- the endpoint's side ---

void Endpoint::update_slow() noexcept {
    const bool always = (receive_.op_flags & FI_MULTI_RECV) != 0;
    for (std::uint32_t space = 0; space < FCI_ICL_SPACES; ++space) {
        slow_[space] = always || covering_[space] != nullptr || !held_[space].empty();
        const bool direct = !slow_[space] && in_context_ && !locked_;
        direct_done_[space] =
            direct ? received_call(static_cast<Space>(space), receive_.report, true) : nullptr;
    }
}

/// Under the lock.
ssize_t Endpoint::receive_slowly(Space space, const ReceiveCall& call, bool report, bool multi) {
    if (multi && call.iov_count > 1) return -FI_EINVAL;
    if (source_wanted(call.source) == kNobody) return -FI_EINVAL;
    if (covering_[space] != nullptr || !held_[space].empty()) {
        held_[space].emplace_back(call, report, multi);
        update_slow();
        return 0;
    }
    if (!multi) return post(space, call, report);
    start_multi(space, call);
    settle_multi();
    return 0;
}

void Endpoint::start_multi(Space space, const ReceiveCall& call) {
    multi_.push_back(std::make_unique<MultiReceive>(*this, space, call));
    MultiReceive& buffer = *multi_.back();
    if (buffer.covers_all()) covering_[space] = &buffer;
    buffer.pump();
}

/// Removes what ended and posts what waited behind it.
void Endpoint::settle_multi() noexcept try {
    for (bool again = true; again;) {
        again = false;
        for (MultiReceive*& buffer : covering_) {
            if (buffer != nullptr && buffer->ended()) buffer = nullptr;
        }
        std::erase_if(multi_, [](const auto& buffer) { return buffer->ended(); });
        for (const Space space : {kTagged, kMessage}) {
            auto& waiting = held_[space];
            while (covering_[space] == nullptr && !waiting.empty()) {
                const HeldReceive& next = waiting.front();
                if (next.multi) {
                    start_multi(space, next.now());
                    again = true;
                } else if (post(space, next.now(), next.report) == -FI_EAGAIN) {
                    stalled_ = true;
                    break;
                }
                waiting.pop_front();
                if (again) break;
            }
        }
    }
    update_slow();
} catch (...) {
    stalled_ = true;  // no memory: the next progress tries again
}

/// After progress, when a buffer ended, the core had no room, or peers have to answer.
void Endpoint::resume() noexcept {
    if (resuming_) return;  // posting may progress
    resuming_ = true;
    stalled_ = false;
    if (!multi_.empty() || !held_[kTagged].empty() || !held_[kMessage].empty()) {
        for (const auto& buffer : multi_) {
            if (buffer->stalled()) buffer->pump();
        }
        settle_multi();
    }
    const bool waits = operations_.turn();
    if (server_.turn() || waits) stalled_ = true;
    resuming_ = false;
}

/// -FI_ENOENT: none of these has this context.
ssize_t Endpoint::cancel_slow(void* context) noexcept {
    for (const auto& buffer : multi_) {
        if (buffer->context() != context || buffer->ended()) continue;
        const int result = buffer->cancel();
        if (buffer->ended()) settle_multi();
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
        CompletionEntry entry = received_entry(space, context, status);
        if (held->multi) entry.flags |= FI_MULTI_RECV;
        receive_failed(entry, status);
        waiting.erase(held);
        update_slow();
        return 0;
    }
    return -FI_ENOENT;
}

}  // namespace fci::libfabric
