// SPDX-License-Identifier: BSD-3-Clause
#include "fci_core/mp/move/streams.h"

#include <algorithm>
#include <cstring>

#include "fci_core/base/assert.h"
#include "fci_core/mp/move/transfer.h"
#include "fci_core/mp/move/wide_copy.h"

namespace fci::mp {

namespace {
constexpr unsigned kPiecesPerTurn = 64;
// From here on a request costs more than it brings when the receiver begins to copy early.
constexpr std::uint64_t kLong = 512 * 1024;
constexpr std::uint64_t kPiecesLong = gcs::Layout::kPiecesOfRequest * gcs::Layout::kPieceBytes;
constexpr std::uint64_t kCellPiece = 16 * 1024;
constexpr std::uint64_t kRingPiece = 16 * 1024;
// Where each costs calls of two kernels, not a few stores; its length has 16 bits.
constexpr std::uint64_t kRingPieceFar = 60 * 1024;
}  // namespace

std::uint32_t Streams::piece_bytes(const Peer& peer) noexcept {
    const std::uint64_t most = peer.out.reachable() ? kRingPiece : kRingPieceFar;
    return static_cast<std::uint32_t>(std::min(most, peer.in.layout().ring_bytes / 8));
}

void Streams::begin(Peer& peer, Order& order) noexcept {
    FCI_ASSERT(order.state == OrderState::moving && order.is_send);
    if (order.path == Path::ring) {
        order.piece_bytes = std::min(order.piece_bytes, piece_bytes(peer));
        order.cell = engine_.cell_for(peer, order.wanted);
    }
    Orders::link(order, peer.streams);
    engine_.work.set_busy();
    if (order.path == Path::direct) push(peer);
}

void Streams::push(Peer& peer) {
    bool is_free = true;
    peer.streams.for_each([&](Order& order) {
        if (order.path == Path::ring) return push(peer, order);
        is_free = is_free && push_data(peer, order);
    });
}

void Streams::push(Peer& peer, Order& order) {
    for (unsigned n = 0; n < kPiecesPerTurn && order.moved < order.wanted; ++n) {
        const std::uint64_t bytes = peer.out.slot_free() ? next_piece(peer, order) : 0;
        if (bytes == 0) return;
        peer.note_other();
        order.moved += bytes;
        engine_.counters.ring_bytes += bytes;
    }
    FCI_ASSERT(order.moved <= order.wanted);
    if (order.moved != order.wanted) return;
    if (order.cell != nullptr) gcs::Cells::gone(*order.cell);
    engine_.orders.finish_later(order, kSuccess);
}

/// False: the network does not take the rest yet, nor anything after it.
bool Streams::push_data(Peer& peer, Order& order) {
    FCI_ASSERT(order.state == OrderState::moving && peer.data.is_there);
    while (order.moved < order.wanted) {
        const std::uint64_t bytes = std::min(nhi::Data::kMost, order.wanted - order.moved);
        const nhi::Data data{order.remote, order.moved, bytes};
        // The last part wakes a receiver that sleeps.
        const bool is_last = bytes == order.wanted - order.moved;
        const Status status = engine_.network.data()->send(
            peer.id, data, order.data + order.moved, is_last ? 1u << gcs::kWakeEvent : 0);
        if (status != Status::ok) return false;
        order.moved += bytes;
        engine_.counters.direct_bytes += bytes;
    }
    if (!engine_.network.data()->has_taken(peer.id)) return false;
    engine_.orders.finish_later(order, kSuccess);
    return true;
}

/// The bytes that went out; 0: there is no room.
std::uint64_t Streams::next_piece(Peer& peer, const Order& order) {
    if (order.cell != nullptr) return piece_in_cell(peer, order);
    if (!engine_.pool.serves(peer.pools.out)) return piece_in_ring(peer, order);
    if (!engine_.pool.may_give(peer.pools.out, engine_.peers.active().size())) return 0;
    const std::uint64_t wanted =
        std::min(order.wanted < kLong ? gcs::Layout::kPieceBytes : kPiecesLong,
                 order.wanted - order.moved);
    const gcs::PiecePool::Piece piece = engine_.pool.next(engine_.network, wanted);
    // Where others hold all of the pool, they may do so for long.
    return piece.data != nullptr ? piece_in_pool(peer, order, piece) : piece_in_ring(peer, order);
}

std::uint64_t Streams::piece_in_pool(Peer& peer, const Order& order,
                                     const gcs::PiecePool::Piece& piece) {
    const std::uint64_t bytes = piece.bytes;
    std::memcpy(piece.data, order.data + order.moved, bytes);
    gcs::Line& line = peer.out.prepare();
    line.word[0] = order.peer_handle;
    line.word[1] = piece.offset;
    const Control control{Kind::piece, kInPool, static_cast<std::uint16_t>(bytes)};
    if (peer.out.put(engine_.network, control.word()) != Status::ok) return 0;
    engine_.pool.give(peer.pools.out, bytes);
    engine_.counters.pool_bytes += bytes;
    return bytes;
}

std::uint64_t Streams::piece_in_cell(Peer& peer, const Order& order) {
    const std::uint64_t bytes = std::min(kCellPiece, order.wanted - order.moved);
    copy_wide(order.cell->data + order.moved, order.data + order.moved, bytes);
    gcs::Line& line = peer.out.prepare();
    line.word[0] = order.peer_handle;
    line.word[1] = order.cell->name;
    const Control control{Kind::piece, kInPool, static_cast<std::uint16_t>(bytes)};
    if (peer.out.put(engine_.network, control.word()) != Status::ok) return 0;
    engine_.counters.cell_bytes += bytes;
    return bytes;
}

std::uint64_t Streams::piece_in_ring(Peer& peer, const Order& order) {
    const std::uint64_t bytes =
        std::min<std::uint64_t>(order.piece_bytes, order.wanted - order.moved);
    if (!peer.out.ring_free(engine_.network, bytes)) return 0;
    peer.out.prepare().word[0] = order.peer_handle;
    const Control control{Kind::piece, kInRing, static_cast<std::uint16_t>(bytes)};
    const gcs::LineWriter::Part part{order.data + order.moved, bytes};
    const Status status = peer.out.put(engine_.network, control.word(), {&part, 1}, bytes);
    return status == Status::ok ? bytes : 0;
}

void Streams::choose_landing(Peer& peer, Order& order) noexcept {
    const bool is_warm = warm_.take(order.data, order.wanted) || order.extras != nullptr;
    order.landing.choice = is_warm || order.wanted < ColdLanding::kLeast
                               ? ColdLanding::Choice{Landing::wide, false}
                               : peer.pools.landing.choose();
    if (order.landing.choice.is_timed) order.landing.began = engine_.device.now();
}

/// The next bytes of a message, out of the pool of its sender.
void Streams::land(Peer& peer, Order& order, const std::byte* data, std::uint64_t bytes) noexcept {
    if (order.moved == 0) choose_landing(peer, order);
    const auto [landing, is_timed] = order.landing.choice;
    std::byte* const to = order.data + order.moved;
    switch (landing) {
        case Landing::wide: copy_wide(to, data, bytes); break;
        case Landing::library: std::memcpy(to, data, bytes); break;
        case Landing::past_cache:
            copy_past_cache(to, data, bytes);
            engine_.counters.past_cache_bytes += bytes;
            break;
    }
    if (is_timed && order.moved + bytes == order.wanted) {
        peer.pools.landing.learn(landing, order.wanted, engine_.device.now() - order.landing.began);
    }
}

/// Where the data of a piece is; nullptr: nowhere. The first piece decides whether the message
/// comes through a cell.
const std::byte* Streams::find_piece(Peer& peer, Order& order, const gcs::Line& line) {
    const Control control = Control::of(line);
    const auto record = unpack<PieceRecord>(line);
    const bool in_pool = (control.flags & kInPool) != 0;
    if (in_pool && (record.offset & gcs::Cells::kIsCell) != 0) {
        using State = gcs::Cells::State;
        const bool is_first = order.moved == 0;
        gcs::Cells::Cell* const cell = peer.find_cell(engine_.network, record.offset, order.wanted,
                                                      is_first ? State::away : State::coming);
        if (cell == nullptr || (!is_first && cell != order.cell)) return nullptr;
        if (is_first) gcs::Cells::coming(*cell);
        order.cell = cell;
        return cell->data + order.moved;
    }
    if (order.cell != nullptr) return nullptr;
    if (!in_pool) {
        return control.bytes <= piece_bytes(peer) ? peer.in.ring(line, control.bytes) : nullptr;
    }
    const std::uint64_t seen_bytes = peer.pools.in.seen_bytes();
    const std::byte* const data = peer.pools.in.at(engine_.network, peer.id, peer.in.layout(),
                                                    record.offset, control.bytes);
    order.timing.paid_for_memory |= peer.pools.in.seen_bytes() != seen_bytes;
    return data;
}

bool Streams::on_piece(Peer& peer, const gcs::Line& line) {
    const auto record = unpack<PieceRecord>(line);
    const std::uint64_t bytes = Control::of(line).bytes;
    Order* const order = engine_.orders.find(record.receive, peer, false);
    if (order == nullptr || order->state != OrderState::moving || order->path != Path::ring ||
        bytes > order->wanted - order->moved) {
        return false;
    }
    const std::byte* const data = find_piece(peer, *order, line);
    if (data == nullptr) return false;
    const bool in_pool = (Control::of(line).flags & kInPool) != 0;
    if (in_pool && order->cell == nullptr) {
        land(peer, *order, data, bytes);
        engine_.counters.pool_bytes += bytes;
        engine_.return_pieces(peer, bytes);
    } else {
        copy_wide(order->data + order->moved, data, bytes);
    }
    FCI_ASSERT(order->cell == nullptr || in_pool);
    order->moved += bytes;
    engine_.counters.ring_bytes += bytes;
    if (order->moved == order->wanted) {
        if (order->cell != nullptr) peer.pools.cells.arrived(*order->cell);
        end_transfer(engine_, *order);
    }
    return true;
}

}  // namespace fci::mp
