// SPDX-License-Identifier: BSD-3-Clause
#include "fci_core/mp/receives.h"

#include <algorithm>
#include <new>
#include <utility>

#include "fci_core/base/assert.h"
#include "fci_core/mp/copy.h"

namespace fci::mp {

namespace {

/// As much as there is room for; the bytes copied.
std::uint64_t scatter(std::span<const iovec> to, const std::byte* from,
                      std::uint64_t bytes) noexcept {
    std::uint64_t done = 0;
    for (const iovec& range : to) {
        const std::uint64_t n = std::min<std::uint64_t>(bytes - done, range.iov_len);
        copy(static_cast<std::byte*>(range.iov_base), from + done, n);
        done += n;
    }
    return done;
}

Outcome outcome_of(const Arrived& message, std::uint64_t received) noexcept {
    Outcome outcome{};
    outcome.error = received < message.length ? kTruncated : kSuccess;
    outcome.source = message.envelope.source;
    outcome.flags = message.has_immediate ? kSendImmediate : 0;
    outcome.match = message.envelope.match;
    outcome.immediate = message.immediate;
    outcome.length = message.length;
    outcome.received = received;
    return outcome;
}

}  // namespace

Receives::~Receives() {
    engine_.posted.for_each([this](PostedNode& node) { engine_.posted.remove(node); });
    engine_.peers.for_each([this](Peer& peer) { lose(peer); });
    engine_.arrived.for_each([this](ArrivedNode& node) {
        engine_.arrived.remove(node);
        pool_.give_back(static_cast<Arrived&>(node));
    });
}

int Receives::receive(Peer* source, const Pattern& pattern, std::span<const iovec> to,
                      const Completion& completion, std::uint32_t* handle) {
    Order* const order = engine_.orders.take_receive(to, completion);
    if (order == nullptr) return kNoMemory;
    order->pattern = pattern;
    order->peer = pattern.source;
    if (handle != nullptr) *handle = order->handle;
    if (source == nullptr && engine_.untold != kAnySource) [[unlikely]] {
        const bool severed = engine_.peers.severed();
        order->peer = std::exchange(engine_.untold, severed ? engine_.untold : kAnySource);
        engine_.orders.finish_later(*order, kPeerLost);
        return kAccepted;
    }
    order->offer_stands = offers_.is_worth_it(*order, source);
    engine_.posted.append(*order);
    if (order->offer_stands) {
        offers_.make(*order, *source);
    } else {
        asks_.ask_for(pattern.source);
    }
    return kAccepted;
}

int Receives::take_arrived(Arrived& message, std::span<const iovec> to,
                           const Completion& completion, std::uint32_t* handle, Outcome* outcome) {
    Peer& from = engine_.peers[message.envelope.source];
    if (!message.announced && message.push == nullptr) {
        if (!message.claimed) engine_.arrived.remove(message);
        const std::uint64_t received = scatter(to, message.data(), message.length);
        if (outcome != nullptr) *outcome = outcome_of(message, received);
        discard(message);
        return kDone;
    }
    Order* const order = engine_.orders.take_receive(to, completion);
    if (order == nullptr) return kNoMemory;
    if (!message.claimed) engine_.arrived.remove(message);
    if (handle != nullptr) *handle = order->handle;
    order->match = message.envelope.match;
    order->immediate = message.immediate;
    order->has_immediate = message.has_immediate;
    order->length = message.length;
    if (message.push == nullptr) {
        rendezvous_.begin_receive(*order, from, message.send, message.address);
    } else if (!data_.redirect(message, *order)) {
        return kAccepted;  // with a copy of it
    }
    dispose(message);
    return kAccepted;
}

void Receives::discard(Arrived& message) {
    if (message.push != nullptr) return DataIn::drop(message);
    if (message.send != 0) {
        engine_.outbox.reserve();
        engine_.outbox.tell(engine_.peers[message.envelope.source], Kind::taken, message.send);
    }
    dispose(message);
}

int Receives::discard_matching(const Pattern& pattern) {
    int discarded = 0;
    while (ArrivedNode* const node = engine_.arrived.find(pattern)) {
        engine_.outbox.reserve();
        engine_.arrived.remove(*node);
        discard(static_cast<Arrived&>(*node));
        ++discarded;
    }
    return discarded;
}

/// Frees the memory of a message; its sender will hear of it.
void Receives::dispose(Arrived& message) {
    Peer& from = engine_.peers[message.envelope.source];
    from.in.dispose(message.charge);
    if (message.charge != 0) engine_.return_credit_if_due(from);
    pool_.give_back(message);
}

int Receives::probe(const Pattern& pattern, Outcome* outcome, Arrived** claimed) {
    ArrivedNode* const node = engine_.arrived.empty() ? nullptr : engine_.arrived.find(pattern);
    if (node == nullptr) {
        engine_.asked_in_vain = true;
        asks_.ask_for(pattern.source);
        return kNoMessage;
    }
    Arrived& message = static_cast<Arrived&>(*node);
    FCI_ASSERT(!message.claimed);
    if (outcome != nullptr) {
        *outcome = outcome_of(message, message.length);
        outcome->received = 0;
    }
    if (claimed != nullptr) {
        engine_.arrived.remove(message);
        message.claimed = true;
        *claimed = &message;
    }
    return kSuccess;
}

void Receives::cancel(Order& order) {
    FCI_ASSERT(order.state == OrderState::posted);
    if (order.offered) {
        order.state = OrderState::withdrawing;
        engine_.outbox.tell(engine_.peers[order.pattern.source], Kind::withdraw, order.handle);
        return;
    }
    engine_.posted.remove(order);
    order.peer = order.pattern.source;
    engine_.orders.finish_later(order, kCanceled);
}

/// Makes an Arrived that is not in the list yet.
[[gnu::always_inline]] inline Arrived& Receives::new_arrived(const Envelope& envelope,
                                                             std::uint64_t bytes) {
    Arrived* const arrived = pool_.take(static_cast<std::uint32_t>(bytes));
    if (arrived == nullptr) throw std::bad_alloc();
    ++engine_.counters.received_unexpected;
    arrived->envelope = envelope;
    return *arrived;
}

/// A message that came with its send request.
struct Receives::Short {
    Control control;
    Envelope envelope;
    std::uint64_t immediate, bytes;
    std::uint32_t send;  // the sender's order, which wants `taken`; or 0
    const std::byte* data;
};

[[gnu::always_inline]] inline void Receives::take_short(Peer& peer, const Short& message) {
    const std::uint64_t bytes = message.bytes;
    const bool has_immediate = (message.control.flags & kImmediate) != 0;
    const std::uint64_t charge = kSlotCharge + bytes;
    if (PostedNode* const node = engine_.posted.take(message.envelope)) {
        Order& order = static_cast<Order&>(*node);
        ++engine_.counters.received_expected;
        peer.in.dispose(charge);
        if (message.send != 0) [[unlikely]] {
            engine_.outbox.tell(peer, Kind::taken, message.send);
        }
        const std::uint64_t received = std::min(bytes, order.bytes);
        copy(order.data, message.data, received);
        const Outcome outcome{received < bytes ? kTruncated : kSuccess,
                              has_immediate ? kSendImmediate : 0,
                              peer.id,
                              message.envelope.match,
                              message.immediate,
                              bytes,
                              received};
        return engine_.orders.finish(order, outcome);
    }
    Arrived& arrived = new_arrived(message.envelope, bytes);
    arrived.immediate = message.immediate;
    arrived.has_immediate = has_immediate;
    arrived.length = bytes;
    arrived.send = message.send;
    arrived.charge = static_cast<std::uint32_t>(charge);
    copy(arrived.data(), message.data, bytes);
    engine_.arrived.append(arrived);
}

bool Receives::on_send(Peer& peer, const gcs::Line& line) {
    const Control control = Control::of(line);
    Short message{control, {peer.id, control.space(), line.word[0]}, 0, control.bytes, 0, nullptr};
    unsigned word = 1;
    if ((control.flags & kImmediate) != 0) message.immediate = line.word[word++];
    if ((control.flags & kWantsTaken) != 0) {
        message.send = static_cast<std::uint32_t>(line.word[word++]);
    }
    const bool in_ring = (control.flags & kInRing) != 0;
    const bool in_pool = (control.flags & kInPool) != 0;
    gcs::Cells::Cell* cell = nullptr;
    if (!in_ring && !in_pool) [[likely]] {
        if (message.bytes > 8 * (7 - word)) return false;
        message.data = reinterpret_cast<const std::byte*>(line.word + word);
    } else {
        if (message.bytes > peer.credit.eager_bytes() + kHeaderMost) return false;
        const std::uint64_t place = in_pool ? line.word[word] : 0;
        if ((place & gcs::Cells::kIsCell) != 0) {
            cell = peer.find_cell(engine_.network, place, message.bytes,
                                  gcs::Cells::State::away);
            message.data = cell != nullptr ? cell->data : nullptr;
        } else {
            message.data = in_pool ? peer.pools.in.at(engine_.network, peer.id, peer.in.layout(),
                                                       place, message.bytes)
                                   : peer.in.ring(line, message.bytes);
        }
        if (message.data == nullptr) return false;
    }
    peer.row->bytes_received += message.bytes;
    if (control.space() == kActiveSpace) {
        const std::span<const std::byte> all(message.data, message.bytes);
        if (!active_.take(peer, message.envelope.match, all, message.send)) return false;
        peer.in.dispose(kSlotCharge + message.bytes);
    } else {
        take_short(peer, message);
    }
    if (cell != nullptr) {
        peer.pools.cells.arrived(*cell);
    } else if (in_pool) {
        engine_.return_pieces(peer, message.bytes);
    }
    return true;
}

/// The receive that the announcement was matched with.
void Receives::take_posted(Order& order, const Envelope& envelope, const gcs::Line& line) noexcept {
    const auto record = unpack<AnnounceRecord>(line);
    engine_.posted.remove(order);
    ++engine_.counters.received_expected;
    order.peer = envelope.source;
    order.match = record.match;
    order.immediate = record.immediate;
    order.has_immediate = (Control::of(line).flags & kImmediate) != 0;
    order.length = record.length;
}

/// Makes an Arrived for an announced message, with memory for `bytes` of it.
Arrived& Receives::new_announced(const Envelope& envelope, const gcs::Line& line,
                                 std::uint64_t bytes) {
    const auto record = unpack<AnnounceRecord>(line);
    Arrived& message = new_arrived(envelope, bytes);
    message.immediate = record.immediate;
    message.has_immediate = (Control::of(line).flags & kImmediate) != 0;
    message.length = record.length;
    message.address = record.address;
    message.send = record.send;
    return message;
}

bool Receives::on_announce(Peer& peer, const gcs::Line& line) {
    const Control control = Control::of(line);
    const auto record = unpack<AnnounceRecord>(line);
    const std::uint32_t space = control.space();
    if (control.bytes > kHeaderMost || record.send == 0) return false;
    if (space == kActiveSpace) {
        if ((control.flags & kInRing) == 0) return active_.take_announced(peer, record, {});
        const std::byte* const header = peer.in.ring(line, control.bytes);
        return header != nullptr && active_.take_announced(peer, record, {header, control.bytes});
    }
    const Envelope envelope{peer.id, space, record.match};
    if ((control.flags & kFollows) != 0) return take_push(peer, envelope, line);
    if (PostedNode* const node = engine_.posted.find(envelope)) {
        Order& order = static_cast<Order&>(*node);
        // The receive that the sender has matched must be the one that matches here.
        if (record.receive != 0 && (record.receive != order.handle || !order.offered)) {
            return false;
        }
        take_posted(order, envelope, line);
        if (record.receive != 0 || Rendezvous::has_crossed(order)) {
            rendezvous_.begin_offered_receive(order, record);
        } else {
            rendezvous_.begin_receive(order, peer, record.send, record.address);
        }
        return true;
    }
    if (record.receive != 0) return false;
    Arrived& message = new_announced(envelope, line, 0);
    message.announced = !is_word(space, message.has_immediate, record.length);
    if (!message.announced) {  // all of it is here
        engine_.outbox.tell(peer, Kind::taken, record.send);
        message.send = 0;
    }
    engine_.arrived.append(message);
    return true;
}

/// An announcement whose data comes next.
bool Receives::take_push(Peer& peer, const Envelope& envelope, const gcs::Line& line) {
    const auto record = unpack<AnnounceRecord>(line);
    if (!peer.data.is_there || record.receive != 0 || Control::of(line).bytes != 0 ||
        record.length == 0 || record.length > kPushMost) {
        return false;
    }
    data_.reserve();
    Order* const order = static_cast<Order*>(engine_.posted.find(envelope));
    const bool takes_all = order != nullptr && order->bytes >= record.length;
    Arrived* const message = takes_all ? nullptr : &new_announced(envelope, line, record.length);
    if (message != nullptr) {
        message->charge = static_cast<std::uint32_t>(kSlotCharge + record.length);
    }
    if (order == nullptr) {
        engine_.arrived.append(*message);
    } else {
        take_posted(*order, envelope, line);
        engine_.orders.release_claim(*order);  // of an offer that was not used
    }
    data_.begin(peer, record, order, message);
    return true;
}

bool Receives::on_unsend(Peer& peer, const gcs::Line& line) {
    const auto handle = static_cast<std::uint32_t>(unpack<HandleRecord>(line).handle);
    Arrived* found = nullptr;
    engine_.arrived.for_each([&](ArrivedNode& node) {
        Arrived& message = static_cast<Arrived&>(node);
        if (message.envelope.source == peer.id && message.send == handle && handle != 0) {
            found = &message;
        }
    });
    if (found == nullptr) return true;
    engine_.arrived.remove(*found);
    dispose(*found);
    engine_.outbox.tell(peer, Kind::unsent, handle);
    return true;
}

}  // namespace fci::mp
