// The turn: what has arrived, and what could not go on before (§2.6.10: what a process does while
// it waits).
#include <algorithm>
#include <new>
#include <utility>

#include "fci_core/mp/message_passing.h"

namespace fci::mp {

namespace {
constexpr unsigned kRequestsPerTurn = 32;  // of one peer, so that no peer starves another

constexpr bool has_flag(std::uint32_t kind, std::uint32_t flag) noexcept {
    return (kind & flag << 8) != 0;
}
}  // namespace

/// The fast path: a whole message for a receive that is found at once. False: nothing
/// happened, dispatch() knows what it is. Each word of the line is read once, so the peer cannot
/// change it between a look and a use.
template <std::uint32_t kFlags>
[[gnu::always_inline]] inline bool MessagePassing::take_message(Peer& peer, const gcs::Line& line,
                                                                std::uint32_t kind) {
    constexpr bool in_ring = (kFlags & kInRing) != 0, has_immediate = (kFlags & kImmediate) != 0;
    const std::uint64_t bytes = flag::load_part_acquire<std::uint16_t>(line.control, 1);
    // Filled in as it becomes known: so little need be kept.
    Outcome outcome;
    outcome.match = flag::load_relaxed(line.word[0]);
    PostedNode* const node = posted_.find_head(peer.rank, plain_space(kind, kFlags), outcome.match);
    if (node == nullptr) [[unlikely]] return false;
    Order& order = static_cast<Order&>(*node);
    if (static_cast<std::int64_t>(bytes) > order.direct_bytes) [[unlikely]] return false;
    outcome.error = kSuccess;
    outcome.flags = has_immediate ? kSendImmediate : 0;
    outcome.source = peer.rank;
    outcome.immediate = has_immediate ? flag::load_relaxed(line.word[1]) : 0;
    outcome.length = outcome.received = bytes;
    if (in_ring) {
        if (bytes > limits_.eager_bytes) [[unlikely]] return false;
        const std::byte* const from = peer.in.ring(line, bytes);
        if (from == nullptr) [[unlikely]] return false;
        copy(order.data, from, bytes);
    } else {
        const auto* const from = reinterpret_cast<const std::byte*>(line.word + 1 + has_immediate);
        // Shorter than any limit, so the commonest need not be compared with it.
        if (is_word_or_two(bytes)) [[likely]] {
            copy_word_or_two(order.data, from, bytes);
        } else {
            if (bytes > kInlineBytes + 8 - 8 * has_immediate) [[unlikely]] return false;
            copy_short(order.data, from, bytes);
        }
    }
    static_assert(kSlotCharge + kInlineBytes + 8 <= gcs::LineReader::kDisposedByLineMost);
    static_assert(kSlotCharge == gcs::kLineBytes);
    if (peer.in.advance_disposing(bytes)) [[unlikely]] offer_credit(peer);
    ++counters_.received_expected;
    posted_.remove(order);
    orders_.give_back(order);  // which leaves it as it is
    order.completion.done(order.completion.user, order.completion.owner, &outcome);
    return true;
}

[[gnu::noinline]] void MessagePassing::offer_credit(Peer& peer) {
    if (peer.in.credit_due()) return_credit(peer);
}

/// At all peers but the one that sent last.
[[gnu::noinline]] bool MessagePassing::look_closely() const noexcept {
    if ((more_ & kBusy) != 0) return true;
    return std::any_of(active_.begin() + 1, active_.end(),
                       [](const Peer* peer) { return peer->in.ready(); });
}

int MessagePassing::turn() noexcept {
    const Arrival first = arrival();
    if (first.is_here) return take_arrivals(first.peer, first.line);
    return is_more_due() ? take_more() : 0;
}

/// Copies the request out first. One for which there is no memory stays where it is: false. So its
/// handler gets all that it needs before it changes anything, and nothing after that throws.
[[gnu::noinline]] bool MessagePassing::take_request(Peer& peer) {
    const gcs::LineReader::Place place = peer.in.place();
    const gcs::Line line = peer.in.take();
    try {
        lines_.reserve();  // for the answer
        dispatch(peer, line);
    } catch (const std::bad_alloc&) {
        peer.in.go_back(place);
        set_starved();
        return false;
    }
    if (peer.in.credit_due() && !peer.lost) return_credit(peer);
    return true;
}

/// Whole messages in the ring, and all else. False: it stays where it is.
[[gnu::noinline]] bool MessagePassing::take_other(Peer& peer) {
    const gcs::Line& next = peer.in.next();
    const std::uint32_t kind = kind_of(next);
    if (!has_flag(kind, kInRing)) return take_request(peer);
    const bool taken = has_flag(kind, kImmediate)
                           ? take_message<kInRing | kImmediate>(peer, next, kind)
                           : take_message<kInRing>(peer, next, kind);
    if (!taken) return take_request(peer);
    if (peer.in.credit_due() && !peer.lost) return_credit(peer);
    return true;
}

/// The next request of a peer, which is here. False: it stays where it is.
[[gnu::always_inline]] inline bool MessagePassing::take_one(Peer& peer) {
    const gcs::Line& next = peer.in.next();
    const std::uint32_t kind = kind_of(next);
    const bool taken = has_flag(kind, kImmediate) ? take_message<kImmediate>(peer, next, kind)
                                                  : take_message<0>(peer, next, kind);
    if (!taken) [[unlikely]] return take_other(peer);
    return true;
}

/// What more of it is here; `most` at most, so that no peer starves another.
[[gnu::noinline]] unsigned MessagePassing::drain(Peer& peer, unsigned most) {
    unsigned taken = 0;
    while (taken < most && !peer.lost && peer.in.ready()) {
        if (!take_one(peer)) break;
        ++taken;
    }
    return taken;
}

/// A message that comes alone is the fast path; with an immediate it has one of its own.
template <std::uint32_t kFlags>
[[gnu::always_inline]] inline int MessagePassing::take_first(Peer& peer, const gcs::Line& line,
                                                             std::uint32_t kind) noexcept {
    if (!take_message<kFlags>(peer, line, kind)) [[unlikely]] take_other(peer);
    if (peer.in.ready() || more_ != 0) [[unlikely]] return take_rest(peer);
    return 1;
}

[[gnu::noinline]] int MessagePassing::take_first_with_immediate(Peer& peer,
                                                                const gcs::Line& line) noexcept {
    return take_first<kImmediate>(peer, line, kind_of(line));
}

int MessagePassing::take_arrivals(Peer& peer, const gcs::Line& line) noexcept {
    const std::uint32_t kind = kind_of(line);
    if (has_flag(kind, kImmediate)) return take_first_with_immediate(peer, line);
    return take_first<0>(peer, line, kind);
}

[[gnu::noinline]] int MessagePassing::take_rest(Peer& peer) {
    const auto taken = static_cast<int>(1 + drain(peer, kRequestsPerTurn - 1));
    if (!is_more_due()) return taken;
    const int more = take_more();
    return more < 0 ? more : taken + more;
}

[[gnu::noinline]] int MessagePassing::take_more() noexcept {
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
    const int more = (more_ & kBusy) != 0 ? go_on() : 0;
    return more < 0 ? more : static_cast<int>(work) + more;
}

/// All that is not to look for requests. Running out of memory anywhere in the turn becomes a code.
[[gnu::noinline]] int MessagePassing::go_on() {
    if (missed_) [[unlikely]] attach_missed();
    unsigned work = push();
    if (!finished_.empty()) work += tell_finished();
    if (!copies_.empty() || !finished_.empty() || missed_) set_busy();
    if ((more_ & kStarved) == 0) [[likely]] return static_cast<int>(work);
    more_ &= static_cast<std::uint8_t>(~kStarved);
    return kNoMemory;
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

bool MessagePassing::ready() noexcept {
    return first_->in.ready() || is_more_due() || has_room_for_refused();
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
    more_ &= kSeveral | kStarved;
    for (std::size_t i = 0; i < active_.size(); ++i) {
        Peer* const to = active_[i];
        const std::uint64_t before = to->out.sent();
        if (push(*to)) set_busy();
        work += to->out.sent() != before;
    }
    return work;
}

/// True while something is left.
bool MessagePassing::push(Peer& peer) {
    if (peer.departure != Status::ok) [[unlikely]] {
        depart(peer);
        if (peer.lost) return true;
    }
    if (peer.credit_owed) return_credit(peer);
    if (peer.pieces_in.owes()) peer.pieces_in.tell();
    while (!peer.control.empty() && peer.out.slot_free()) {
        if (peer.out.put(network_, peer.control.front().line) != Status::ok) return true;
        lines_.give_back(*peer.control.pop_front());
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
