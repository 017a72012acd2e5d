// SPDX-License-Identifier: BSD-3-Clause
// The turn: takes requests that have arrived, and goes on with orders that had to wait (§2.6.10:
// the work of a process while it waits).
#include <new>

#include "fci_core/mp/fast_path.h"
#include "fci_core/mp/message_passing.h"

namespace fci::mp {

namespace {
constexpr unsigned kRequestsPerTurn = 32;  // of one peer, so that no peer starves another
}

int MessagePassing::turn() noexcept {
    const Engine::Arrival first = engine_.arrival();
    if (first.is_here) return take_arrivals(first.peer, first.line);
    return engine_.is_more_due() ? take_more() : 0;
}

/// Mostly it is one message, alone.
int MessagePassing::take_arrivals(Peer& peer, const gcs::Line& line) noexcept {
    if (!fast::take_message<0>(engine_, peer, line, kind_of(line))) [[unlikely]] take_other(peer);
    if (peer.in.ready() || engine_.work.any()) [[unlikely]] return take_rest(peer);
    return 1;
}

[[gnu::noinline]] int MessagePassing::take_rest(Peer& peer) {
    const auto taken = static_cast<int>(1 + drain(peer, kRequestsPerTurn - 1));
    if (!engine_.is_more_due()) return taken;
    const int more = take_more();
    return more < 0 ? more : taken + more;
}

[[gnu::noinline]] int MessagePassing::take_more() noexcept {
    unsigned work = 0;
    const std::vector<Peer*>& active = engine_.peers.active();
    // By index: a callback may attach peers, and a peer may be lost on the way.
    for (std::size_t i = 1; i < active.size(); ++i) {
        Peer* const from = active[i];
        if (!from->in.ready()) continue;
        work += drain(*from, kRequestsPerTurn);
        if (i < active.size() && active[i] == from) engine_.peers.prefer(i);
    }
    const int more = engine_.work.busy() ? go_on() : 0;
    return more < 0 ? more : static_cast<int>(work) + more;
}

/// All of a turn but the requests. Running out of memory anywhere in the turn becomes a code.
[[gnu::noinline]] int MessagePassing::go_on() {
    const bool all_attached = meetings_.attach_missed();
    unsigned work = copies_.push();
    engine_.work.begin();
    const std::vector<Peer*>& active = engine_.peers.active();
    for (std::size_t i = 0; i < active.size(); ++i) {
        Peer* const to = active[i];
        const std::uint64_t before = to->out.sent();
        if (!push(*to)) engine_.work.set_busy();
        work += to->out.sent() != before;
    }
    work += engine_.orders.tell_finished();
    if (!copies_.empty() || engine_.orders.any_to_tell() || !all_attached) {
        engine_.work.set_busy();
    }
    return engine_.work.end_starved() ? kNoMemory : static_cast<int>(work);
}

/// False: a request or an order for this peer waits on.
bool MessagePassing::push(Peer& peer) {
    if (peer.departure.why != Status::ok) [[unlikely]] {
        if (!hear_out(peer)) return false;
        if (!peer.lost) meetings_.depart(peer);
        return false;
    }
    if (peer.credit_owed) engine_.return_credit(peer);
    if (peer.pools.in.owes()) peer.pools.in.tell();
    if (peer.ask_due) asks_.ask_again(peer);
    if (peer.data.crossed_in_vain) rendezvous_.ask_for_crossed(peer);
    if (!engine_.outbox.push(peer)) return false;
    // Messages whose receivers have asked go before those that may be unexpected.
    streams_.push(peer);
    return sends_.push(peer) && !peer.credit_owed && peer.is_written();
}

/// Takes the peer's last requests. False: there is no memory for one yet.
bool MessagePassing::hear_out(Peer& peer) {
    while (!peer.lost && peer.in.ready() && peer.in.taken() < peer.departure.last_request) {
        if (!take_one(peer)) return false;
    }
    return true;
}

// --- requests ---

/// Takes the requests of the peer that are here; `most` at most, so that no peer starves another.
[[gnu::noinline]] unsigned MessagePassing::drain(Peer& peer, unsigned most) {
    unsigned taken = 0;
    while (taken < most && !peer.lost && peer.in.ready() && take_one(peer)) ++taken;
    return taken;
}

/// The next request of a peer, which is here. False: it stays where it is.
bool MessagePassing::take_one(Peer& peer) {
    const gcs::Line& next = peer.in.next();
    return fast::take_message<0>(engine_, peer, next, kind_of(next)) || take_other(peer);
}

/// Takes a request that is more than a message in a line. False: it stays where it is.
[[gnu::noinline]] bool MessagePassing::take_other(Peer& peer) {
    const gcs::Line& next = peer.in.next();
    const std::uint32_t kind = kind_of(next);
    bool taken = false;
    switch (kind >> 8 & (kInRing | kInPool | kImmediate)) {
        case 0:
            break;
        case kImmediate:
            taken = fast::take_message<kImmediate>(engine_, peer, next, kind);
            break;
        case kInRing:
            taken = fast::take_message<kInRing>(engine_, peer, next, kind);
            break;
        case kInRing | kImmediate:
            taken = fast::take_message<kInRing | kImmediate>(engine_, peer, next, kind);
            break;
        case kInPool:
            taken = fast::take_message<kInPool>(engine_, peer, next, kind);
            break;
        case kInPool | kImmediate:
            taken = fast::take_message<kInPool | kImmediate>(engine_, peer, next, kind);
            break;
        default:
            break;
    }
    if (!taken) return take_request(peer);
    engine_.return_credit_if_due(peer);
    return true;
}

/// Copies the request out first. One for which there is no memory stays where it is: false. So its
/// handler gets all that it needs before it changes anything, and nothing after that throws.
[[gnu::noinline]] bool MessagePassing::take_request(Peer& peer) {
    const gcs::LineReader::Place place = peer.in.place();
    const gcs::Line line = peer.in.take();
    try {
        engine_.outbox.reserve();  // for the answer
        if (!dispatch(peer, line)) meetings_.give_up(peer);
    } catch (const std::bad_alloc&) {
        peer.in.go_back(place);
        engine_.work.set_starved();
        return false;
    }
    engine_.return_credit_if_due(peer);
    return true;
}

/// False: it fails its checks.
bool MessagePassing::dispatch(Peer& peer, const gcs::Line& line) {
    switch (Control::of(line).kind) {
        case Kind::send:
            return receives_.on_send(peer, line);
        case Kind::announce:
            return receives_.on_announce(peer, line) && asks_.on_answer(peer, line);
        case Kind::unsend:
            return receives_.on_unsend(peer, line);
        case Kind::clear_to_send:
            return rendezvous_.on_clear_to_send(peer, line);
        case Kind::taken:
            return rendezvous_.on_taken(peer, line);
        case Kind::unsent:
            return rendezvous_.on_unsent(peer, line);
        case Kind::piece:
            return streams_.on_piece(peer, line);
        case Kind::sent:
            return copies_.on_sent(peer, line);
        case Kind::offer:
            return offers_.on_offer(peer, line);
        case Kind::withdraw:
            return offers_.on_withdraw(peer, line);
        case Kind::withdrawn:
            return offers_.on_withdrawn(peer, line);
        case Kind::decline:
            return offers_.on_decline(peer, line);
        case Kind::ask:
            return asks_.on_ask(peer);
        case Kind::none:
            break;
    }
    return false;
}

}  // namespace fci::mp
