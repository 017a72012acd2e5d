// SPDX-License-Identifier: BSD-3-Clause
#include "fci_core/mp/orders.h"

#include <algorithm>
#include <new>
#include <utility>

#include "fci_core/base/assert.h"
#include "fci_core/mp/copy.h"

namespace fci::mp {

namespace {

std::uint64_t total(std::span<const iovec> ranges) noexcept {
    std::uint64_t bytes = 0;
    for (const iovec& range : ranges) bytes += range.iov_len;
    return bytes;
}

/// Copies the bounce buffer of a receive into its ranges.
void unpack_bounce(const Order& order, std::uint64_t bytes) noexcept {
    FCI_ASSERT(bytes <= order.bytes);
    const std::byte* from = order.data;
    for (const iovec& range : order.extras->ranges) {
        const std::uint64_t n = std::min<std::uint64_t>(bytes, range.iov_len);
        copy(static_cast<std::byte*>(range.iov_base), from, n);
        from += n;
        bytes -= n;
    }
}

Outcome outcome_of(const Order& order) noexcept {
    Outcome outcome{};
    outcome.error = order.error;
    outcome.source = order.peer;
    outcome.flags = order.has_immediate ? kSendImmediate : 0;
    outcome.match = order.match;
    outcome.immediate = order.immediate;
    outcome.length = order.length;
    outcome.received = order.is_send ? order.length : order.wanted;
    return outcome;
}

}  // namespace

Order* Orders::take_receive(std::span<const iovec> to, const Completion& completion) {
    std::unique_ptr<OrderExtras> extras;
    if (to.size() > 1 && (extras = extras_for(to)) == nullptr) return nullptr;
    Order* const order = take();
    if (order != nullptr) land(*order, to, completion, std::move(extras));
    return order;
}

std::unique_ptr<OrderExtras> Orders::extras_for(std::span<const iovec> to) noexcept try {
    auto extras = std::make_unique<OrderExtras>();
    extras->bounce = std::make_unique_for_overwrite<std::byte[]>(total(to) + 1);
    extras->ranges.assign(to.begin(), to.end());
    return extras;
} catch (const std::bad_alloc&) {
    return nullptr;
}

void Orders::land(Order& order, std::span<const iovec> to, const Completion& completion,
                  std::unique_ptr<OrderExtras> extras) const noexcept {
    order.reset(false, OrderState::posted, completion);
    if (to.size() == 1) [[likely]] {
        order.set_range(to[0].iov_base, to[0].iov_len);
        if (completion.done == nullptr || !fast_path_) order.direct_bytes = Order::kNever;
        return;
    }
    order.set_range(nullptr, total(to));
    order.direct_bytes = Order::kNever;
    if (extras == nullptr) return;
    order.data = extras->bounce.get();
    order.extras = std::move(extras);
}

Order* Orders::find(std::uint64_t handle, const Peer& from, bool is_send) noexcept {
    Order* const order = pool_.find(static_cast<std::uint32_t>(handle));
    if (order == nullptr || order->is_send != is_send || order->state == OrderState::finished) {
        return nullptr;
    }
    return order->peer == from.id ? order : nullptr;
}

void Orders::link(Order& order, IntrusiveList<Order>& list) noexcept {
    FCI_ASSERT(!order.in_list);
    list.push_back(order);
    order.in_list = true;
}

void Orders::unlink(Order& order) noexcept {
    if (!order.in_list) return;
    IntrusiveList<Order>::remove(order);
    order.in_list = false;
}

void Orders::replace(Order& order, Order& by) noexcept {
    FCI_ASSERT(order.in_list && !by.in_list);
    IntrusiveList<Order>::replace(order, by);
    std::swap(order.in_list, by.in_list);
}

void Orders::release_claim(Order& order) noexcept {
    if (order.claim_index < 0) return;
    peers_[order.peer].claims.give(order.claim_index);
    order.claim_index = -1;
    order.claims = nullptr;
}

void Orders::finish_later(Order& order, int error) noexcept {
    FCI_ASSERT(order.state != OrderState::finished);
    release_claim(order);
    unlink(order);
    if (order.state == OrderState::unasked) {
        FCI_ASSERT(order.is_send);
        peers_[order.peer].unasked.remove(order);
    }
    order.error = error;
    if (error != kSuccess && error != kTruncated) order.wanted = 0;
    order.state = OrderState::finished;
    link(order, finished_);
    work_.set_busy();
}

bool Orders::end_at_once(Order& order) noexcept {
    FCI_ASSERT(order.is_send);
    if (order.state != OrderState::finished || order.error != kSuccess) return false;
    unlink(order);
    end(order);
    return true;
}

void Orders::finish(Order& order, const Outcome& outcome) {
    if (order.extras != nullptr && outcome.error != kCanceled) [[unlikely]] {
        unpack_bounce(order, outcome.received);
    }
    const Completion completion = order.completion;
    end(order);
    if (completion.done != nullptr) completion.done(completion.user, completion.owner, &outcome);
}

unsigned Orders::tell_finished() {
    unsigned told = 0;
    while (Order* const order = finished_.pop_front()) {
        order->in_list = false;
        finish(*order, outcome_of(*order));
        ++told;
    }
    return told;
}

void Orders::end(Order& order) noexcept {
    FCI_ASSERT(!order.in_list);
    // An offered receive names its source, so the offer is at that peer.
    if (std::exchange(order.offered, false)) [[unlikely]] {
        --peers_[order.pattern.source].offers_out;
    }
    if (std::exchange(order.expects_data, false)) [[unlikely]] {
        --peers_[order.peer].data.expected;
    }
    if (order.claim_index >= 0) [[unlikely]] release_claim(order);
    if (order.extras != nullptr) [[unlikely]] order.extras.reset();
    pool_.give_back(order);
}

bool Orders::sends_taken() noexcept {
    bool all = true;
    pool_.for_each([&](const Order& order) {
        all = all && (!order.is_send || order.state == OrderState::finished);
    });
    return all;
}

}  // namespace fci::mp
