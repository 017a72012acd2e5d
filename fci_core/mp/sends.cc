// SPDX-License-Identifier: BSD-3-Clause
#include "fci_core/mp/sends.h"

#include <algorithm>
#include <cstring>
#include <new>
#include <utility>

#include "fci_core/base/assert.h"
#include "fci_core/mp/copy.h"

namespace fci::mp {

namespace {

void gather(std::byte* to, std::span<const iovec> from) noexcept {
    for (const iovec& range : from) {
        copy(to, static_cast<const std::byte*>(range.iov_base), range.iov_len);
        to += range.iov_len;
    }
}

/// Its data is one range, or none.
void describe(Order& order, const SendArguments& send, std::uint64_t bytes,
              const Completion& completion) noexcept {
    FCI_ASSERT(send.data.size() <= 1);
    order.reset(true, OrderState::queued, completion);
    order.send_flags = send.flags;
    order.space = send.space;
    order.peer = send.peer;
    order.match = send.match;
    order.immediate = send.immediate;
    order.has_immediate = (send.flags & kSendImmediate) != 0;
    order.data = send.data.empty() ? nullptr : static_cast<std::byte*>(send.data[0].iov_base);
    order.bytes = order.length = bytes;
}

std::span<const std::byte> header_of(const Order& order) noexcept {
    return order.extras != nullptr ? std::span<const std::byte>(order.extras->header)
                                   : std::span<const std::byte>();
}

}  // namespace

Sends::Sends(Engine& engine, Rendezvous& rendezvous, SelfCopies& own)
    : engine_(engine),
      rendezvous_(rendezvous),
      own_(own),
      scratch_(engine.limits.eager_most() + kHeaderMost) {}

int Sends::send(Peer& to, const SendArguments& send, const Completion& completion,
                std::uint32_t* handle) {
    FCI_ASSERT(!to.lost);
    std::uint64_t bytes = 0;
    for (const iovec& range : send.data) bytes += range.iov_len;
    if (to.id == nhi::kSelf) {
        const int answer = send_here(to, send, bytes, completion, handle);
        if (answer != kAgain) return answer;
    }
    const bool at_once = to.attached && to.control.empty() && to.pending.empty();
    const bool plain = (send.flags & kSendSynchronous) == 0;
    Status status = Status::again;
    const bool is_buffered = (send.flags & kSendBuffered) != 0;
    if (at_once && plain && engine_.protocol.sends_data() && bytes <= to.credit.eager_bytes() &&
        (bytes <= kPushLeast || is_buffered || !to.data.is_there)) {
        status = put(to, send, bytes, nullptr);
        if (status == Status::ok) {
            to.fast_path = to.takes_fast_path();
            return kDone;
        }
    }
    if (is_buffered) {
        // A caller that wants the buffer back at once must try again when there is room; there may
        // never be any, if the receiver waits for this very message.
        engine_.count_wait(to);
        if (!to.attached) engine_.asked_in_vain = true;
        refused_ = {&to, bytes};
        return status == Status::exhausted ? kHeld : kAgain;
    }
    return put_order(to, send, bytes, completion, handle);
}

/// Sends to the process itself, into a receive that waits. kAgain: none does, and nothing happened.
/// A send that would wait for another peer's turn ends in the next turn here, with its receive.
int Sends::send_here(Peer& self, const SendArguments& send, std::uint64_t bytes,
                     const Completion& completion, std::uint32_t* handle) {
    const bool waits = (send.flags & kSendSynchronous) != 0 || bytes > self.credit.eager_bytes();
    if (!waits || (send.flags & kSendBuffered) != 0) {
        return own_.send(self, send, bytes) ? kDone : kAgain;
    }
    Order* const order = engine_.orders.take();
    if (order == nullptr || !own_.send(self, send, bytes)) {
        if (order != nullptr) engine_.orders.give_back_plain(*order);
        return kAgain;
    }
    SendArguments rest = send;
    rest.data = {};
    describe(*order, rest, bytes, completion);
    if (handle != nullptr) *handle = order->handle;
    engine_.orders.finish_later(*order, kSuccess);
    return kAccepted;
}

bool Sends::push(Peer& peer) {
    if (!peer.unasked.empty() && !serve(peer)) return false;
    while (peer.control.empty() && !peer.pending.empty()) {
        if (emit(peer, peer.pending.front()) != Status::ok) return false;
    }
    return peer.pending.empty();
}

void Sends::cancel(Order& order) {
    FCI_ASSERT(order.is_send);
    if (order.state == OrderState::announced) {
        engine_.outbox.tell(engine_.peers[order.peer], Kind::unsend, order.handle);
    } else {
        engine_.orders.finish_later(order, kCanceled);
    }
}

bool Sends::can_send_refused() noexcept {
    Peer* const to = refused_.peer;
    if (to == nullptr || !(to->attached || to->lost)) return false;
    if (!to->lost) {
        const std::uint64_t bytes = refused_.bytes;
        if (!to->out.slot_free() || !to->has_unexpected_credit(kSlotCharge + bytes)) return false;
        if (bytes > kInlineBytes && !to->out.ring_free(engine_.network, bytes)) return false;
    }
    refused_ = {};
    return true;
}

int Sends::put_order(Peer& peer, const SendArguments& send, std::uint64_t bytes,
                     const Completion& completion, std::uint32_t* handle) {
    std::unique_ptr<OrderExtras> extras;
    if (send.data.size() > 1 || !send.header.empty()) {
        extras.reset(new (std::nothrow) OrderExtras);
        if (extras == nullptr) return kNoMemory;
        extras->header.assign(send.header.begin(), send.header.end());
    }
    SendArguments whole = send;
    iovec bounce{};
    if (send.data.size() > 1) {
        extras->bounce.reset(new (std::nothrow) std::byte[bytes + 1]);
        if (extras->bounce == nullptr) return kNoMemory;
        gather(extras->bounce.get(), send.data);
        bounce = {extras->bounce.get(), bytes};
        whole.data = {&bounce, 1};
    }
    Order* const order = engine_.orders.take();
    if (order == nullptr) return kAgain;
    describe(*order, whole, bytes, completion);
    order->extras = std::move(extras);
    if (handle != nullptr) *handle = order->handle;
    Orders::link(*order, peer.pending);
    peer.fast_path = false;
    if (peer.attached && peer.control.empty() && &peer.pending.front() == order &&
        (peer.unasked.empty() || serve(peer)) && emit(peer, *order) == Status::ok) {
        return engine_.orders.end_at_once(*order) ? kDone : kAccepted;
    }
    engine_.work.set_busy();
    return kAccepted;
}

/// A whole message with its send request. `order`: the one that waits for `taken`, or nullptr.
Status Sends::put(Peer& peer, const SendArguments& send, std::uint64_t bytes, const Order* order) {
    bytes += send.header.size();
    const std::uint64_t charge = kSlotCharge + bytes;
    if (!peer.out.slot_free()) return Status::again;
    if (!peer.has_unexpected_credit(charge)) {
        ++engine_.counters.eager_refused;
        return Status::exhausted;
    }
    const bool has_immediate = (send.flags & kSendImmediate) != 0;
    const Control control{Kind::send, control_flags(send.space, send.flags),
                          static_cast<std::uint16_t>(bytes)};
    gcs::Line& line = peer.out.prepare();
    unsigned word = 0;
    line.word[word++] = send.match;
    if (has_immediate) line.word[word++] = send.immediate;
    if (order != nullptr) line.word[word++] = order->handle;
    const bool in_line = bytes <= 8 * (7 - word);
    Status status = Status::ok;
    if (in_line) {
        auto* const to = reinterpret_cast<std::byte*>(line.word + word);
        std::copy(send.header.begin(), send.header.end(), to);
        gather(to + send.header.size(), send.data);
        status = peer.out.put(engine_.network, control.word());
    } else if (gcs::Cells::Cell* const cell = engine_.cell_for(peer, bytes)) {
        status = put_in_cell(peer, send, control, word, *cell);
    } else if (peer.out.ring_free(engine_.network, bytes)) {
        status = put_in_ring(peer, send, control, bytes);
    } else {
        status = put_in_pool(peer, send, control, word);
    }
    if (status != Status::ok) return status;
    peer.credit.take(charge);
    peer.row->bytes_sent += bytes;
    ++(in_line ? engine_.counters.sent_inline : engine_.counters.sent_eager);
    peer.note(peer.out.sent(), send.match, send.space,
              Offers::use(peer, send.space, send.match).has_value());
    return status;
}

/// The prepared request, and the message in the ring.
Status Sends::put_in_ring(Peer& peer, const SendArguments& send, Control control,
                          std::uint64_t bytes) {
    gcs::LineWriter::Part parts[3]{{send.header.data(), send.header.size()}};
    std::size_t count = 1;
    if (send.data.size() <= 2) {
        for (const iovec& range : send.data) parts[count++] = {range.iov_base, range.iov_len};
    } else {
        gather(scratch_.data(), send.data);
        parts[count++] = {scratch_.data(), bytes - send.header.size()};
    }
    control.flags |= kInRing;
    return peer.out.put(engine_.network, control.word(), {parts, count}, bytes);
}

/// `word` of the request says which cell the message is in.
Status Sends::put_in_cell(Peer& peer, const SendArguments& send, Control control, unsigned word,
                          gcs::Cells::Cell& cell) {
    std::copy(send.header.begin(), send.header.end(), cell.data);
    gather(cell.data + send.header.size(), send.data);
    peer.out.prepare().word[word] = cell.name;
    control.flags |= kInPool;
    const Status status = peer.out.put(engine_.network, control.word());
    if (status == Status::ok) {
        gcs::Cells::gone(cell);
        peer.in.expect(cell.data, control.bytes);
        engine_.counters.cell_bytes += control.bytes;
    } else {
        gcs::Cells::keep(cell);
    }
    return status;
}

/// The ring is full: the message goes into a piece of the pool, and `word` of the request says
/// where.
Status Sends::put_in_pool(Peer& peer, const SendArguments& send, Control control, unsigned word) {
    if (!engine_.pool.serves(peer.pools.out) || control.bytes > gcs::Layout::kPieceBytes ||
        !engine_.pool.may_give(peer.pools.out, engine_.peers.active().size())) {
        return Status::again;
    }
    const gcs::PiecePool::Piece piece = engine_.pool.next(engine_.network, control.bytes);
    if (piece.data == nullptr) return Status::again;
    std::copy(send.header.begin(), send.header.end(), piece.data);
    gather(piece.data + send.header.size(), send.data);
    peer.out.prepare().word[word] = piece.offset;
    control.flags |= kInPool;
    const Status status = peer.out.put(engine_.network, control.word());
    if (status == Status::ok) engine_.pool.give(peer.pools.out, control.bytes);
    return status;
}

/// If the keeper has memory for it, a short message that its receiver holds back goes on as a copy,
/// so that its sender need not wait. Returns the order that goes on, in the same place.
Order& Sends::keep(Order& order) noexcept try {
    const bool waits = (order.send_flags & kSendSynchronous) != 0;
    if (engine_.keeper.take == nullptr || waits || order.space >= kGroupSpace ||
        order.completion.done == engine_.keeper.sent) {
        return order;
    }
    Order* const copy = engine_.orders.take();
    if (copy == nullptr) return order;
    void* const memory = engine_.keeper.take(&order.completion, order.length);
    if (memory == nullptr) {
        engine_.orders.give_back_plain(*copy);
        return order;
    }
    mp::copy(static_cast<std::byte*>(memory), order.data, order.length);
    const iovec range{memory, order.length};
    describe(*copy,
             {order.peer, order.space, order.send_flags, order.match, order.immediate, {&range, 1}},
             order.length, {engine_.keeper.sent, memory, nullptr});
    Orders::replace(order, *copy);
    engine_.orders.finish_later(order, kSuccess);
    return *copy;
} catch (const std::bad_alloc&) {  // it waits
    return order;
}

/// The first of the pending sends goes out, in whatever form is possible now.
Status Sends::emit(Peer& peer, Order& order) {
    FCI_ASSERT(order.state == OrderState::queued && order.peer == peer.id);
    const bool waits = (order.send_flags & kSendSynchronous) != 0;
    if (engine_.protocol.sends_data() && order.length <= peer.credit.eager_bytes() &&
        !may_push(peer, order)) {
        const iovec range{order.data, order.length};
        const SendArguments send{order.peer,      order.space, order.send_flags, order.match,
                                 order.immediate, {&range, 1}, header_of(order)};
        const Status status = put(peer, send, order.length, waits ? &order : nullptr);
        if (status == Status::ok) {
            Orders::unlink(order);
            order.state = OrderState::announced;
            if (!waits) engine_.orders.finish_later(order, kSuccess);
            return status;
        }
        // No unexpected memory is left: it may be announced all the same. No room: it waits.
        if (status == Status::exhausted) return announce(peer, keep(order));
        engine_.count_wait(peer);
        return status;
    }
    return announce(peer, order);
}

/// Those that wait for an offer or an ask have a turn before all younger sends: by offers first, so
/// that what is announced without one fits none. False: one that is wanted waits for room.
bool Sends::serve(Peer& peer) {
    for (std::size_t i = 0; i < peer.offers.size();) {
        ArrivedNode* const oldest = peer.unasked.find(peer.offers[i].pattern);
        if (oldest == nullptr) {
            ++i;
        } else if (!peer.control.empty() ||
                   announce(peer, static_cast<Order&>(*oldest)) != Status::ok) {
            return false;
        }
    }
    while (peer.asked && !peer.unasked.empty()) {
        Order& oldest = static_cast<Order&>(*peer.unasked.oldest());
        FCI_ASSERT(oldest.state == OrderState::unasked && oldest.peer == peer.id);
        if (!peer.control.empty() || announce(peer, oldest) != Status::ok) return false;
    }
    return true;
}

/// Its data can follow the announcement.
bool Sends::may_push(Peer& peer, const Order& order) const noexcept {
    return engine_.may_push(peer) && order.length > kPushLeast && order.length <= kPushMost &&
           order.space != kActiveSpace && (order.send_flags & kSendSynchronous) == 0 &&
           header_of(order).empty() && peer.has_unexpected_credit(kSlotCharge + order.length);
}

/// Announces a send, by an offer or without one; if it needs an ask, and there is none, it waits.
Status Sends::announce(Peer& peer, Order& order) {
    FCI_ASSERT(order.is_send &&
               (order.state == OrderState::queued || order.state == OrderState::unasked));
    const bool is_active = order.space == kActiveSpace;
    const OfferRecord* const offer =
        is_active ? nullptr : Offers::find(peer, order.space, order.match);
    const bool by_ask = offer == nullptr && Asks::are_due_for(order, engine_.protocol);
    if (by_ask && !peer.asked) {
        FCI_ASSERT(order.state == OrderState::queued);
        Orders::unlink(order);
        order.state = OrderState::unasked;
        order.envelope = {nhi::kSelf, order.space, order.match};
        peer.unasked.append(order);
        return Status::ok;
    }
    const std::span<const std::byte> header = header_of(order);
    const std::uint64_t attached = header.size();
    if (!peer.out.slot_free() ||
        (attached != 0 && !peer.out.ring_free(engine_.network, attached))) {
        engine_.count_wait(peer);
        return Status::again;
    }
    const AnnounceRecord record{order.match,
                                order.immediate,
                                order.length,
                                reinterpret_cast<std::uint64_t>(order.data),
                                order.handle,
                                offer != nullptr ? offer->receive : 0,
                                0};
    Control control{Kind::announce, control_flags(order.space, order.send_flags),
                    static_cast<std::uint16_t>(attached)};
    if (attached != 0) control.flags |= kInRing;
    const bool ends_ask =
        by_ask && peer.unasked.size() == (order.state == OrderState::unasked ? 1 : 0);
    if (ends_ask) control.flags |= kAll;
    const bool pushes = offer == nullptr && may_push(peer, order);
    if (pushes) control.flags |= kFollows;
    const bool goes_directly =
        pushes || (offer != nullptr && offer->path == static_cast<std::uint8_t>(Path::direct));
    std::memcpy(peer.out.prepare().word, &record, sizeof record);
    const gcs::LineWriter::Part part{header.data(), attached};
    const Status status = attached != 0
                              ? peer.out.put(engine_.network, control.word(), {&part, 1}, attached)
                              : peer.out.put(engine_.network, control.word(),
                                             goes_directly ? gcs::LineWriter::WaitsFor::data
                                                           : gcs::LineWriter::WaitsFor::nothing);
    if (status != Status::ok) return status;
    peer.note(peer.out.sent(), order.match, order.space, offer != nullptr, order.handle);
    if (ends_ask) peer.asked = false;
    if (order.state == OrderState::unasked) peer.unasked.remove(order);
    Orders::unlink(order);
    order.state = OrderState::announced;
    peer.row->bytes_sent += attached + order.length;
    if (pushes) {
        ++engine_.counters.sent_pushed;
        peer.credit.take(kSlotCharge + order.length);
        rendezvous_.begin_push(order, peer);
        return status;
    }
    ++engine_.counters.sent_announced;
    if (offer != nullptr) {
        rendezvous_.begin_offered_send(order, peer, *Offers::use(peer, order.space, order.match));
    }
    return status;
}

}  // namespace fci::mp
