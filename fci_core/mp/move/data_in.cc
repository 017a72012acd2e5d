// SPDX-License-Identifier: BSD-3-Clause
#include "fci_core/mp/move/data_in.h"

#include <utility>

#include "fci_core/base/assert.h"
#include "fci_core/mp/copy.h"
#include "fci_core/mp/move/transfer.h"

namespace fci::mp {

namespace {

/// A receive whose data come was matched with their message.
void begin_receive(Order& order, std::uint64_t length) noexcept {
    order.begin_moving();
    order.path = order.chosen = Path::direct;
    order.length = length;
    order.limit();
}

std::uint64_t charge_of(const Push& push) noexcept { return kSlotCharge + push.length; }

}  // namespace

DataIn::DataIn(Engine& engine, ArrivedPool& pool) noexcept : engine_(engine), pool_(pool) {
    if (nhi::DataWay* const data = engine.network.data()) data->set_target(this);
}

DataIn::~DataIn() {
    if (nhi::DataWay* const data = engine_.network.data()) data->set_target(nullptr);
    engine_.peers.for_each([this](Peer& peer) { lose(peer); });
    while (Push* const push = free_.pop_front()) delete push;
}

void DataIn::expect(Peer& peer, Order& order) noexcept {
    FCI_ASSERT(!order.is_send && peer.data.is_there && order.peer == peer.id);
    order.piece_bytes = nhi::Data::kMost;
    order.moved = 0;
    if (!std::exchange(order.expects_data, true)) ++peer.data.expected;
}

// --- pushes ---

void DataIn::reserve() {
    if (free_.empty()) free_.push_back(*new Push);
}

void DataIn::begin(Peer& peer, const AnnounceRecord& record, Order* order,
                   Arrived* message) noexcept {
    FCI_ASSERT(!free_.empty() && (order != nullptr || message != nullptr));
    Push& push = *free_.pop_front();
    push.length = record.length;
    push.send = record.send;
    push.order = order;
    push.message = message;
    push.has_begun = push.is_dropped = false;
    if (order != nullptr) begin_receive(*order, record.length);
    if (message != nullptr) message->push = &push;
    if (message == nullptr) peer.in.dispose(charge_of(push));
    peer.data.pushes.push_back(push);
}

bool DataIn::redirect(Arrived& message, Order& order) noexcept {
    Push& push = *message.push;
    FCI_ASSERT(push.order == nullptr && push.message == &message);
    push.order = &order;
    order.peer = message.envelope.source;
    begin_receive(order, push.length);
    if (push.has_begun || push.length > order.bytes) return false;
    message.push = nullptr;
    push.message = nullptr;
    return true;
}

void DataIn::drop(Arrived& message) noexcept {
    FCI_ASSERT(message.push != nullptr && message.push->order == nullptr);
    message.push->is_dropped = true;
}

void DataIn::free(Arrived& message, Peer& from) noexcept {
    from.in.dispose(message.charge);
    if (from.in.credit_due()) {  // it is not for the network's own work to write
        from.credit_owed = true;
        engine_.work.set_busy();
    }
    pool_.give_back(message);
}

/// All of it is here.
void DataIn::end(Peer& peer, Push& push) noexcept {
    IntrusiveList<Push>::remove(push);
    Arrived* const message = push.message;
    if (Order* const order = push.order) {
        FCI_ASSERT(order->state == OrderState::moving && order->peer == peer.id);
        const std::byte* const from = message != nullptr ? message->data() : nullptr;
        if (from != nullptr) copy(order->data, from, order->wanted);
        order->moved = order->wanted;
        end_transfer(engine_, *order);
    } else {
        peer.row->bytes_received += push.length;
        message->push = nullptr;
        message->send = 0;
    }
    if (message != nullptr && (push.order != nullptr || push.is_dropped)) free(*message, peer);
    free_.push_back(push);
}

void DataIn::lose(Peer& peer) noexcept {
    while (Push* const push = peer.data.pushes.pop_front()) {
        Arrived* const message = push->message;
        if (message != nullptr && (push->order != nullptr || push->is_dropped)) {
            pool_.give_back(*message);
        } else if (message != nullptr) {
            // From now on it counts as still at its sender, so that a receive of it fails.
            message->push = nullptr;
            message->announced = true;
        }
        free_.push_back(*push);
    }
}

// --- nhi::DataTarget ---

bool DataIn::expects(nhi::PeerId from) const noexcept {
    const Peer& peer = engine_.peers.find(from);
    return peer.data.expected != 0 || !peer.data.pushes.empty();
}

bool DataIn::is_early(nhi::PeerId from, const nhi::Data& data) const noexcept {
    const Peer& peer = engine_.peers.find(from);
    return (data.name & nhi::Data::kPushed) != 0 && peer.data.pushes.empty() && !peer.lost &&
           (!peer.attached || peer.in.ready());
}

/// The receive to which the data belong, as its next part; nullptr: there is none.
Order* DataIn::find(nhi::PeerId from, const nhi::Data& data) const noexcept {
    Order* const order = engine_.orders.find(data.name, engine_.peers.find(from), false);
    if (order == nullptr || !order->expects_data || data.name != order->handle) return nullptr;
    // A sender that matched an offer may fill the buffer before its announcement is looked at.
    const bool is_moving = order->state == OrderState::moving;
    if (!is_moving && !order->offered) return nullptr;
    const std::uint64_t room = is_moving ? order->wanted : order->bytes;
    const bool goes_on = data.offset == order->moved && data.bytes <= room - order->moved;
    return goes_on ? order : nullptr;
}

/// Pushes come in the order of their announcements.
Push* DataIn::find_push(nhi::PeerId from, const nhi::Data& data) const noexcept {
    Peer& peer = engine_.peers.find(from);
    if (peer.data.pushes.empty()) return nullptr;
    Push& push = peer.data.pushes.front();
    const bool is_this = data.name == (push.send | nhi::Data::kPushed) && data.offset == 0 &&
                         data.bytes == push.length;
    return is_this ? &push : nullptr;
}

std::byte* DataIn::locate(nhi::PeerId from, const nhi::Data& data) noexcept {
    if ((data.name & nhi::Data::kPushed) == 0) {
        Order* const order = find(from, data);
        return order != nullptr ? order->data + order->moved : nullptr;
    }
    Push* const push = find_push(from, data);
    if (push == nullptr) return nullptr;
    push->has_begun = true;
    return push->message != nullptr ? push->message->data() : push->order->data;
}

bool DataIn::arrived(nhi::PeerId from, const nhi::Data& data) noexcept {
    if ((data.name & nhi::Data::kPushed) != 0) {
        Push* const push = find_push(from, data);
        if (push != nullptr) end(engine_.peers.find(from), *push);
        return push != nullptr;
    }
    Order* const order = find(from, data);
    if (order == nullptr) return false;
    order->moved += data.bytes;
    FCI_ASSERT(order->moved <= order->bytes);
    if (order->state == OrderState::moving && order->moved == order->wanted) {
        end_transfer(engine_, *order);
    }
    return true;
}

}  // namespace fci::mp
