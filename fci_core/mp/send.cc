// Sends: inside the request, through the ring, or announced (§2.6.5, figs. 2.39 and 2.40).
#include <algorithm>
#include <new>

#include "fci_core/mp/message_passing.h"

namespace fci::mp {

namespace {

void gather(std::byte* to, std::span<const iovec> from) noexcept {
    for (const iovec& range : from) {
        if (range.iov_len != 0) std::memcpy(to, range.iov_base, range.iov_len);
        to += range.iov_len;
    }
}

std::span<const std::byte> header_of(const Order& order) noexcept {
    return order.extras != nullptr ? std::span<const std::byte>(order.extras->header)
                                   : std::span<const std::byte>();
}

}  // namespace

/// The receiver has room for the message even if nobody asks for it there (G9).
bool MessagePassing::may_send_data(Peer& peer, std::uint64_t charge) noexcept {
    if (charge <= peer.room) [[likely]] return true;
    const std::uint64_t granted = peer.out.disposed() + limits_.unexpected_bytes;
    peer.room += granted - peer.granted;
    peer.granted = granted;
    return charge <= peer.room;
}

bool MessagePassing::send_eager(nhi::Rank rank, std::uint32_t space, std::uint32_t flags,
                                std::uint64_t match, std::uint64_t immediate, const void* data,
                                std::uint64_t bytes) noexcept {
    if (rank >= known_) return false;
    Peer& to = *peers_[rank];
    // What fits into a line has been tried there.
    if (!to.fast_path || bytes <= kInlineBytes || bytes > limits_.eager_bytes ||
        (flags & kSendSynchronous) != 0 || !may_send_data(to, kSlotCharge + bytes) ||
        !to.out.slot_free() || !to.out.ring_free(network_, bytes)) {
        return false;
    }
    to.out.write_ring(data, bytes);
    const gcs::LineWriter::Slot slot = to.out.slot();
    slot.line->word[0] = match;
    slot.line->word[1] = immediate;
    to.room -= kSlotCharge + bytes;
    to.note(slot.number, match, space, false);
    ++counters_.sent_eager;
    const std::uint32_t control = line_control(space, (flags & kSendImmediate) * 8, bytes);
    to.out.send(network_, slot, control | kInRing << 8);
    return true;
}

int MessagePassing::send(const SendArguments& send, const Completion& completion,
                         std::uint32_t* handle) {
    Peer* const to = connected(send.peer);
    if (to == nullptr) return kNoEntry;
    if (to->lost) return to->failure;
    std::uint64_t bytes = 0;
    for (const iovec& range : send.data) bytes += range.iov_len;

    const bool at_once = to->attached && to->control.empty() && to->pending.empty();
    const bool plain = (send.flags & kSendSynchronous) == 0;
    Status status = Status::again;
    if (at_once && plain && protocol_.data_with_send_request &&
        bytes <= limits_.eager_bytes) {
        status = put_send(*to, send, bytes, nullptr);
        if (status == Status::ok) {
            to->fast_path = to->takes_fast_path();
            return kDone;
        }
    }
    if ((send.flags & kSendBuffered) != 0) {
        // Whoever wants the buffer back at once must come again when there is room; which may
        // never be, where the receiver waits for this very message.
        ++counters_.credit_waits;
        if (!to->attached) asked_in_vain_ = true;
        refused_ = {to, bytes};
        return status == Status::exhausted ? kHeld : kAgain;
    }
    return send_order(*to, send, bytes, completion, handle);
}

/// Asked by whoever is about to sleep, and by nobody else would it be heard that room came between
/// the refusal and the sleep. Says it once: what cannot go out all the same must not keep anybody
/// awake.
bool MessagePassing::has_room_for_refused() noexcept {
    Peer* const to = refused_.peer;
    if (to == nullptr || !(to->attached || to->lost)) return false;
    if (!to->lost) {
        const std::uint64_t bytes = refused_.bytes;
        if (!to->out.slot_free() || !may_send_data(*to, kSlotCharge + bytes)) return false;
        if (bytes > kInlineBytes && !to->out.ring_free(network_, bytes)) return false;
    }
    refused_ = {};
    return true;
}

int MessagePassing::send_order(Peer& peer, const SendArguments& send, std::uint64_t bytes,
                               const Completion& completion, std::uint32_t* handle) {
    std::unique_ptr<OrderExtras> extras;
    if (send.data.size() > 1 || !send.header.empty()) {
        extras.reset(new (std::nothrow) OrderExtras);
        if (extras == nullptr) return kNoMemory;
        extras->header.assign(send.header.begin(), send.header.end());
    }
    if (send.data.size() > 1) {
        extras->bounce.reset(new (std::nothrow) std::byte[bytes + 1]);
        if (extras->bounce == nullptr) return kNoMemory;
        gather(extras->bounce.get(), send.data);
    }
    Order* const order = orders_.take();
    if (order == nullptr) return kAgain;
    order->reset(true, OrderState::queued, completion);
    order->send_flags = send.flags;
    order->space = send.space;
    order->peer = peer.rank;
    order->match = send.match;
    order->immediate = send.immediate;
    order->has_immediate = (send.flags & kSendImmediate) != 0;
    order->data = send.data.size() > 1 ? extras->bounce.get()
                  : send.data.empty()  ? nullptr
                                       : static_cast<std::byte*>(send.data[0].iov_base);
    order->bytes = order->length = bytes;
    order->extras = std::move(extras);
    if (handle != nullptr) *handle = order->handle;
    peer.pending.push_back(*order);
    peer.fast_path = false;
    order->in_list = true;
    if (peer.attached && peer.control.empty() && &peer.pending.front() == order &&
        emit(peer, *order) == Status::ok) {
        return kAccepted;
    }
    set_busy();
    return kAccepted;
}

/// A whole message with its send request. `order`: the one that waits for `taken`, or nullptr.
Status MessagePassing::put_send(Peer& peer, const SendArguments& send, std::uint64_t bytes,
                                Order* order) {
    bytes += send.header.size();
    const std::uint64_t charge = kSlotCharge + bytes;
    if (!peer.out.slot_free()) return Status::again;
    if (!may_send_data(peer, charge)) {
        ++counters_.eager_refused;
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
        status = peer.out.put(network_, control.word());
    } else if (peer.out.ring_free(network_, bytes)) {
        status = put_in_ring(peer, send, control, bytes);
    } else {
        status = put_in_pool(peer, send, control, word);
    }
    if (status != Status::ok) return status;
    peer.room -= charge;
    ++(in_line ? counters_.sent_inline : counters_.sent_eager);
    if (send.space != kActiveSpace) {
        peer.note(peer.out.sent(), send.match, send.space, use_offer(peer, send.space, send.match));
    }
    return status;
}

/// The prepared request, and the message in the ring.
Status MessagePassing::put_in_ring(Peer& peer, const SendArguments& send, Control control,
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
    return peer.out.put(network_, control.word(), {parts, count}, bytes);
}

/// The ring is full: the message goes into a piece of the pool, and `word` of the request says
/// where.
Status MessagePassing::put_in_pool(Peer& peer, const SendArguments& send, Control control,
                                   unsigned word) {
    if (!pool_.serves(peer.pieces_out) || control.bytes > gcs::Layout::kPieceBytes ||
        !pool_.may_give(peer.pieces_out, active_.size())) {
        return Status::again;
    }
    const gcs::PiecePool::Piece piece = pool_.next(network_);
    if (piece.data == nullptr) return Status::again;
    std::copy(send.header.begin(), send.header.end(), piece.data);
    gather(piece.data + send.header.size(), send.data);
    peer.out.prepare().word[word] = piece.offset;
    control.flags |= kInPool;
    const Status status = peer.out.put(network_, control.word());
    if (status == Status::ok) pool_.give(peer.pieces_out);
    return status;
}

/// The first of the pending sends goes out, in whatever form is possible now.
Status MessagePassing::emit(Peer& peer, Order& order) {
    const bool waits = (order.send_flags & kSendSynchronous) != 0;
    if (protocol_.data_with_send_request &&
        order.length <= limits_.eager_bytes) {
        const iovec range{order.data, order.length};
        const SendArguments send{order.peer,       order.space,
                                 order.send_flags, order.match,
                                 order.immediate,  {&range, 1},
                                 header_of(order)};
        const Status status = put_send(peer, send, order.length, waits ? &order : nullptr);
        if (status == Status::ok) {
            unlink(order);
            order.state = OrderState::announced;
            if (!waits) finish_later(order, kSuccess);
            return status;
        }
        // No unexpected memory is left: it may be announced all the same. No room: it waits.
        if (status != Status::exhausted) {
            ++counters_.credit_waits;
            return status;
        }
    }
    return emit_announce(peer, order);
}

Status MessagePassing::emit_announce(Peer& peer, Order& order) {
    const std::span<const std::byte> header = header_of(order);
    const std::uint64_t attached = header.size();
    if (!peer.out.slot_free() || (attached != 0 && !peer.out.ring_free(network_, attached))) {
        ++counters_.credit_waits;
        return Status::again;
    }
    const auto offered = order.space == kActiveSpace
                             ? peer.offers.end()
                             : find_offer(peer, order.space, order.match);
    const bool matched = offered != peer.offers.end();
    const AnnounceRecord record{order.match,
                                order.immediate,
                                order.length,
                                reinterpret_cast<std::uint64_t>(order.data),
                                order.handle,
                                matched ? offered->record.receive : 0,
                                0};
    Control control{Kind::announce, control_flags(order.space, order.send_flags),
                    static_cast<std::uint16_t>(attached)};
    if (attached != 0) control.flags |= kInRing;
    std::memcpy(peer.out.prepare().word, &record, sizeof record);
    const gcs::LineWriter::Part part{header.data(), attached};
    const Status status = attached != 0
                              ? peer.out.put(network_, control.word(), {&part, 1}, attached)
                              : peer.out.put(network_, control.word());
    if (status != Status::ok) return status;
    if (order.space != kActiveSpace) {
        peer.note(peer.out.sent(), order.match, order.space, matched);
    }
    unlink(order);
    order.state = OrderState::announced;
    ++counters_.sent_announced;
    if (matched) {
        const OfferRecord offer = offered->record;
        peer.offers.erase(offered);
        send_one_sided(peer, order, offer);
    }
    return status;
}

/// The receiver's buffer is known, so the data starts at once (§2.6.3).
void MessagePassing::send_one_sided(Peer& peer, Order& order, const OfferRecord& offer) {
    ++counters_.sent_one_sided;
    order.begin_moving();
    order.peer_handle = offer.receive;
    order.wanted = std::min<std::uint64_t>(order.length, offer.bytes);
    order.remote = offer.address;
    order.piece_bytes = offer.piece_bytes;
    order.path = static_cast<Path>(offer.path);
    if (order.wanted == 0) return finish_later(order, kSuccess);
    start_sending(order, peer, offer.claim);
}

/// The peer asks that a send request be forgotten. If it was matched already the answer is on its
/// way and this one is not needed.
void MessagePassing::on_unsend(Peer& peer, const gcs::Line& line) {
    const auto handle = static_cast<std::uint32_t>(unpack<HandleRecord>(line).handle);
    Arrived* found = nullptr;
    arrived_.for_each([&](ArrivedNode& node) {
        Arrived& message = static_cast<Arrived&>(node);
        if (message.envelope.source == peer.rank && message.send == handle && handle != 0) {
            found = &message;
        }
    });
    if (found == nullptr) return;
    arrived_.remove(*found);
    dispose(*found);
    tell(peer, Kind::unsent, handle);
}

void MessagePassing::on_unsent(Peer& peer, const gcs::Line& line) {
    Order* const order =
        find(static_cast<std::uint32_t>(unpack<HandleRecord>(line).handle), peer, true);
    if (order == nullptr || order->state != OrderState::announced) return bad_request(peer);
    finish_later(*order, kCanceled);
}

}  // namespace fci::mp
