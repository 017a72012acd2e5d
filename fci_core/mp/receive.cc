// Receives: what arrives meets what is posted (§2.6.2, §2.6.5, §2.6.13).
#include <algorithm>
#include <utility>

#include "fci_core/mp/message_passing.h"

namespace fci::mp {

namespace {

std::uint64_t total(std::span<const iovec> ranges) noexcept {
    std::uint64_t bytes = 0;
    for (const iovec& range : ranges) bytes += range.iov_len;
    return bytes;
}

/// As much as there is room for; the bytes copied.
std::uint64_t scatter(std::span<const iovec> to, const std::byte* from,
                      std::uint64_t bytes) noexcept {
    std::uint64_t done = 0;
    if (to.size() == 1) [[likely]] {
        done = std::min<std::uint64_t>(bytes, to[0].iov_len);
        copy(static_cast<std::byte*>(to[0].iov_base), from, done);
        return done;
    }
    for (const iovec& range : to) {
        const std::uint64_t n = std::min<std::uint64_t>(bytes - done, range.iov_len);
        copy(static_cast<std::byte*>(range.iov_base), from + done, n);
        done += n;
    }
    return done;
}

}  // namespace

/// nullptr without memory, and nothing has happened.
Order* MessagePassing::new_receive(std::span<const iovec> to, const Completion& completion) {
    std::unique_ptr<OrderExtras> extras;
    if (to.size() > 1 && (extras = extras_for(to)) == nullptr) return nullptr;
    Order* const order = orders_.take();
    if (order != nullptr) land(*order, to, completion, std::move(extras));
    return order;
}

/// For several ranges. nullptr: there is no memory.
std::unique_ptr<OrderExtras> MessagePassing::extras_for(std::span<const iovec> to) noexcept try {
    auto extras = std::make_unique<OrderExtras>();
    extras->bounce = std::make_unique_for_overwrite<std::byte[]>(total(to) + 1);
    extras->ranges.assign(to.begin(), to.end());
    return extras;
} catch (const std::bad_alloc&) {
    return nullptr;
}

/// `order` was just taken, and receives there.
void MessagePassing::land(Order& order, std::span<const iovec> to, const Completion& completion,
                          std::unique_ptr<OrderExtras> extras) noexcept {
    order.reset(false, OrderState::posted, completion);
    if (to.size() == 1) [[likely]] {
        order.set_range(to[0].iov_base, to[0].iov_len);
        if (completion.done == nullptr) order.direct_bytes = Order::kNever;
        return;
    }
    order.set_range(nullptr, total(to));
    order.direct_bytes = Order::kNever;
    if (extras == nullptr) return;
    order.data = extras->bounce.get();
    order.extras = std::move(extras);
}

int MessagePassing::receive(const Pattern& pattern, std::span<const iovec> to,
                            const Completion& completion, std::uint32_t* handle,
                            Outcome* outcome) {
    lines_.reserve();  // for what its source is told
    if (ArrivedNode* const node = arrived_.find(pattern)) {
        return take_arrived(static_cast<Arrived&>(*node), to, completion, handle, outcome);
    }
    Peer* source = nullptr;
    if (pattern.source != kAnySource) {
        source = pattern.source < known_ ? peers_[pattern.source] : nobody_.get();
        if (!source->present) [[unlikely]] {
            source = connected(pattern.source);
            if (source == nullptr) return kNoEntry;
            if (source->lost) return source->failure;
        }
    }
    Order* const order = new_receive(to, completion);
    if (order == nullptr) return kNoMemory;
    order->pattern = pattern;
    order->peer = pattern.source;
    if (handle != nullptr) *handle = order->handle;
    if (source == nullptr && untold_ != kAnySource) [[unlikely]] {
        order->peer = std::exchange(untold_, severed_ ? untold_ : kAnySource);
        finish_later(*order, kPeerLost);
        return kAccepted;
    }
    const bool offers = order->bytes >= limits_.announce_bytes && source != nullptr &&
                        protocol_.offer_named_receives && source->attached &&
                        source->rank != nhi::kSelf && source->offers_out < Peer::kOffersMost &&
                        !posted_.blocks_announcement(pattern) &&
                        should_offer(*order, *source);
    order->announced = offers;
    posted_.append(*order);
    if (offers) offer(*order, *source);
    return kAccepted;
}

void MessagePassing::fill(Outcome* outcome, const Arrived& message, std::uint64_t received) {
    outcome->error = received < message.length ? kTruncated : kSuccess;
    outcome->source = message.envelope.source;
    outcome->flags = message.has_immediate ? kSendImmediate : 0;
    outcome->match = message.envelope.match;
    outcome->immediate = message.immediate;
    outcome->length = message.length;
    outcome->received = received;
}

/// The message goes to its receive. Without memory it stays where it is.
int MessagePassing::take_arrived(Arrived& message, std::span<const iovec> to,
                                 const Completion& completion, std::uint32_t* handle,
                                 Outcome* outcome) {
    Peer& from = *peers_[message.envelope.source];
    if (!message.announced) {
        if (!message.claimed) arrived_.remove(message);
        const std::uint64_t received = scatter(to, message.data(), message.length);
        if (outcome != nullptr) fill(outcome, message, received);
        if (message.send != 0) tell(from, Kind::taken, message.send);
        dispose(message);
        return kDone;
    }
    Order* const order = new_receive(to, completion);
    if (order == nullptr) return kNoMemory;
    if (!message.claimed) arrived_.remove(message);
    if (handle != nullptr) *handle = order->handle;
    order->match = message.envelope.match;
    order->immediate = message.immediate;
    order->has_immediate = message.has_immediate;
    order->length = message.length;
    begin_long(*order, from, message.send, message.address);
    dispose(message);
    return kAccepted;
}

/// The memory is free again, and its sender will hear of it.
void MessagePassing::dispose(Arrived& message) {
    Peer& from = *peers_[message.envelope.source];
    from.in.dispose(message.charge);
    if (message.charge != 0 && !from.lost && from.in.credit_due()) {
        return_credit(from);
    }
    arrived_pool_.give_back(message);
}

/// A message that came with its send request.
struct MessagePassing::Short {
    Control control;
    Envelope envelope;
    std::uint64_t immediate, bytes;
    std::uint32_t send;  // the sender's order, which wants `taken`; or 0
    const std::byte* data;
};

[[gnu::always_inline]] inline void MessagePassing::take_short(Peer& peer, const Short& message) {
    const Envelope& envelope = message.envelope;
    const std::uint64_t bytes = message.bytes;
    const bool has_immediate = (message.control.flags & kImmediate) != 0;
    const bool wants_taken = (message.control.flags & kWantsTaken) != 0;
    const std::uint64_t charge = kSlotCharge + bytes;
    if (envelope.space == kActiveSpace) {
        on_active(peer, message.control, envelope.match, message.data, message.send);
        peer.in.dispose(charge);
        return;
    }
    if (PostedNode* const node = posted_.take(envelope)) {
        Order& order = static_cast<Order&>(*node);
        ++counters_.received_expected;
        peer.in.dispose(charge);
        if (wants_taken) [[unlikely]] tell(peer, Kind::taken, message.send);
        const std::uint64_t received = std::min(bytes, order.bytes);
        copy(order.data, message.data, received);
        const Outcome outcome{received < bytes ? kTruncated : kSuccess,
                              has_immediate ? kSendImmediate : 0,
                              peer.rank,
                              envelope.match,
                              message.immediate,
                              bytes,
                              received};
        return finish(order, outcome);
    }
    Arrived* const arrived = arrived_pool_.take(static_cast<std::uint32_t>(bytes));
    if (arrived == nullptr) throw std::bad_alloc();
    ++counters_.received_unexpected;
    arrived->envelope = envelope;
    arrived->immediate = message.immediate;
    arrived->has_immediate = has_immediate;
    arrived->length = bytes;
    arrived->send = message.send;
    arrived->charge = static_cast<std::uint32_t>(charge);
    copy(arrived->data(), message.data, bytes);
    arrived_.append(*arrived);
}

void MessagePassing::on_send(Peer& peer, const gcs::Line& line) {
    const Control control = Control::of(line);
    Short message{control, {peer.rank, control.space(), line.word[0]}, 0, control.bytes, 0,
                  nullptr};
    if (control.space() > kActiveSpace) return bad_request(peer);
    unsigned word = 1;
    if ((control.flags & kImmediate) != 0) message.immediate = line.word[word++];
    if ((control.flags & kWantsTaken) != 0) {
        message.send = static_cast<std::uint32_t>(line.word[word++]);
    }
    if ((control.flags & (kInRing | kInPool)) == 0) [[likely]] {
        if (message.bytes > 8 * (7 - word)) return bad_request(peer);
        message.data = reinterpret_cast<const std::byte*>(line.word + word);
        return take_short(peer, message);
    }
    if (message.bytes > limits_.eager_bytes + kHeaderMost) return bad_request(peer);
    const bool in_pool = (control.flags & kInPool) != 0;
    message.data = in_pool ? peer.pieces_in.at(network_, peer.rank, peer.in.layout(),
                                               line.word[word], message.bytes)
                           : peer.in.ring(line, message.bytes);
    if (message.data == nullptr) return bad_request(peer);
    take_short(peer, message);
    if (in_pool) give_back_piece(peer);
}

void MessagePassing::on_announce(Peer& peer, const gcs::Line& line) {
    const Control control = Control::of(line);
    const auto record = unpack<AnnounceRecord>(line);
    const std::uint32_t space = control.space();
    if (space > kActiveSpace || control.bytes > kHeaderMost || record.send == 0) {
        return bad_request(peer);
    }
    if (space == kActiveSpace) {
        if ((control.flags & kInRing) == 0) return on_active_announce(peer, record, nullptr, 0);
        const std::byte* const header = peer.in.ring(line, control.bytes);
        if (header == nullptr) return bad_request(peer);
        return on_active_announce(peer, record, header, control.bytes);
    }
    const bool has_immediate = (control.flags & kImmediate) != 0;
    const Envelope envelope{peer.rank, space, record.match};
    if (PostedNode* const node = posted_.find(envelope)) {
        Order& order = static_cast<Order&>(*node);
        // What the sender matched here must be what is matched here.
        if (record.receive != 0 && (record.receive != order.handle || !order.offered)) {
            return bad_request(peer);
        }
        posted_.remove(order);
        ++counters_.received_expected;
        order.peer = peer.rank;
        order.match = record.match;
        order.immediate = record.immediate;
        order.has_immediate = has_immediate;
        order.length = record.length;
        if (record.receive != 0) return begin_one_sided(order, record);
        return begin_long(order, peer, record.send, record.address);
    }
    if (record.receive != 0) return bad_request(peer);
    Arrived* const message = arrived_pool_.take(0);
    if (message == nullptr) throw std::bad_alloc();
    ++counters_.received_unexpected;
    message->envelope = envelope;
    message->immediate = record.immediate;
    message->has_immediate = has_immediate;
    message->length = record.length;
    message->address = record.address;
    message->send = record.send;
    message->announced = true;
    arrived_.append(*message);
}

int MessagePassing::probe(const Pattern& pattern, Outcome* outcome, Arrived** claimed) {
    ArrivedNode* const node = arrived_.empty() ? nullptr : arrived_.find(pattern);
    if (node == nullptr) {
        asked_in_vain_ = true;
        return kNoMessage;
    }
    Arrived& message = static_cast<Arrived&>(*node);
    if (outcome != nullptr) {
        fill(outcome, message, message.length);
        outcome->received = 0;
    }
    if (claimed != nullptr) {
        arrived_.remove(message);
        message.claimed = true;
        *claimed = &message;
    }
    return kSuccess;
}

int MessagePassing::receive_claimed(Arrived& message, std::span<const iovec> to,
                                    const Completion& completion, std::uint32_t* handle,
                                    Outcome* outcome) {
    lines_.reserve();
    return take_arrived(message, to, completion, handle, outcome);
}

void MessagePassing::discard_claimed(Arrived& message) {
    lines_.reserve();
    Peer& from = *peers_[message.envelope.source];
    if (message.send != 0) tell(from, Kind::taken, message.send);
    dispose(message);
}

}  // namespace fci::mp
