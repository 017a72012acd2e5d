// SPDX-License-Identifier: BSD-3-Clause
// The ways of short messages, written for the processor: no order for a send, no search, nothing
// allocated. Each may refuse, and has done nothing then; else its effect is that of the general
// engine, against which they are tested (test/unit/mp/differential_test.cc).
#pragma once

#include <cstddef>
#include <cstdint>

#include "fci_core/mp/copy.h"
#include "fci_core/mp/engine.h"

namespace fci::mp::fast {

/// A message in its line. False: Sends looks for room.
[[gnu::always_inline]] inline bool send_line(Engine& engine, nhi::PeerId id, std::uint32_t space,
                                             std::uint32_t flags, std::uint64_t match,
                                             std::uint64_t immediate, const void* data,
                                             std::uint64_t bytes) noexcept {
    if (id >= engine.peers.size()) [[unlikely]] return false;
    Peer& to = engine.peers[id];
    const std::uint32_t before = (flags & kSendImmediate) * 8;
    const std::uint64_t charge = kSlotCharge + bytes;
    if (!to.fast_path || before + bytes > kInlineBytes + 8 || (flags & kSendSynchronous) != 0 ||
        !to.credit.has(charge) || !to.out.slot_known()) [[unlikely]] {
        return false;
    }
    // A local copy: for all the compiler knows, the data is written over `to`, which it would then
    // read again.
    const gcs::LineWriter::Slot slot = to.out.slot();
    slot.line->word[0] = match;
    slot.line->word[1] = immediate;
    copy_short(reinterpret_cast<std::byte*>(slot.line->word + 1) + before,
               static_cast<const std::byte*>(data), bytes);
    to.credit.take(charge);
    to.row->bytes_sent += bytes;
    if (to.takes_notes) [[unlikely]] to.note(slot.number, match, space, false);
    engine.begin();
    ++engine.counters.sent_inline;
    to.out.send(engine.network, slot, line_control(space, before, bytes));
    return true;
}

/// A message in a cell or in the ring, and a line that says where. send_line() was tried first; a
/// message to the process itself is copied once (self_copies.h).
inline bool send_eager(Engine& engine, nhi::PeerId id, std::uint32_t space, std::uint32_t flags,
                       std::uint64_t match, std::uint64_t immediate, const void* data,
                       std::uint64_t bytes) noexcept {
    if (id >= engine.peers.size() || id == nhi::kSelf) return false;
    Peer& to = engine.peers[id];
    const std::uint32_t before = (flags & kSendImmediate) * 8;
    if (!to.fast_path || before + bytes <= kInlineBytes + 8 || bytes > to.credit.eager_bytes() ||
        (flags & kSendSynchronous) != 0 || !to.has_unexpected_credit(kSlotCharge + bytes) ||
        !to.out.slot_free()) {
        return false;
    }
    const gcs::LineWriter::Slot slot = to.out.slot();
    std::uint32_t place = kInPool;
    if (gcs::Cells::Cell* const cell = to.pools.cells.take(bytes)) [[likely]] {
        mp::copy(cell->data, static_cast<const std::byte*>(data), bytes);
        slot.line->word[1 + before / 8] = cell->name;
        gcs::Cells::gone(*cell);
        to.in.expect(cell->data, bytes);  // the answer may come in the same cell
        engine.counters.cell_bytes += bytes;
    } else if (!to.is_worth_a_cell(bytes, engine.limits) &&
               to.out.ring_free(engine.network, bytes)) {
        to.out.write_ring(data, bytes);
        place = kInRing;
    } else {
        return false;
    }
    slot.line->word[0] = match;
    if (before != 0) slot.line->word[1] = immediate;
    to.credit.take(kSlotCharge + bytes);
    to.row->bytes_sent += bytes;
    if (to.takes_notes) [[unlikely]] to.note(slot.number, match, space, false);
    engine.begin();
    ++engine.counters.sent_eager;
    to.out.send(engine.network, slot, line_control(space, before, bytes) | place << 8);
    return true;
}

/// A message to a peer that is reached by transfers only: in its line, or in the ring and a line.
inline bool send_far(Engine& engine, nhi::PeerId id, std::uint32_t space, std::uint32_t flags,
                     std::uint64_t match, std::uint64_t immediate, const void* data,
                     std::uint64_t bytes) noexcept {
    if (id >= engine.peers.size()) return false;
    Peer& to = engine.peers[id];
    const std::uint32_t before = (flags & kSendImmediate) * 8;
    const bool in_line = before + bytes <= kInlineBytes + 8;
    const std::uint64_t charge = kSlotCharge + bytes;
    if (to.out.reachable() || !to.sends_at_once() || (flags & kSendSynchronous) != 0 ||
        bytes > kPushLeast || bytes > to.credit.eager_bytes() ||
        !to.has_unexpected_credit(charge) || !to.out.slot_free() ||
        (!in_line && !to.out.ring_free(engine.network, bytes))) {
        return false;
    }
    gcs::Line& line = to.out.prepare();
    line.word[0] = match;
    line.word[1] = immediate;
    const auto waits_for = (flags & kSendLingering) != 0 ? gcs::LineWriter::WaitsFor::anything
                                                         : gcs::LineWriter::WaitsFor::nothing;
    Status status = Status::ok;
    if (in_line) {
        copy_short(reinterpret_cast<std::byte*>(line.word + 1) + before,
                   static_cast<const std::byte*>(data), bytes);
        status = to.out.put(engine.network, line_control(space, before, bytes), waits_for);
    } else {
        const gcs::LineWriter::Part all{data, bytes};
        status = to.out.put(engine.network, line_control(space, before, bytes) | kInRing << 8,
                            {&all, 1}, bytes, waits_for);
    }
    if (status != Status::ok) return false;
    to.credit.take(charge);
    to.row->bytes_sent += bytes;
    if (to.takes_notes) [[unlikely]] to.note(to.out.sent(), match, space, false);
    engine.begin();
    ++(in_line ? engine.counters.sent_inline : engine.counters.sent_eager);
    return true;
}

/// A receive into one range that is not offered, where no message waits for it
/// (ArrivedList::known_absent()). Its handle, or 0.
[[gnu::always_inline]] inline std::uint32_t post(Engine& engine, const Pattern& pattern, void* data,
                                                 std::uint64_t bytes,
                                                 const Completion& completion) noexcept {
    if (bytes >= engine.limits.offer_bytes || completion.done == nullptr) [[unlikely]] return 0;
    if (pattern.source != kAnySource) {
        if (!engine.peers.find(pattern.source).present) [[unlikely]] return 0;
    } else if (engine.untold != kAnySource) [[unlikely]] {
        return 0;
    }
    Order* const order = engine.orders.take_free();
    if (order == nullptr) [[unlikely]] return 0;
    order->reset(false, OrderState::posted, completion);
    order->set_range(data, bytes);
    order->pattern.assign(pattern);
    order->offer_stands = false;
    engine.posted.append(*order);
    return order->handle;
}

/// A whole message in the ring, of which the line says where, into memory that has room. False: it
/// cannot be there, and nothing happened.
inline bool copy_from_ring(Peer& peer, const gcs::Line& line, std::uint64_t bytes,
                           std::byte* to) noexcept {
    if (bytes > peer.credit.eager_bytes()) [[unlikely]] return false;
    const std::byte* const from = peer.in.ring(line, bytes);
    if (from == nullptr) [[unlikely]] return false;
    mp::copy(to, from, bytes);
    return true;
}

/// A whole message in the cell of this name. False also if this side does not know the cell yet.
inline bool copy_from_cell(Peer& peer, std::uint64_t name, std::uint64_t bytes,
                           std::byte* to) noexcept {
    gcs::Cells::Cell* const cell = peer.pools.cells.find(name, bytes, gcs::Cells::State::away);
    if (cell == nullptr || bytes > peer.credit.eager_bytes()) [[unlikely]] return false;
    mp::copy(to, cell->data, bytes);
    peer.pools.cells.arrived(*cell);
    return true;
}

/// Looks for some microseconds at where the next message of the peer that sent last will be. False:
/// it has not come, or something else is due.
[[gnu::always_inline]] inline bool comes_in_a_moment(Engine& engine,
                                                     const Engine::Arrival& first) noexcept {
    constexpr unsigned kLooks = 4096, kLooksAlone = 256;
    for (unsigned looks = kLooks; looks != 0; --looks) {
        if (first.peer.in.is_next(first.line)) return true;
        first.peer.in.look_ahead();
        // Where a peer is reached by transfers nothing comes without a turn.
        if (looks % kLooksAlone == 1 && (!first.peer.out.reachable() || engine.is_more_due())) {
            return false;
        }
    }
    return false;
}

/// The data of a message without an immediate word that is not in its line.
[[gnu::noinline]] inline bool copy_placed(Peer& peer, const gcs::Line& line, std::uint32_t place,
                                          std::uint64_t bytes, std::byte* to) noexcept {
    if (place == kInRing) return copy_from_ring(peer, line, bytes, to);
    return place == kInPool && copy_from_cell(peer, flag::load_relaxed(line.word[1]), bytes, to);
}

/// A blocking receive takes a whole message that is here, while nothing else waits or is due. No
/// order, no callback.
[[gnu::always_inline]] inline bool take_awaited(Engine& engine, const Engine::Arrival& first,
                                                const Pattern& pattern, void* data,
                                                std::uint64_t bytes, Outcome* outcome) noexcept {
    const std::uint64_t match = flag::load_relaxed(first.line.word[0]);
    const std::uint64_t length = flag::load_part_acquire<std::uint16_t>(first.line.control, 1);
    const std::uint32_t kind = kind_of(first.line), place = kind >> 8 & (kInRing | kInPool);
    if (!pattern.fits(first.peer.id, plain_space(kind, place), match) || length > bytes ||
        !engine.posted.empty() || !engine.arrived.empty() || engine.is_more_due()) {
        return false;
    }
    auto* const to = static_cast<std::byte*>(data);
    if (place == 0) [[likely]] {
        if (length > kInlineBytes + 8) return false;
        copy_short(to, reinterpret_cast<const std::byte*>(first.line.word + 1), length);
    } else if (!copy_placed(first.peer, first.line, place, length, to)) {
        return false;
    }
    *outcome = {kSuccess, 0, first.peer.id, match, 0, length, length};
    first.peer.row->bytes_received += length;
    if (first.peer.in.advance_disposing(length)) [[unlikely]] {
        engine.return_credit_if_due(first.peer);
    }
    ++engine.counters.received_expected;
    return true;
}

/// A whole message of these flags for a receive that is found at once. Each word of the line is
/// read once, so the peer cannot change it between a look and a use.
template <std::uint32_t kFlags>
[[gnu::always_inline]] inline bool take_message(Engine& engine, Peer& peer, const gcs::Line& line,
                                                std::uint32_t kind) {
    constexpr bool in_ring = (kFlags & kInRing) != 0, in_pool = (kFlags & kInPool) != 0;
    constexpr bool has_immediate = (kFlags & kImmediate) != 0;
    const std::uint64_t bytes = flag::load_part_acquire<std::uint16_t>(line.control, 1);
    // Each field is set as it becomes known, so that few registers are needed.
    Outcome outcome;
    outcome.match = flag::load_relaxed(line.word[0]);
    PostedNode* const node =
        engine.posted.find_head(peer.id, plain_space(kind, kFlags), outcome.match);
    if (node == nullptr) [[unlikely]] return false;
    Order& order = static_cast<Order&>(*node);
    if (static_cast<std::int64_t>(bytes) > order.direct_bytes) [[unlikely]] return false;
    outcome.error = kSuccess;
    outcome.flags = has_immediate ? kSendImmediate : 0;
    outcome.source = peer.id;
    outcome.immediate = has_immediate ? flag::load_relaxed(line.word[1]) : 0;
    outcome.length = outcome.received = bytes;
    const auto* const from = reinterpret_cast<const std::byte*>(line.word + 1 + has_immediate);
    if (in_pool) {
        const std::uint64_t name = flag::load_relaxed(line.word[1 + has_immediate]);
        if (!copy_from_cell(peer, name, bytes, order.data)) [[unlikely]] return false;
    } else if (in_ring) {
        if (!copy_from_ring(peer, line, bytes, order.data)) [[unlikely]] return false;
    } else if (is_word_or_two(bytes)) [[likely]] {  // shorter than any limit
        copy_word_or_two(order.data, from, bytes);
    } else {
        if (bytes > kInlineBytes + 8 - 8 * has_immediate) [[unlikely]] return false;
        copy_short(order.data, from, bytes);
    }
    static_assert(kSlotCharge + kInlineBytes + 8 <= gcs::LineReader::kDisposedByLineMost);
    static_assert(kSlotCharge == gcs::kLineBytes);
    peer.row->bytes_received += bytes;
    if (peer.in.advance_disposing(bytes)) [[unlikely]] engine.return_credit_if_due(peer);
    ++engine.counters.received_expected;
    engine.posted.remove(order);
    engine.orders.give_back_plain(order);  // which leaves it as it is
    order.completion.done(order.completion.user, order.completion.owner, &outcome);
    return true;
}

}  // namespace fci::mp::fast
