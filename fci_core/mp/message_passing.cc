// Who comes and goes, which request goes where, and how orders end.
#include "fci_core/mp/message_passing.h"

#include <algorithm>
#include <new>
#include <utility>

namespace fci::mp {

namespace {
/// What operations end with.
int failure_of(Status departure) noexcept {
    return departure == Status::unreachable ? kUnreachable
           : departure == Status::mismatch  ? kMismatch
                                            : kPeerLost;
}
}

MessagePassing::MessagePassing(ddi::Device& device, const Protocol& protocol, const Limits& limits)
    : device_(device), network_(device.network()), protocol_(protocol), limits_(limits),
      nobody_(std::make_unique<Peer>()), first_(nobody_.get()) {
    FCI_ASSERT(limits_.eager_bytes <= kEagerMost);
    FCI_ASSERT(has_room(limits_.layout));
    FCI_ASSERT(limits_.layout.pool_bytes % gcs::Layout::kPieceBytes == 0);
    pool_.open(network_, limits_.layout, device_.communication_memory());
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
    for (const auto& known : made_) {
        while (WaitingLine* const line = known->control.pop_front()) lines_.give_back(*line);
    }
}

/// For everything that may go into such a block.
bool MessagePassing::has_room(const gcs::Layout& layout) const noexcept {
    return layout.slots >= kSlotsLeast &&
           limits_.eager_bytes + kHeaderMost <= layout.ring_bytes / 4;
}

void MessagePassing::peer_attached(nhi::Rank rank) noexcept try {
    attach(rank);
} catch (const std::bad_alloc&) {
    missed_ = true;
    set_starved();
}

/// Those that peer_attached() had no memory for. None of them was told of as lost meanwhile.
void MessagePassing::attach_missed() {
    missed_ = false;
    for (nhi::Rank rank = nhi::kSelf + 1; rank < device_.peers(); ++rank) {
        const bool known = rank < known_ && (peers_[rank]->attached || peers_[rank]->lost);
        if (!known && !device_.block(rank).empty()) peer_attached(rank);
    }
}

/// All that may fail comes first.
void MessagePassing::attach(nhi::Rank rank) {
    Peer* const arrived = peer(rank);
    FCI_ASSERT(arrived != nullptr && !arrived->attached);
    const auto layout = limits_.layout.with(device_.sizes(rank));
    const nhi::Link link = network_.link(rank);
    // What the peer says of its block is true.
    if (!layout || !has_room(*layout) || layout->block_bytes() > link.block_bytes) {
        return bad_request(*arrived);
    }
    const std::span<const std::byte> block = device_.block(rank);
    FCI_ASSERT(block.size() >= layout->block_bytes());
    arrived->in.attach(rank, *layout, block, limits_.unexpected_bytes);
    arrived->out.attach(rank, *layout, block, link);
    arrived->pieces_out.attach(block, link.mapped);
    arrived->mapped = link.mapped;
    arrived->attached = arrived->present = true;
    active_.push_back(arrived);  // peer() has made room
    order_peers();
    if (rank != nhi::kSelf) {
        ++counters_.peers_attached;
        here_ += link.same_host;
    }
    set_busy();  // what waited for the connection
}

/// Something must wait until there is memory again. The turn says so, and the next one tries again.
void MessagePassing::set_starved() noexcept {
    more_ |= kStarved;
    set_busy();
}

/// `active_` has changed.
void MessagePassing::order_peers() noexcept {
    first_ = active_.empty() ? nobody_.get() : active_.front();
    more_ = static_cast<std::uint8_t>((more_ & ~kSeveral) | (active_.size() > 1 ? kSeveral : 0));
}

void MessagePassing::peer_lost(nhi::Rank rank, Status why, const std::string& reason) noexcept {
    Peer* gone = nullptr;
    try {
        gone = peer(rank);
        if (gone == nullptr || gone->lost || gone->departure != Status::ok) return;
        reasons_[rank] = reason;
    } catch (const std::bad_alloc&) {
        if (gone == nullptr) return;  // nobody here had to do with it
    }
    gone->departure = why;
    depart(*gone);
}

/// What it wrote before it went is still delivered, as soon as there is memory for that. It is no
/// more than its block holds; who writes on after a goodbye is not heard for ever.
void MessagePassing::depart(Peer& peer) {
    for (unsigned left = peer.in.layout().slots; left != 0; --left) {
        if (!peer.attached || peer.lost || !peer.in.ready()) break;
        if (drain(peer, 1) == 0) return;
    }
    if (peer.lost) return;
    peer.failure = failure_of(peer.departure);
    fail_peer(peer, peer.departure == Status::lost);
}

/// Ends every order that needs this peer. `died`: not by closing, so the job is broken and whoever
/// waits for anybody must hear of it too, now or as soon as somebody does.
void MessagePassing::fail_peer(Peer& peer, bool died) {
    peer.lost = true;
    peer.fast_path = peer.present = false;
    ++counters_.peers_lost;
    while (WaitingLine* const line = peer.control.pop_front()) lines_.give_back(*line);
    peer.offers.clear();
    pool_.take_back(peer.pieces_out);
    std::erase(active_, &peer);
    order_peers();
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
    explain(peer, " sent a request that fails its checks; its memory is damaged or it runs another "
                  "version of FCI. The connection was given up");
    fail_peer(peer, true);
}

/// If there is memory for it.
void MessagePassing::explain(const Peer& peer, const char* what) noexcept try {
    reasons_[peer.rank] = device_.describe(peer.rank) + what;
} catch (const std::bad_alloc&) {
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

void MessagePassing::put_control(Peer& peer, const gcs::Line& line) noexcept {
    if (peer.lost) return;
    if (peer.control.empty() && peer.attached && peer.out.slot_free()) {
        if (peer.out.put(network_, line) == Status::ok) return;
    }
    WaitingLine& waiting = lines_.take();
    waiting.line = line;
    peer.control.push_back(waiting);
    peer.fast_path = false;
    set_busy();
}

void MessagePassing::tell(Peer& peer, Kind kind, std::uint64_t handle,
                          std::uint8_t flags) noexcept {
    put_control(peer, pack(Control{kind, flags, 0}, HandleRecord{handle}));
}

[[gnu::noinline]] void MessagePassing::return_credit(Peer& peer) {
    peer.credit_owed = peer.in.return_credit(network_) == Status::again;
    if (peer.credit_owed) {
        set_busy();
    } else {
        ++counters_.credits_returned;
    }
    if (credit_mark_ != nullptr) *credit_mark_ |= kCreditReturned;
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
    for (const iovec& range : order.extras->ranges) {
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
    if (order.extras != nullptr && outcome.error != kCanceled) [[unlikely]] {
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
    set_busy();
}

void MessagePassing::give_back(Order& order) {
    if (order.offered) [[unlikely]] offer_closed(order);
    if (order.claim_index >= 0) [[unlikely]] release_claim(order);
    if (order.extras != nullptr) [[unlikely]]
        order.extras.reset();
    orders_.give_back(order);
}

bool MessagePassing::drained() noexcept {
    if (!copies_.empty()) return false;
    return std::none_of(made_.begin(), made_.end(), [](const std::unique_ptr<Peer>& to) {
        return !to->lost &&
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
