// SPDX-License-Identifier: BSD-3-Clause
#include "fci_core/mp/meetings.h"

#include <algorithm>
#include <new>
#include <span>

#include "fci_core/base/assert.h"
#include "fci_core/base/log.h"

namespace fci::mp {

namespace {

/// The code with which operations end.
int failure_of(Status departure) noexcept {
    return departure == Status::unreachable ? kUnreachable
           : departure == Status::mismatch  ? kMismatch
                                            : kPeerLost;
}

}  // namespace

Meetings::Meetings(Engine& engine, SharedCopies& copies, Receives& receives)
    : engine_(engine), copies_(copies), receives_(receives) {
    engine_.device.set_listener(this);
}

Meetings::~Meetings() {
    engine_.device.set_listener(nullptr);
}

// --- coming ---

Peer* Meetings::connected(nhi::PeerId id) {
    if (engine_.peers.severed()) [[unlikely]] log::hint_once(true, engine_.peers.reason(id));
    Peer* const found = engine_.peers.make(id);
    if (found == nullptr || found->attached || found->lost || found->connecting) return found;
    // The process itself is a peer like others, once it is used as one.
    if (id == nhi::kSelf) {
        attach(id);
        return found;
    }
    const Status status = engine_.device.connect(id);
    if (status != Status::ok && status != Status::again) {
        peer_lost(id, status, engine_.device.describe(id) + ": " + to_string(status));
    }
    // If the peer was lost without memory to say so, it is tried again.
    if (!found->lost && !found->attached) engine_.peers.expect(*found);
    return found;
}

void Meetings::meet(nhi::PeerId peers) {
    for (nhi::PeerId id = nhi::kSelf + 1; id < std::min(peers, engine_.device.peers()); ++id) {
        // A place that the user typed may be empty still.
        if (engine_.device.card_of(id)->incarnation != 0) (void)connected(id);
    }
}

void Meetings::peer_attached(nhi::PeerId id) noexcept try {
    attach(id);
} catch (const std::bad_alloc&) {
    missed_ = true;
    engine_.work.set_starved();
}

/// None of the peers for which memory was short was lost meanwhile.
bool Meetings::attach_missed() noexcept {
    if (!missed_) [[likely]] return true;
    missed_ = false;
    for (nhi::PeerId id = nhi::kSelf + 1; id < engine_.device.peers(); ++id) {
        const Peer& known = engine_.peers.find(id);
        if (!known.attached && !known.lost && !engine_.device.block(id).empty()) {
            peer_attached(id);
        }
    }
    return !missed_;
}

/// All that may fail comes first.
void Meetings::attach(nhi::PeerId id) {
    Peer* const peer = engine_.peers.make(id);
    FCI_ASSERT(peer != nullptr && !peer->attached);
    if (peer->lost) return;  // the peer was given up before it attached
    // Of sizes that no process has there is no layout, and an empty one does not fit.
    const gcs::Layout layout =
        engine_.limits.layout.with(engine_.device.sizes(id)).value_or(gcs::Layout{});
    const nhi::Link link = engine_.network.link(id);
    // The sizes that the peer says must fit its block.
    if (!engine_.fits(layout) || layout.block_bytes() > link.block_bytes) {
        return give_up(*peer);
    }
    const std::span<std::byte> block = engine_.device.block(id);
    FCI_ASSERT(block.size() >= layout.block_bytes());
    const gcs::Laps laps =
        link.block != nullptr ? engine_.limits.laps : gcs::Laps::by_transfers;
    peer->in.attach(id, layout, block, engine_.limits.unexpected_bytes, laps, link);
    peer->out.attach(id, layout, block, link, laps);
    peer->credit.set_eager_bytes(engine_.limits.eager_bytes_of(layout, link.block != nullptr));
    peer->pools.out.attach(block, link.mapped);
    if (link.mapped) peer->claims.open(block.data(), layout);
    peer->data.is_there = link.direct;
    if (engine_.pool.serves(peer->pools.out) && id != nhi::kSelf) {
        for (const auto size : {gcs::CellSize::small, gcs::CellSize::large}) {
            peer->pools.cells.open(size, std::min(engine_.limits.layout.cell_bytes(size),
                                                  layout.cell_bytes(size)));
        }
    }
    engine_.peers.activate(*peer, link.same_host);
    engine_.counters.peers_attached += id != nhi::kSelf;
    engine_.work.set_busy();  // orders may have waited for the connection
}

// --- going ---

void Meetings::peer_lost(nhi::PeerId id, Status why, const std::string& reason) noexcept {
    Peer* gone = nullptr;
    try {
        gone = engine_.peers.make(id);
        if (gone == nullptr || gone->lost || gone->departure.why != Status::ok) return;
        engine_.peers.set_reason(id, reason);
    } catch (const std::bad_alloc&) {
        if (gone == nullptr) return;  // no operation here concerns it
    }
    gone->departure.why = why;
    if (why == Status::lost) {
        const ddi::About about = engine_.device.about(id);
        engine_.device.tell_of_loss(about.loss >= 0 ? about.loss : about.rank);
    }
    if (!gone->attached) return depart(*gone);
    // At most as many requests as its block holds: a peer may write on after a goodbye for ever.
    gone->departure.last_request = gone->in.taken() + gone->in.layout().slots;
    engine_.work.set_busy();
}

void Meetings::depart(Peer& peer) {
    FCI_ASSERT(peer.departure.why != Status::ok && !peer.lost);
    peer.departure.failure = failure_of(peer.departure.why);
    fail(peer, peer.departure.why == Status::lost);
}

void Meetings::give_up(Peer& peer) {
    ++engine_.counters.bad_requests;
    if (peer.lost) return;
    if (engine_.peers.reason(peer.id)[0] == '\0') {
        engine_.peers.explain(peer.id,
                              " sent a request that fails its checks; its memory is damaged or it "
                              "runs another version of FCI. The connection was given up");
    }
    fail(peer, true);
}

/// Ends every order that needs this peer. `died`: it did not close, so the job is broken, and a
/// receive from any source must fail, too, now or as soon as one is posted.
void Meetings::fail(Peer& peer, bool died) {
    peer.lost = true;
    ++engine_.counters.peers_lost;
    engine_.outbox.forget(peer);
    peer.offers.clear();
    // The memory of its pushes is free once nothing writes into it.
    if (peer.data.is_there) engine_.network.data()->give_back(peer.id);
    receives_.lose(peer);
    engine_.pool.take_back(peer.pools.out);
    peer.pools.cells.each_lent([this](gcs::CellSize size, std::uint64_t offset) {
        engine_.lender.take_back(size, offset);
    });
    peer.pools.cells.forget();
    engine_.peers.deactivate(peer);
    if (died) engine_.untold = peer.id;
    engine_.orders.for_each([&](Order& order) {
        if (order.state == OrderState::finished) return;
        const bool waits_posted =
            order.state == OrderState::posted || order.state == OrderState::withdrawing;
        const bool concerned = waits_posted ? order.pattern.source == peer.id ||
                                                  (died && order.pattern.source == kAnySource)
                                            : order.peer == peer.id;
        if (!concerned) return;
        if (waits_posted) {
            engine_.posted.remove(order);
            if (order.pattern.source == kAnySource) engine_.untold = kAnySource;
        }
        order.peer = peer.id;
        engine_.orders.finish_later(order, peer.departure.failure);
    });
    if (died && died_ != nullptr) died_(died_user_, peer.id);
}

void Meetings::on_death(void (*died)(void* user, nhi::PeerId peer), void* user) noexcept {
    died_ = died;
    died_user_ = user;
}

void Meetings::sever() noexcept {
    engine_.peers.sever();
    copies_.sever();
    engine_.untold = nhi::kSelf;
}

}  // namespace fci::mp
