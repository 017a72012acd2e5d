#include "fci_core/mp/streams.h"

#include <algorithm>
#include <cstring>

#include "fci_core/base/assert.h"
#include "fci_core/mp/transfer.h"
#include "fci_core/mp/wide_copy.h"

namespace fci::mp {

namespace {
constexpr unsigned kPiecesPerTurn = 64;
// From here on a request costs more than it brings when the receiver begins to copy early.
constexpr std::uint64_t kLong = 512 * 1024;
constexpr std::uint64_t kPiecesLong = gcs::Layout::kPiecesOfRequest * gcs::Layout::kPieceBytes;
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
    order.piece_bytes = std::min(order.piece_bytes, piece_bytes(peer));
    Orders::link(order, peer.streams);
    engine_.work.set_busy();
}

void Streams::push(Peer& peer) {
    peer.streams.for_each([&](Order& order) { push(peer, order); });
}

void Streams::push(Peer& peer, Order& order) {
    for (unsigned n = 0; n < kPiecesPerTurn && order.moved < order.wanted; ++n) {
        const std::uint64_t bytes = peer.out.slot_free() ? next_piece(peer, order) : 0;
        if (bytes == 0) return;
        order.moved += bytes;
        engine_.counters.ring_bytes += bytes;
    }
    FCI_ASSERT(order.moved <= order.wanted);
    if (order.moved == order.wanted) engine_.orders.finish_later(order, kSuccess);
}

/// The bytes that went out; 0: there is no room.
std::uint64_t Streams::next_piece(Peer& peer, const Order& order) {
    if (!engine_.pool.serves(peer.pieces_out)) return piece_in_ring(peer, order);
    if (!engine_.pool.may_give(peer.pieces_out, engine_.peers.active().size())) return 0;
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
    engine_.pool.give(peer.pieces_out, bytes);
    engine_.counters.pool_bytes += bytes;
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
    order.landing = is_warm || order.wanted < ColdLanding::kLeast
                        ? ColdLanding::Choice{Landing::wide, false}
                        : peer.cold_landing.choose();
    if (order.landing.is_timed) order.landing_began = engine_.device.now();
}

/// The next bytes of a message, out of the pool of its sender.
void Streams::land(Peer& peer, Order& order, const std::byte* data, std::uint64_t bytes) noexcept {
    if (order.moved == 0) choose_landing(peer, order);
    const auto [landing, is_timed] = order.landing;
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
        peer.cold_landing.learn(landing, order.wanted, engine_.device.now() - order.landing_began);
    }
}

bool Streams::on_piece(Peer& peer, const gcs::Line& line) {
    const auto record = unpack<PieceRecord>(line);
    const Control control = Control::of(line);
    const std::uint64_t bytes = control.bytes;
    const bool in_pool = (control.flags & kInPool) != 0;
    Order* const order = engine_.orders.find(record.receive, peer, false);
    if (order == nullptr || order->state != OrderState::moving || order->path != Path::ring ||
        bytes > order->wanted - order->moved || (!in_pool && bytes > piece_bytes(peer))) {
        return false;
    }
    const std::uint64_t seen_bytes = peer.pieces_in.seen_bytes();
    const std::byte* const data =
        in_pool
            ? peer.pieces_in.at(engine_.network, peer.id, peer.in.layout(), record.offset, bytes)
            : peer.in.ring(line, bytes);
    if (data == nullptr) return false;
    order->timing.paid_for_memory |= peer.pieces_in.seen_bytes() != seen_bytes;
    if (in_pool) {
        land(peer, *order, data, bytes);
    } else {
        std::memcpy(order->data + order->moved, data, bytes);
    }
    order->moved += bytes;
    engine_.counters.ring_bytes += bytes;
    if (in_pool) {
        engine_.counters.pool_bytes += bytes;
        engine_.return_pieces(peer, bytes);
    }
    if (order->moved == order->wanted) end_transfer(engine_, *order);
    return true;
}

}  // namespace fci::mp
