// The turn: what has arrived, and what could not go on before (§2.6.10: what a process does while
// it waits).
#include <algorithm>
#include <new>
#include <utility>

#include "fci_core/mp/message_passing.h"

namespace fci::mp {

namespace {
constexpr unsigned kRequestsPerTurn = 32;  // of one peer, so that no peer starves another
}

/// The straight path: a whole message for a receive that is found at once. False: nothing
/// happened, dispatch() knows what it is. Each word of the line is read once, so the peer cannot
/// change it between a look and a use.
template <std::uint32_t kFlags>
[[gnu::always_inline]] inline bool MessagePassing::take_message(Peer& peer,
                                                                std::uint32_t control) {
    constexpr bool in_ring = (kFlags & kInRing) != 0, has_immediate = (kFlags & kImmediate) != 0;
    if (!is_plain_send(control, kFlags)) return false;
    const gcs::Line& line = peer.in.next();
    const std::uint64_t bytes = control >> 16;
    if (bytes > (in_ring ? limits_.eager_bytes : kInlineBytes + 8 - 8 * has_immediate))
        [[unlikely]] return false;
    // Filled in as it becomes known: so little need be kept.
    Outcome outcome;
    outcome.match = flag::glance(line.word[0]);
    PostedNode* const node = posted_.at_hand(peer.rank, line_space(control), outcome.match);
    if (node == nullptr) [[unlikely]] return false;
    Order& order = static_cast<Order&>(*node);
    if (!order.plain || bytes > order.bytes) [[unlikely]] return false;
    outcome.error = kSuccess;
    outcome.source = peer.rank;
    outcome.flags = has_immediate ? kSendImmediate : 0;
    outcome.immediate = has_immediate ? flag::glance(line.word[1]) : 0;
    outcome.length = outcome.received = bytes;
    if (in_ring) {
        copy(order.data, peer.in.ring(bytes), bytes);
    } else {
        copy_short(order.data, reinterpret_cast<const std::byte*>(line.word + 1 + has_immediate),
                   bytes);
    }
    static_assert(kSlotCharge + kInlineBytes + 8 <= gcs::RequestIn::kDisposedByLineMost);
    peer.in.dispose(kSlotCharge + bytes);
    if (peer.in.advance()) [[unlikely]] offer_credit(peer);
    ++counters_.received_expected;
    posted_.remove(order);
    orders_.give_back(order);  // which leaves it as it is
    const Completion& completion = order.completion;
    if (completion.done != nullptr) [[likely]] {
        completion.done(completion.user, completion.owner, &outcome);
    }
    return true;
}

[[gnu::noinline]] void MessagePassing::offer_credit(Peer& peer) {
    if (peer.in.credit_due()) return_credit(peer);
}

/// Whole messages in the ring, and all that is copied out first.
[[gnu::noinline]] void MessagePassing::take_other(Peer& peer) {
    const auto control = static_cast<std::uint32_t>(flag::glance(peer.in.next().control));
    if (!take_message<kInRing>(peer, control) &&
        !take_message<kInRing | kImmediate>(peer, control)) {
        const gcs::Line line = peer.in.take();
        dispatch(peer, line);
    }
    if (peer.in.credit_due() && !peer.lost) return_credit(peer);
}

/// The next request of a peer, which is here.
[[gnu::always_inline]] inline void MessagePassing::take_one(Peer& peer) {
    const auto control = static_cast<std::uint32_t>(flag::glance(peer.in.next().control));
    if (!take_message<0>(peer, control) && !take_message<kImmediate>(peer, control)) [[unlikely]] {
        take_other(peer);
    }
}

/// What more of it is here; `most` at most, so that no peer starves another.
[[gnu::noinline]] unsigned MessagePassing::drain(Peer& peer, unsigned most) {
    unsigned taken = 0;
    while (taken < most && !peer.lost && peer.in.ready()) {
        ++taken;
        take_one(peer);
    }
    return taken;
}

/// Running out of memory becomes a code. A message that comes alone is the straight path.
int MessagePassing::take_arrivals() noexcept try {
    Peer& peer = *first_;
    take_one(peer);
    if (peer.in.ready() || more_ != 0) [[unlikely]] return take_rest(peer);
    return 1;
} catch (const std::bad_alloc&) {
    return kNoMemory;
}

[[gnu::noinline]] int MessagePassing::take_rest(Peer& peer) {
    const auto taken = static_cast<int>(1 + drain(peer, kRequestsPerTurn - 1));
    return more_ != 0 ? taken + take_more() : taken;
}

[[gnu::noinline]] int MessagePassing::take_more() noexcept try {
    unsigned work = 0;
    // By index: a callback may attach peers, and a peer may be lost on the way.
    for (std::size_t i = 1; i < active_.size(); ++i) {
        Peer* const from = active_[i];
        if (!from->in.ready()) continue;
        work += drain(*from, kRequestsPerTurn);
        if (i < active_.size() && active_[i] == from) {
            std::swap(active_[i], active_[i - 1]);
            first_ = active_.front();
        }
    }
    if ((more_ & kBusy) != 0) work += go_on();
    return static_cast<int>(work);
} catch (const std::bad_alloc&) {
    return kNoMemory;
}

/// All that is not to look for requests.
[[gnu::noinline]] unsigned MessagePassing::go_on() {
    unsigned work = push();
    if (!finished_.empty()) work += tell_finished();
    if (!copies_.empty() || !finished_.empty()) more_ |= kBusy;
    return work;
}

unsigned MessagePassing::tell_finished() {
    unsigned told = 0;
    while (Order* order = finished_.pop_front()) {
        order->in_list = false;
        finish(*order);
        ++told;
    }
    return told;
}

bool MessagePassing::ready() const noexcept {
    return (more_ & kBusy) != 0 || std::any_of(active_.begin(), active_.end(),
                                               [](const Peer* from) { return from->in.ready(); });
}

unsigned MessagePassing::sleeping_peers() const noexcept {
    return static_cast<unsigned>(std::count_if(active_.begin(), active_.end(),
                                               [](const Peer* to) { return to->out.asleep(); }));
}

/// Goes on with everything that waited for room; and one piece of a kernel copy for
/// each peer.
unsigned MessagePassing::push() {
    unsigned work = 0;
    ++push_;
    // The first of each peer: one after the other they end sooner than all at once.
    copies_.for_each([&](Order& order) {
        Peer& peer = *peers_[order.peer];
        if (std::exchange(peer.copied_in, push_) != push_) work += copy_piece(order);
    });
    more_ &= kSeveral;
    for (std::size_t i = 0; i < active_.size(); ++i) {
        Peer* const to = active_[i];
        const std::uint64_t before = to->out.sent();
        if (push(*to)) more_ |= kBusy;
        work += to->out.sent() != before;
    }
    return work;
}

/// True while something is left.
bool MessagePassing::push(Peer& peer) {
    if (peer.credit_owed) return_credit(peer);
    if (peer.pieces_in.owes()) peer.pieces_in.tell();
    while (!peer.control.empty() && peer.out.slot_free()) {
        if (peer.out.put(network_, peer.control.front()) != Status::ok) return true;
        peer.control.pop_front();
    }
    // Messages that somebody waits for, before those that nobody may have asked for yet.
    peer.streams.for_each([&](Order& order) { stream(peer, order); });
    while (peer.control.empty() && !peer.pending.empty()) {
        Order& order = peer.pending.front();
        if (emit(peer, order) != Status::ok) return true;
    }
    return peer.credit_owed || !peer.control.empty() || !peer.pending.empty() ||
           !peer.streams.empty();
}

}  // namespace fci::mp
