// SPDX-License-Identifier: BSD-3-Clause
#include "fci_core/mp/move/shared_copies.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "fci_core/base/assert.h"
#include "fci_core/mp/move/claims.h"
#include "fci_core/mp/move/transfer.h"

namespace fci::mp {

namespace {

constexpr std::uint64_t kCopyPieceLeast = 32 * 1024;
// Each call of the kernel takes as long as 16 KiB more would, so there are smaller ones only where
// two processes could not share otherwise.
constexpr std::uint64_t kCopyPieceUsual = 64 * 1024;
constexpr std::uint64_t kCopyPieceMost = 256 * 1024;
constexpr std::uint64_t kPullPieceMost = 1 << 20;

/// The direction in which this side copies.
SharedCopies::Direction direction_of(const Order& order) noexcept {
    return order.is_send ? SharedCopies::Direction::write : SharedCopies::Direction::read;
}

/// The piece that this side copies next, or ClaimWord::kNone: all are claimed.
std::uint64_t claim(Order& order) noexcept {
    const std::uint64_t pieces = order.pieces();
    if (!order.share.alone) {
        return ClaimWord::take(*order.claims, order.claims_generation, pieces, order.is_send);
    }
    FCI_ASSERT(order.own_pieces < pieces);
    return pieces - 1 - order.own_pieces;
}

}  // namespace

bool SharedCopies::may_copy(Peer& peer, Direction direction) {
    Peer::Permission& known = peer.may_copy[static_cast<unsigned>(direction)];
    if (known == Peer::Permission::unknown) {
        known = Peer::Permission::given;
        if (engine_.network.copy(peer.id, direction, 0, nullptr, 0) != Status::ok) {
            forbid(peer, direction);
        }
    }
    return known == Peer::Permission::given;
}

/// If this side may not read, it asks for streams from now on.
void SharedCopies::forbid(Peer& peer, Direction direction) noexcept {
    peer.may_copy[static_cast<unsigned>(direction)] = Peer::Permission::refused;
    if (direction == Direction::read) peer.path.set_policy(CopyPath::Policy::ring);
}

bool SharedCopies::is_worth_sharing(std::uint64_t bytes) noexcept {
    return bytes > kCopyPieceLeast;
}

std::uint32_t SharedCopies::shared_piece(std::uint64_t bytes) noexcept {
    const std::uint64_t least = bytes > kCopyPieceUsual ? kCopyPieceUsual : kCopyPieceLeast;
    std::uint64_t piece = std::clamp(std::bit_ceil(bytes / 16 + 1), least, kCopyPieceMost);
    while (bytes / piece >= ClaimWord::kPiecesMost) piece *= 2;
    return static_cast<std::uint32_t>(std::min<std::uint64_t>(piece, 1u << 31));
}

/// A side that copies alone takes large pieces, and looks at other work in between.
std::uint32_t SharedCopies::pulled_piece(std::uint64_t bytes) noexcept {
    return static_cast<std::uint32_t>(std::min(bytes, kPullPieceMost));
}

bool SharedCopies::hold_claim(Order& order, Peer& peer) noexcept {
    FCI_ASSERT(order.claim_index < 0 && !order.is_send);
    const int index = peer.claims.take();
    if (index < 0) return false;
    order.claim_index = static_cast<std::int8_t>(index);
    order.claims = peer.claims.word(index);
    order.claims_generation = ClaimWord::renew(*order.claims);
    return true;
}

void SharedCopies::receive(Order& order) noexcept {
    FCI_ASSERT(order.state == OrderState::moving && !order.is_send);
    order.share.alone = order.path == Path::pull;
    join(order);
}

void SharedCopies::send(Order& order, Peer& peer, std::uint16_t claim) {
    FCI_ASSERT(order.state == OrderState::moving && order.is_send);
    order.claims = reinterpret_cast<std::uint64_t*>(engine_.network.map(
        peer.id, peer.in.layout().claim(ClaimWord::index_of(claim)), sizeof(std::uint64_t)));
    order.claims_generation = ClaimWord::generation_of(claim);
    // Where this side may not copy, the receiver does it alone and says `taken`.
    if (order.claims != nullptr && may_copy(peer, Direction::write)) join(order);
}

void SharedCopies::join(Order& order) noexcept {
    Orders::link(order, copies_);
    engine_.work.set_busy();
}

unsigned SharedCopies::push() {
    if (copies_.empty()) return 0;
    unsigned work = 0;
    ++pushes_;
    // Only the first message of each peer: one after the other they end sooner than all at once.
    copies_.for_each([&](Order& order) {
        Peer& peer = engine_.peers[order.peer];
        if (std::exchange(peer.copied_in, pushes_) != pushes_) work += copy_piece(order, peer);
    });
    return work;
}

bool SharedCopies::copy_piece(Order& order, Peer& peer) {
    if (!engine_.outbox.try_reserve()) {  // for `sent` or `taken` at the end
        engine_.work.set_starved();
        return false;
    }
    const std::uint64_t piece = claim(order);
    if (piece == ClaimWord::kNone) {
        own_share_done(order, peer);
        return true;
    }
    const std::uint64_t offset = piece * order.piece_bytes;
    FCI_ASSERT(offset < order.wanted);
    const std::uint64_t bytes = std::min<std::uint64_t>(order.piece_bytes, order.wanted - offset);
    const Status status =
        engine_.network.copy(peer.id, direction_of(order), order.remote + offset,
                             order.data + offset, bytes);
    if (status == Status::unsupported) [[unlikely]] {
        forbid(peer, direction_of(order));
        refused(order, peer);
        return true;
    }
    if (status != Status::ok) {
        failed(order, peer, status);
        return true;
    }
    ++order.own_pieces;
    engine_.counters.kernel_bytes += bytes;
    if (order.own_pieces == order.pieces()) own_share_done(order, peer);
    return true;
}

/// Everything is claimed. The other side may still be copying what it claimed.
void SharedCopies::own_share_done(Order& order, Peer& peer) {
    Orders::unlink(order);
    order.share.own_done = true;
    const bool all_mine = order.own_pieces == order.pieces();
    if (order.is_send) {
        if (order.own_pieces != 0) {
            engine_.outbox.tell(peer, Kind::sent, order.peer_handle, all_mine ? kAll : 0);
        }
        if (all_mine || order.share.peer_done) engine_.orders.finish_later(order, kSuccess);
        return;
    }
    if (order.own_pieces != 0 || !order.share.peer_done) {
        engine_.outbox.tell(peer, Kind::taken, order.peer_handle, all_mine ? kAll : 0);
    }
    if (all_mine || order.share.peer_done) end_transfer(engine_, order);
}

/// This side copies no more of the message. The pieces that it has copied are copied again.
void SharedCopies::refused(Order& order, Peer& peer) {
    FCI_ASSERT(order.state == OrderState::moving && !order.share.refused);
    ++engine_.counters.copies_refused;
    Orders::unlink(order);
    order.share.refused = true;
    order.timing.started = 0;  // the time of this message says nothing about a path
    if (order.path == Path::pull) {
        go_on_by_stream(order, peer);
        return ask_for_data(engine_, order, peer);
    }
    engine_.outbox.tell(peer, order.is_send ? Kind::sent : Kind::taken, order.peer_handle,
                        kRefused);
    if (order.share.alone) go_on_by_stream(order, peer);  // the other one was refused before
}

/// The other side copies no more. False: it has said so before.
bool SharedCopies::other_refused(Order& order, Peer& peer) {
    if (order.share.alone) return false;
    order.share.alone = true;
    order.timing.started = 0;
    if (order.share.refused) {
        go_on_by_stream(order, peer);
    } else if (!may_copy(peer, direction_of(order))) {
        refused(order, peer);
    } else {
        order.own_pieces = 0;
        order.share.own_done = order.share.peer_done = false;
        if (!order.in_list) join(order);
    }
    return true;
}

/// Both know of it: all of the message comes again, in pieces.
void SharedCopies::go_on_by_stream(Order& order, Peer& peer) noexcept {
    FCI_ASSERT(!order.in_list && order.moved == 0);
    order.path = Path::ring;
    if (order.is_send) streams_.begin(peer, order);
}

/// The user's buffer cannot be reached, here or there; or the peer is just leaving.
void SharedCopies::failed(Order& order, Peer& peer, Status status) {
    engine_.outbox.tell(peer, order.is_send ? Kind::sent : Kind::taken, order.peer_handle, kFailed);
    if (status == Status::lost && engine_.peers.reason(peer.id)[0] == '\0') {
        // This order ends before the device notices and says more.
        engine_.peers.explain(peer.id,
                              " has closed, died or become another program (exec): its "
                              "memory is not to be reached any more");
    }
    engine_.orders.finish_later(order, status == Status::lost ? kPeerLost : kFault);
}

bool SharedCopies::on_sent(Peer& peer, const gcs::Line& line) {
    Order* const order = engine_.orders.find(unpack<HandleRecord>(line).handle, peer, false);
    const std::uint8_t flags = Control::of(line).flags;
    if (order == nullptr) return true;  // it failed here, and the sender was told
    if (order->state != OrderState::moving || order->path != Path::shared) return false;
    if ((flags & kFailed) != 0) {
        engine_.orders.finish_later(*order, kFault);
        return true;
    }
    if ((flags & kRefused) != 0) return other_refused(*order, peer);
    if (order->share.alone) return false;
    order->share.peer_done = true;
    if ((flags & kAll) != 0 || order->share.own_done) end_transfer(engine_, *order);
    return true;
}

bool SharedCopies::on_taken(Order& order, Peer& peer, std::uint8_t flags) {
    FCI_ASSERT(order.is_send && order.state == OrderState::moving && order.path == Path::shared);
    if ((flags & kFailed) != 0) {
        engine_.orders.finish_later(order, kFault);
        return true;
    }
    if ((flags & kRefused) != 0) return other_refused(order, peer);
    if (order.share.alone) return false;
    // The other side was done before it heard that a piece of this side's is not copied.
    if (order.share.refused && (flags & kAll) == 0) return true;
    order.share.peer_done = true;
    // All pieces are claimed, and this side copies each piece as it claims it: its share is done,
    // too. It must not wait for the next turn to see that: the receiver may be leaving.
    if (order.in_list) {
        own_share_done(order, peer);
    } else {
        engine_.orders.finish_later(order, kSuccess);
    }
    return true;
}

void SharedCopies::sever() noexcept {
    while (Order* const order = copies_.pop_front()) order->in_list = false;
}

}  // namespace fci::mp
