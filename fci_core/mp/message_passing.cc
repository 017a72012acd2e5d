// The turn, losses, and which request goes where (§2.6.10: what a process does while it waits).
#include "fci_core/mp/message_passing.h"

#include <algorithm>
#include <utility>

namespace fci::mp {

namespace {
constexpr unsigned kRequestsPerTurn = 32;  // of one peer, so that no peer starves another
}

MessagePassing::MessagePassing(ddi::Device& device, const Protocol& protocol, const Limits& limits)
    : device_(device), network_(device.network()), protocol_(protocol), limits_(limits) {
    FCI_ASSERT(limits_.eager_bytes <= kEagerMost);
    FCI_ASSERT(limits_.eager_bytes + kHeaderMost <= limits_.layout.ring_bytes / 4);
    scratch_.resize(limits_.eager_bytes + kHeaderMost);
    active_.reserve(16);
    device_.set_listener(this);
}

MessagePassing::~MessagePassing() {
    device_.set_listener(nullptr);
    posted_.for_each([this](PostedNode& node) { posted_.remove(node); });
    arrived_.for_each([this](ArrivedNode& node) {
        arrived_.remove(node);
        arrived_pool_.give_back(static_cast<Arrived&>(node));
    });
}

void MessagePassing::peer_attached(nhi::Rank rank) {
    Peer* const arrived = peer(rank);
    FCI_ASSERT(arrived != nullptr && !arrived->attached);
    const std::span<const std::byte> block = device_.block(rank);
    FCI_ASSERT(block.size() >= limits_.layout.block_bytes());
    arrived->in.attach(rank, limits_.layout, block, limits_.unexpected_bytes);
    nhi::Reach reach;
    const bool reached = network_.reach(rank, &reach);
    arrived->out.attach(rank, limits_.layout, block, reached ? &reach : nullptr);
    arrived->attached = true;
    active_.push_back(arrived);
    if (rank != nhi::kSelf) ++counters_.peers_attached;
    busy_ = true;  // what waited for the connection
}

void MessagePassing::peer_lost(nhi::Rank rank, Status why, const std::string& reason) {
    Peer* const gone = peer(rank);
    if (gone == nullptr || gone->lost) return;
    // What it wrote before it went is still delivered.
    while (gone->attached && !gone->lost && gone->in.ready()) drain(*gone, kRequestsPerTurn);
    if (gone->lost) return;
    reasons_[rank] = reason;
    gone->failure = why == Status::unreachable ? kUnreachable
                    : why == Status::mismatch  ? kMismatch
                                               : kPeerLost;
    fail_peer(*gone, why == Status::lost);
}

/// Ends every order that needs this peer. `died`: not by closing, so the job is broken and whoever
/// waits for anybody must hear of it too, now or as soon as somebody does.
void MessagePassing::fail_peer(Peer& peer, bool died) {
    peer.lost = true;
    peer.straight = false;
    ++counters_.peers_lost;
    peer.control.clear();
    peer.offers.clear();
    std::erase(active_, &peer);
    if (died) untold_ = peer.rank;
    orders_.for_each([&](Order& order) {
        if (order.state == OrderState::finished) return;
        const bool waits_posted =
            order.state == OrderState::posted || order.state == OrderState::withdrawing;
        const bool concerned = waits_posted ? order.pattern.source == peer.rank ||
                                                  (died && order.pattern.source == kAnySource)
                                            : order.peer == peer.rank;
        if (!concerned) return;
        if (waits_posted) {
            posted_.remove(order);
            if (order.pattern.source == kAnySource) untold_ = kAnySource;
        }
        order.peer = peer.rank;
        finish_later(order, peer.failure);
    });
    if (died && died_ != nullptr) died_(died_user_, peer.rank);
}

void MessagePassing::on_death(void (*died)(void* user, nhi::Rank peer), void* user) noexcept {
    died_ = died;
    died_user_ = user;
}

/// The stream of requests of this peer makes no sense any more: nothing it says can be trusted.
void MessagePassing::bad_request(Peer& peer) {
    ++counters_.bad_requests;
    if (peer.lost) return;
    reasons_[peer.rank] = device_.describe(peer.rank) +
                          " sent a request that fails its checks; its memory is damaged or it runs "
                          "another version of FCI. The connection was given up";
    fail_peer(peer, true);
}

/// The straight path: a whole message for a receive that is found at once. False: nothing
/// happened, dispatch() knows what it is. Each word of the line is read once, so the peer cannot
/// change it between a look and a use.
template <bool kDataInRing>
[[gnu::always_inline]] inline bool MessagePassing::take_message(Peer& peer,
                                                                std::uint32_t control) {
    static_assert(kImmediate == 1 && kSendImmediate == 1);
    const gcs::Line& line = peer.in.next();
    const std::uint64_t bytes = control >> 16;
    const std::uint32_t has_immediate = control >> 8 & 1;
    const std::uint64_t most =
        kDataInRing ? limits_.eager_bytes : kInlineBytes + 8 - 8 * has_immediate;
    if (bytes > most) return false;
    const Envelope envelope{peer.rank, line_space(control), flag::glance(line.word[0])};
    PostedNode* const node = posted_.within_reach(envelope);
    if (node == nullptr) return false;
    Order& order = static_cast<Order&>(*node);
    if (order.offered || order.baggage != nullptr) return false;
    posted_.remove(order);
    const std::uint64_t immediate = has_immediate != 0 ? flag::glance(line.word[1]) : 0;
    const std::uint64_t received = std::min(bytes, order.bytes);
    const std::byte* const data =
        kDataInRing ? peer.in.ring(bytes)
                    : reinterpret_cast<const std::byte*>(line.word + 1 + has_immediate);
    if (kDataInRing) {
        copy(order.data, data, received);
    } else {
        copy_short(order.data, data, received);
    }
    peer.in.advance();
    peer.in.dispose(kSlotCharge + bytes);
    ++peer.seen;
    ++counters_.received_expected;
    const Completion completion = order.completion;
    orders_.give_back(order);
    const Outcome outcome{received < bytes ? kTruncated : kSuccess,
                          peer.rank,
                          has_immediate,
                          envelope.match,
                          immediate,
                          bytes,
                          received};
    if (completion.done != nullptr) completion.done(completion.user, completion.owner, &outcome);
    return true;
}

/// Whole messages in the ring, and all that is copied out first.
[[gnu::noinline]] void MessagePassing::take_other(Peer& peer, std::uint32_t control) {
    if (is_plain_send<true>(control) && take_message<true>(peer, control)) return;
    const gcs::Line line = peer.in.take();
    dispatch(peer, line);
}

/// Of a peer whose next request is here.
[[gnu::always_inline]] inline unsigned MessagePassing::drain(Peer& peer, unsigned most) {
    unsigned taken = 0;
    do {
        ++taken;
        const auto control = static_cast<std::uint32_t>(flag::glance(peer.in.next().control));
        if (!is_plain_send<false>(control) || !take_message<false>(peer, control)) {
            take_other(peer, control);
        }
        if (peer.in.credit_due() && !peer.lost) [[unlikely]] return_credit(peer);
    } while (peer.in.ready() && taken < most && !peer.lost);
    return taken;
}

/// The next request of peer `first` is here.
unsigned MessagePassing::turn_from(std::size_t first) {
    unsigned work = 0;
    std::size_t i = first;
    // By index: a callback may attach peers, and a peer may be lost on the way.
    do {
        Peer* const from = active_[i];
        if (i != first && !from->in.ready()) continue;
        work += drain(*from, kRequestsPerTurn);
        if (i > 0 && i < active_.size() && active_[i] == from) {
            std::swap(active_[i], active_[i - 1]);
        }
    } while (++i < active_.size());
    return busy_ ? work + go_on() : work;
}

/// All that is not to look for requests.
[[gnu::noinline]] unsigned MessagePassing::go_on() {
    unsigned work = push();
    if (!finished_.empty()) work += tell_finished();
    busy_ = busy_ || !copies_.empty() || !finished_.empty();
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
    return busy_ || std::any_of(active_.begin(), active_.end(),
                                [](const Peer* from) { return from->in.ready(); });
}

unsigned MessagePassing::sleeping_peers() const noexcept {
    return static_cast<unsigned>(std::count_if(active_.begin(), active_.end(),
                                               [](const Peer* to) { return to->out.asleep(); }));
}

void MessagePassing::dispatch(Peer& peer, const gcs::Line& line) {
    switch (Control::of(line).kind) {
        case Kind::send: return on_send(peer, line);
        case Kind::announce: return on_announce(peer, line);
        case Kind::request: return on_request(peer, line);
        case Kind::offer: return on_offer(peer, line);
        case Kind::piece: return on_piece(peer, line);
        case Kind::sent: return on_sent(peer, line);
        case Kind::taken: return on_taken(peer, line);
        case Kind::withdraw: return on_withdraw(peer, line);
        case Kind::withdrawn: return on_withdrawn(peer, line);
        case Kind::decline: return on_decline(peer, line);
        case Kind::unsend: return on_unsend(peer, line);
        case Kind::unsent: return on_unsent(peer, line);
        case Kind::none: break;
    }
    bad_request(peer);
}

/// Goes on with everything that waited for room; and one piece of every kernel copy.
unsigned MessagePassing::push() {
    unsigned work = 0;
    copies_.for_each([&](Order& order) { work += copy_piece(order); });
    busy_ = false;
    for (std::size_t i = 0; i < active_.size(); ++i) {
        Peer* const to = active_[i];
        const std::uint64_t before = to->out.sent();
        if (push(*to)) busy_ = true;
        work += to->out.sent() != before;
    }
    return work;
}

/// True while something is left.
bool MessagePassing::push(Peer& peer) {
    if (peer.credit_owed) return_credit(peer);
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

void MessagePassing::put_control(Peer& peer, const gcs::Line& line) {
    if (peer.lost) return;
    if (peer.control.empty() && peer.attached && peer.out.slot_free()) {
        if (peer.out.put(network_, line) == Status::ok) return;
    }
    peer.control.push_back(line);
    peer.straight = false;
    busy_ = true;
}

void MessagePassing::tell(Peer& peer, Kind kind, std::uint64_t handle, std::uint8_t flags) {
    put_control(peer, pack(Control{kind, flags, 0}, HandleRecord{handle}));
}

void MessagePassing::return_credit(Peer& peer) {
    peer.credit_owed = peer.in.return_credit(network_) == Status::again;
    if (peer.credit_owed) {
        busy_ = true;
    } else {
        ++counters_.credits_returned;
    }
}

/// The order that the peer names, if it may name it.
Order* MessagePassing::find(std::uint32_t handle, const Peer& from, bool is_send) noexcept {
    Order* const order = orders_.find(handle);
    if (order == nullptr || order->is_send != is_send || order->state == OrderState::finished) {
        return nullptr;
    }
    return order->peer == from.rank ? order : nullptr;
}

void MessagePassing::unlink(Order& order) noexcept {
    if (!order.in_list) return;
    IntrusiveList<Order>::remove(order);
    order.in_list = false;
}

/// What was received for several ranges goes to them.
void MessagePassing::unpack_bounce(const Order& order, std::uint64_t bytes) noexcept {
    const std::byte* from = order.data;
    for (const iovec& range : order.baggage->ranges) {
        const std::uint64_t n = std::min<std::uint64_t>(bytes, range.iov_len);
        if (n != 0) std::memcpy(range.iov_base, from, n);
        from += n;
        bytes -= n;
    }
}

/// Tells the user, from the turn, and frees the order.
void MessagePassing::finish(Order& order) {
    Outcome outcome;
    outcome.error = order.error;
    outcome.source = order.peer;
    outcome.flags = order.has_immediate ? kSendImmediate : 0;
    outcome.match = order.match;
    outcome.immediate = order.immediate;
    outcome.length = order.length;
    outcome.received = order.is_send ? order.length : order.wanted;
    finish(order, outcome);
}

void MessagePassing::finish(Order& order, const Outcome& outcome) {
    if (order.baggage != nullptr && outcome.error != kCanceled) [[unlikely]] {
        unpack_bounce(order, outcome.received);
    }
    const Completion completion = order.completion;
    give_back(order);
    if (completion.done != nullptr) completion.done(completion.user, completion.owner, &outcome);
}

void MessagePassing::finish_later(Order& order, int error) {
    release_claim(order);
    unlink(order);
    order.error = error;
    if (error != kSuccess && error != kTruncated) order.wanted = 0;
    order.state = OrderState::finished;
    finished_.push_back(order);
    order.in_list = true;
    busy_ = true;
}

void MessagePassing::give_back(Order& order) {
    if (order.offered) [[unlikely]] offer_closed(order);
    if (order.claim_index >= 0) [[unlikely]] release_claim(order);
    if (order.baggage != nullptr) [[unlikely]] order.baggage.reset();
    orders_.give_back(order);
}

bool MessagePassing::drained() noexcept {
    if (!copies_.empty()) return false;
    return std::none_of(peers_.begin(), peers_.end(), [](const std::unique_ptr<Peer>& to) {
        return to && !to->lost &&
               !(to->control.empty() && to->pending.empty() && to->streams.empty());
    });
}

bool MessagePassing::sends_taken() noexcept {
    bool all = true;
    orders_.for_each([&](const Order& order) {
        all = all && (!order.is_send || order.state == OrderState::finished);
    });
    return all;
}

}  // namespace fci::mp
