// Long messages: asked for once their receive is known, then moved by the path that is cheapest for
// this peer and length (figs. 2.20, 2.40).
//
//   ring    receiver: request  ->  sender: piece, piece, ...  (each in its pool, or in the ring)
//   pull    receiver copies    ->  receiver: taken
//   shared  receiver: request, both copy from their end; who finished says sent / taken
#include <algorithm>
#include <bit>

#include "fci_core/mp/claims.h"
#include "fci_core/mp/message_passing.h"

namespace fci::mp {

namespace {
constexpr unsigned kPiecesPerTurn = 64;
constexpr std::uint64_t kCopyPieceLeast = 32 * 1024;
// Each call of the kernel takes as long as 16 KiB more would, so there are smaller ones only where
// two processes could not share otherwise.
constexpr std::uint64_t kCopyPieceUsual = 64 * 1024;
constexpr std::uint64_t kCopyPieceMost = 256 * 1024;
constexpr std::uint64_t kPullPieceMost = 1 << 20;
constexpr std::uint64_t kRingPiece = 16 * 1024;
}  // namespace

std::uint32_t MessagePassing::ring_piece(const Peer& peer) noexcept {
    return static_cast<std::uint32_t>(std::min(kRingPiece, peer.in.layout().ring_bytes / 8));
}

std::uint32_t MessagePassing::shared_piece(std::uint64_t bytes) const noexcept {
    const std::uint64_t least = bytes > kCopyPieceUsual ? kCopyPieceUsual : kCopyPieceLeast;
    std::uint64_t piece = std::clamp(std::bit_ceil(bytes / 16 + 1), least, kCopyPieceMost);
    while (bytes / piece >= ClaimWord::kPiecesMost) piece *= 2;
    return static_cast<std::uint32_t>(std::min<std::uint64_t>(piece, 1u << 31));
}

/// Who copies alone does so at once, but for looking round now and then.
std::uint32_t MessagePassing::pulled_piece(std::uint64_t bytes) const noexcept {
    return static_cast<std::uint32_t>(std::min(bytes, kPullPieceMost));
}

/// The kernel lets this process reach the peer's memory. Asked once.
bool MessagePassing::may_copy(Peer& peer) {
    if (!peer.copy_checked) {
        peer.copy_checked = true;
        peer.copy_allowed = network_.copy(peer.rank, nhi::NetworkInterface::Direction::read, 0,
                                          nullptr, 0) == Status::ok;
        if (!peer.copy_allowed) peer.path.set_policy(CopyPath::Policy::ring);
    }
    return peer.copy_allowed;
}

/// For `bytes`, from `peer`. Where no claim word is free, the receiver copies alone.
void MessagePassing::choose_path(Order& order, Peer& peer, std::uint64_t bytes) {
    order.chosen = may_copy(peer) ? peer.path.choose(bytes, bytes > kCopyPieceLeast) : Path::ring;
    order.chosen_for = bytes;
    order.path = order.chosen;
    if (order.path == Path::shared && !hold_claim(order, peer)) order.path = Path::pull;
    order.piece_bytes = order.path == Path::ring     ? ring_piece(peer)
                        : order.path == Path::shared ? shared_piece(bytes)
                                                     : pulled_piece(bytes);
}

void MessagePassing::begin_transfer(Order& order, Peer& peer) {
    order.transfer = peer.path.begin(order.chosen);
    order.started = device_.now();
}

/// The receive was matched with an announced message; order.length and its envelope are set.
void MessagePassing::begin_long(Order& order, Peer& peer, std::uint32_t send,
                                std::uint64_t address) {
    release_claim(order);  // of an offer that was not used
    order.peer = peer.rank;
    order.peer_handle = send;
    order.remote = address;
    order.begin_moving();
    order.wanted = std::min(order.length, order.bytes);
    if (order.wanted < order.length) order.error = kTruncated;
    if (peer.lost) return finish_later(order, peer.failure);
    if (order.wanted == 0) {
        tell(peer, Kind::taken, send);
        return receive_done(order);
    }
    choose_path(order, peer, order.wanted);
    begin_transfer(order, peer);
    if (order.path != Path::pull) ask(order, peer);
    if (order.path != Path::ring) join_copy(order);
}

/// The sender matched the message with this receive's offer and has begun already.
void MessagePassing::begin_one_sided(Order& order, const AnnounceRecord& record) {
    order.peer_handle = record.send;
    order.remote = record.address;
    order.begin_moving();
    order.wanted = std::min(order.length, order.bytes);
    if (order.wanted < order.length) order.error = kTruncated;
    if (order.wanted == 0) return receive_done(order);
    begin_transfer(order, *peers_[order.peer]);
    if (order.path != Path::ring) join_copy(order);
}

void MessagePassing::ask(Order& order, Peer& peer) {
    const std::uint16_t claim =
        order.path == Path::shared
            ? ClaimWord::name(static_cast<unsigned>(order.claim_index), order.claims_generation)
            : 0;
    const RequestRecord record{order.peer_handle,
                               order.handle,
                               reinterpret_cast<std::uint64_t>(order.data),
                               order.wanted,
                               order.piece_bytes,
                               claim,
                               static_cast<std::uint8_t>(order.path),
                               0};
    put_control(peer, pack(Control{Kind::request, 0, 0}, record));
}

void MessagePassing::on_request(Peer& peer, const gcs::Line& line) {
    const auto record = unpack<RequestRecord>(line);
    Order* const order = find(record.send, peer, true);
    if (order == nullptr || order->state != OrderState::announced ||
        record.bytes > order->length || record.bytes == 0 || !names_a_way(record)) {
        return bad_request(peer);
    }
    order->begin_moving();
    order->peer_handle = record.receive;
    order->wanted = record.bytes;
    order->remote = record.address;
    order->piece_bytes = record.piece_bytes;
    order->path = static_cast<Path>(record.path);
    start_sending(*order, peer, record.claim);
}

/// order.wanted bytes may go now: to the ring, or with the receiver's help by kernel copy.
void MessagePassing::start_sending(Order& order, Peer& peer, std::uint16_t claim) {
    if (order.path == Path::ring) {
        order.piece_bytes = std::min(order.piece_bytes, ring_piece(peer));
        peer.streams.push_back(order);
        order.in_list = true;
        set_busy();
        return;
    }
    order.claims = reinterpret_cast<std::uint64_t*>(network_.map(
        peer.rank, peer.in.layout().claim(ClaimWord::index_of(claim)), sizeof(std::uint64_t)));
    order.claims_generation = ClaimWord::generation_of(claim);
    // Where this side may not copy, the receiver does it alone and says `taken`.
    if (order.claims != nullptr && may_copy(peer)) join_copy(order);
}

/// As many pieces as there is room for. True when the message is through.
bool MessagePassing::stream(Peer& peer, Order& order) {
    for (unsigned n = 0; n < kPiecesPerTurn && order.moved < order.wanted; ++n) {
        if (!peer.out.slot_free()) return false;
        std::uint64_t bytes = 0;
        if (!pool_.serves(peer.pieces_out)) {
            bytes = piece_in_ring(peer, order);
        } else if (pool_.may_give(peer.pieces_out, active_.size())) {
            const gcs::PiecePool::Piece piece = pool_.next(network_);
            // Where others hold all of it, they may do so for long.
            bytes = piece.data != nullptr ? piece_in_pool(peer, order, piece)
                                          : piece_in_ring(peer, order);
        }
        if (bytes == 0) return false;
        order.moved += bytes;
        counters_.ring_bytes += bytes;
    }
    if (order.moved < order.wanted) return false;
    finish_later(order, kSuccess);
    return true;
}

/// The bytes that went out; 0: there is no room.
std::uint64_t MessagePassing::piece_in_pool(Peer& peer, const Order& order,
                                            const gcs::PiecePool::Piece& piece) {
    const std::uint64_t bytes = std::min(gcs::Layout::kPieceBytes, order.wanted - order.moved);
    std::memcpy(piece.data, order.data + order.moved, bytes);
    gcs::Line& line = peer.out.prepare();
    line.word[0] = order.peer_handle;
    line.word[1] = piece.offset;
    const Control control{Kind::piece, kInPool, static_cast<std::uint16_t>(bytes)};
    if (peer.out.put(network_, control.word()) != Status::ok) return 0;
    pool_.give(peer.pieces_out);
    counters_.pool_bytes += bytes;
    return bytes;
}

/// Likewise.
std::uint64_t MessagePassing::piece_in_ring(Peer& peer, const Order& order) {
    const std::uint64_t bytes =
        std::min<std::uint64_t>(order.piece_bytes, order.wanted - order.moved);
    if (!peer.out.ring_free(network_, bytes)) return 0;
    peer.out.prepare().word[0] = order.peer_handle;
    const Control control{Kind::piece, kInRing, static_cast<std::uint16_t>(bytes)};
    const gcs::LineWriter::Part part{order.data + order.moved, bytes};
    return peer.out.put(network_, control.word(), {&part, 1}, bytes) == Status::ok ? bytes : 0;
}

void MessagePassing::on_piece(Peer& peer, const gcs::Line& line) {
    const auto record = unpack<PieceRecord>(line);
    const std::uint64_t bytes = Control::of(line).bytes;
    const bool in_pool = (Control::of(line).flags & kInPool) != 0;
    Order* const order = find(static_cast<std::uint32_t>(record.receive), peer, false);
    if (order == nullptr || order->state != OrderState::moving || order->path != Path::ring ||
        bytes > order->wanted - order->moved || (!in_pool && bytes > ring_piece(peer))) {
        return bad_request(peer);
    }
    const std::byte* const data =
        in_pool ? peer.pieces_in.at(network_, peer.rank, peer.in.layout(), record.offset, bytes)
                : peer.in.ring(line, bytes);
    if (data == nullptr) return bad_request(peer);
    std::memcpy(order->data + order->moved, data, bytes);
    order->moved += bytes;
    counters_.ring_bytes += bytes;
    if (in_pool) {
        counters_.pool_bytes += bytes;
        give_back_piece(peer);
    }
    if (order->moved == order->wanted) receive_done(*order);
}

void MessagePassing::give_back_piece(Peer& peer) {
    peer.pieces_in.give_back(peer.in.layout());
    if (peer.pieces_in.owes()) set_busy();
}

// --- kernel copy ---

bool MessagePassing::hold_claim(Order& order, Peer& peer) {
    if (!peer.mapped) return false;
    const auto index = static_cast<unsigned>(std::countr_one(peer.claims_used));
    if (index >= gcs::Layout::kClaims) return false;
    auto* const word = reinterpret_cast<std::uint64_t*>(
        device_.block(peer.rank).data() +
        static_cast<std::uint64_t>(peer.in.layout().claim(index)));
    peer.claims_used |= std::uint64_t{1} << index;
    order.claim_index = static_cast<std::int8_t>(index);
    order.claims = word;
    order.claims_generation = ClaimWord::renew(*word);
    return true;
}

void MessagePassing::release_claim(Order& order) {
    if (order.claim_index < 0) return;
    ClaimWord::renew(*order.claims);  // whoever still comes with the old name finds nothing
    peers_[order.peer]->claims_used &= ~(std::uint64_t{1} << order.claim_index);
    order.claim_index = -1;
    order.claims = nullptr;
}

void MessagePassing::join_copy(Order& order) {
    if (order.path == Path::pull) {
        order.claims = &order.own_claims;
        order.claims_generation = 0;
    }
    copies_.push_back(order);
    order.in_list = true;
    set_busy();
}

/// One piece of one kernel copy.
bool MessagePassing::copy_piece(Order& order) {
    Peer& peer = *peers_[order.peer];
    if (!lines_.try_reserve()) {  // for what is told when it ends
        set_starved();
        return false;
    }
    const std::uint64_t pieces = order.pieces();
    const std::uint64_t piece =
        ClaimWord::take(*order.claims, order.claims_generation, pieces, order.is_send);
    if (piece == ClaimWord::kNone) {
        own_share_done(order, peer);
        return true;
    }
    const std::uint64_t offset = piece * order.piece_bytes;
    const std::uint64_t bytes = std::min<std::uint64_t>(order.piece_bytes, order.wanted - offset);
    const Status status =
        network_.copy(peer.rank,
                      order.is_send ? nhi::NetworkInterface::Direction::write
                                    : nhi::NetworkInterface::Direction::read,
                      order.remote + offset, order.data + offset, bytes);
    if (status != Status::ok) {
        copy_failed(order, peer, status);
        return true;
    }
    ++order.own_pieces;
    counters_.kernel_bytes += bytes;
    if (order.own_pieces == pieces) own_share_done(order, peer);
    return true;
}

/// Everything is claimed. The other side may still be copying what it claimed.
void MessagePassing::own_share_done(Order& order, Peer& peer) {
    unlink(order);
    order.own_share_done = true;
    const bool all_mine = order.own_pieces == order.pieces();
    if (order.is_send) {
        if (order.own_pieces != 0) {
            tell(peer, Kind::sent, order.peer_handle, all_mine ? kAll : 0);
        }
        if (all_mine || order.peer_share_done) finish_later(order, kSuccess);
        return;
    }
    if (order.own_pieces != 0 || !order.peer_share_done) {
        tell(peer, Kind::taken, order.peer_handle);
    }
    if (all_mine || order.peer_share_done) receive_done(order);
}

/// The user's buffer cannot be reached, here or there; or the peer is just leaving.
void MessagePassing::copy_failed(Order& order, Peer& peer, Status status) {
    if (order.is_send) {
        tell(peer, Kind::sent, order.peer_handle, kFailed);
    } else {
        tell(peer, Kind::taken, order.peer_handle, kFailed);
    }
    if (status == Status::lost && reasons_[peer.rank].empty()) {
        // This order ends before the device notices and says more.
        explain(peer, " has closed, died or become another program (exec): its memory is not to be "
                      "reached any more");
    }
    finish_later(order, status == Status::lost ? kPeerLost : kFault);
}

/// The sender has copied its share.
void MessagePassing::on_sent(Peer& peer, const gcs::Line& line) {
    Order* const order =
        find(static_cast<std::uint32_t>(unpack<HandleRecord>(line).handle), peer, false);
    const std::uint8_t flags = Control::of(line).flags;
    if (order == nullptr) return;  // it failed here, and the sender was told
    if (order->state != OrderState::moving || order->path != Path::shared) return bad_request(peer);
    if ((flags & kFailed) != 0) return finish_later(*order, kFault);
    order->peer_share_done = true;
    if ((flags & kAll) != 0) {
        receive_done(*order);
    } else if (order->own_share_done) {
        receive_done(*order);
    }
}

/// The receiver needs nothing of this send any more.
void MessagePassing::on_taken(Peer& peer, const gcs::Line& line) {
    Order* const order =
        find(static_cast<std::uint32_t>(unpack<HandleRecord>(line).handle), peer, true);
    if (order == nullptr) return;  // it failed here, or ended as `all mine`
    if ((Control::of(line).flags & kFailed) != 0) return finish_later(*order, kFault);
    if (order->state == OrderState::announced) return finish_later(*order, kSuccess);
    if (order->state != OrderState::moving || order->path != Path::shared) return bad_request(peer);
    order->peer_share_done = true;
    // All pieces are claimed, and what this side claims it copies at once: its share is done, too.
    // It must not wait for the next turn to see that: the receiver may be leaving.
    if (order->in_list) return own_share_done(*order, peer);
    finish_later(*order, kSuccess);
}

void MessagePassing::receive_done(Order& order) {
    Peer& peer = *peers_[order.peer];
    if (order.started != 0 && order.error == kSuccess) {
        peer.path.end(order.chosen, order.chosen_for, order.wanted, order.transfer, order.started,
                      device_.now());
    }
    finish_later(order, order.error);
}

}  // namespace fci::mp
