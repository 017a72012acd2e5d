// SPDX-License-Identifier: BSD-3-Clause
#include "fci_core/mp/rendezvous.h"

#include <algorithm>

#include "fci_core/base/assert.h"
#include "fci_core/mp/move/data_in.h"
#include "fci_core/mp/move/transfer.h"

namespace fci::mp {

namespace {

/// The kernel copies on these paths.
bool is_copied(Path path) noexcept { return path == Path::pull || path == Path::shared; }

}  // namespace

void Rendezvous::choose_path(Order& order, Peer& peer, std::uint64_t bytes) {
    order.chosen = engine_.goes_directly(peer) ? Path::direct
                   : copies_.may_copy(peer, SharedCopies::Direction::read)
                       ? peer.path.choose(bytes, SharedCopies::is_worth_sharing(bytes))
                       : Path::ring;
    order.timing.chosen_for = bytes;
    order.path = order.chosen;
    if (order.path == Path::shared && !copies_.hold_claim(order, peer)) order.path = Path::pull;
    switch (order.path) {
        case Path::direct:
            DataIn::expect(peer, order);
            break;
        case Path::ring:
            order.piece_bytes = Streams::piece_bytes(peer);
            break;
        case Path::pull:
            order.piece_bytes = SharedCopies::pulled_piece(bytes);
            break;
        case Path::shared:
            order.piece_bytes = SharedCopies::shared_piece(bytes);
            break;
    }
}

void Rendezvous::begin_receive(Order& order, Peer& peer, std::uint32_t send,
                               std::uint64_t address) {
    engine_.orders.release_claim(order);  // of an offer that was not used
    order.peer = peer.id;
    order.peer_handle = send;
    order.remote = address;
    order.begin_moving();
    order.limit();
    if (peer.lost) return engine_.orders.finish_later(order, peer.departure.failure);
    if (order.wanted == 0) {
        engine_.outbox.tell(peer, Kind::taken, send);
        return end_transfer(engine_, order);
    }
    if (peer.id == nhi::kSelf && own_.receive(order, peer, send)) return;
    choose_path(order, peer, order.wanted);
    begin_transfer(engine_, order, peer);
    if (order.path != Path::pull) ask_for_data(engine_, order, peer);
    if (is_copied(order.path)) copies_.receive(order);
}

void Rendezvous::begin_offered_receive(Order& order, const AnnounceRecord& record) {
    FCI_ASSERT(order.offered);
    order.peer_handle = record.send;
    order.remote = record.address;
    const std::uint64_t here = order.path == Path::direct ? order.moved : 0;
    order.begin_moving();
    order.moved = here;
    order.limit();
    if (order.moved >= order.wanted) return end_transfer(engine_, order);
    Peer& peer = engine_.peers[order.peer];
    if (record.receive == 0) Orders::link(order, peer.data.crossed);
    begin_transfer(engine_, order, peer);
    if (is_copied(order.path)) copies_.receive(order);
}

bool Rendezvous::on_clear_to_send(Peer& peer, const gcs::Line& line) {
    const auto record = unpack<ClearToSendRecord>(line);
    Order* const order = engine_.orders.find(record.send, peer, true);
    // It may have begun by an offer that its receiver believes declined.
    if (order == nullptr || order->state != OrderState::announced) return peer.data.is_there;
    if (record.bytes > order->length || record.bytes == 0 || !has_way(peer, record)) {
        return false;
    }
    order->begin_moving();
    order->peer_handle = record.receive;
    order->wanted = record.bytes;
    order->piece_bytes = record.piece_bytes;
    order->path = static_cast<Path>(record.path);
    order->remote = order->path == Path::direct ? record.receive : record.address;
    begin_send(*order, peer, record.claim);
    return true;
}

void Rendezvous::begin_offered_send(Order& order, Peer& peer, const OfferRecord& offer) {
    ++engine_.counters.sent_one_sided;
    order.begin_moving();
    order.peer_handle = offer.receive;
    order.wanted = std::min<std::uint64_t>(order.length, offer.bytes);
    order.piece_bytes = offer.piece_bytes;
    order.path = static_cast<Path>(offer.path);
    order.remote = order.path == Path::direct ? offer.receive : offer.address;
    if (order.wanted == 0) return engine_.orders.finish_later(order, kSuccess);
    begin_send(order, peer, offer.claim);
}

void Rendezvous::begin_push(Order& order, Peer& peer) {
    order.begin_moving();
    order.wanted = order.length;
    order.path = Path::direct;
    order.remote = order.handle | nhi::Data::kPushed;
    begin_send(order, peer, 0);
}

void Rendezvous::on_crossing(Peer& peer, std::uint32_t send, const OfferRecord& offer) {
    if (offer.path != static_cast<std::uint8_t>(Path::direct)) return;
    Order* const order = engine_.orders.find(send, peer, true);
    if (order == nullptr || order->state != OrderState::announced || order->length == 0) return;
    if (offer.bytes == 0) return;
    begin_offered_send(*order, peer, offer);
}

void Rendezvous::ask_for_crossed(Peer& peer) noexcept {
    while (!peer.data.crossed.empty()) {
        if (!engine_.outbox.try_reserve()) return engine_.work.set_starved();
        Order& order = peer.data.crossed.front();
        FCI_ASSERT(order.state == OrderState::moving && order.path == Path::direct);
        Orders::unlink(order);
        ask_for_data(engine_, order, peer);
    }
    peer.data.crossed_in_vain = false;
}

void Rendezvous::begin_send(Order& order, Peer& peer, std::uint16_t claim) {
    FCI_ASSERT(order.wanted != 0 && order.wanted <= order.length);
    if (is_copied(order.path)) {
        copies_.send(order, peer, claim);
    } else {
        streams_.begin(peer, order);
    }
}

bool Rendezvous::on_taken(Peer& peer, const gcs::Line& line) {
    Order* const order = engine_.orders.find(unpack<HandleRecord>(line).handle, peer, true);
    const std::uint8_t flags = Control::of(line).flags;
    if (order == nullptr) return true;  // it failed here, or ended when this side had copied it all
    if (order->state == OrderState::moving && order->path == Path::shared) {
        return copies_.on_taken(*order, peer, flags);
    }
    if ((flags & kFailed) != 0) {
        engine_.orders.finish_later(*order, kFault);
    } else if (order->state == OrderState::announced && (flags & kRefused) == 0) {
        engine_.orders.finish_later(*order, kSuccess);
    } else {
        return false;
    }
    return true;
}

bool Rendezvous::on_unsent(Peer& peer, const gcs::Line& line) {
    Order* const order = engine_.orders.find(unpack<HandleRecord>(line).handle, peer, true);
    if (order == nullptr || order->state != OrderState::announced) return false;
    engine_.orders.finish_later(*order, kCanceled);
    return true;
}

}  // namespace fci::mp
