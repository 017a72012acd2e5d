// SPDX-License-Identifier: BSD-3-Clause
#include "fci_core/mp/engine.h"

#include <algorithm>

#include "fci_core/base/assert.h"

namespace fci::mp {

namespace {

/// If sends wait for their receives, no receive is too short to be offered, and none is posted by
/// fast::post(), which makes no offer.
Limits limits_under(const Protocol& protocol, Limits limits) noexcept {
    if (!protocol.announces) limits.offer_bytes = 0;
    return limits;
}

}  // namespace

Engine::Engine(ddi::Device& its_device, const Protocol& its_protocol, const Limits& its_limits,
               Counters& its_counters)
    : device(its_device),
      network(its_device.network()),
      protocol(its_protocol),
      limits(limits_under(its_protocol, its_limits)),
      counters(its_counters),
      peers(device, protocol, limits, work),
      orders(peers, work, limits),
      outbox(network, work),
      lender(limits.layout) {
    FCI_ASSERT(limits.eager_most() <= kEagerMost);
    FCI_ASSERT(fits(limits.layout));
    FCI_ASSERT(limits.layout.pool_bytes % gcs::Layout::kPieceBytes == 0);
    pool.open(network, limits.layout, device.communication_memory());
}

/// Looks at all peers but the one that sent last.
[[gnu::noinline]] bool Engine::look_closely() const noexcept {
    if (work.busy()) return true;
    const std::vector<Peer*>& active = peers.active();
    return std::any_of(active.begin() + 1, active.end(),
                       [](const Peer* peer) { return peer->in.ready(); });
}

[[gnu::noinline]] void Engine::return_credit_if_due(Peer& peer) noexcept {
    if (peer.in.credit_due() && !peer.lost) return_credit(peer);
}

[[gnu::noinline]] void Engine::return_credit(Peer& peer) noexcept {
    FCI_ASSERT(peer.attached);
    peer.credit_owed = peer.in.return_credit(network) == Status::again;
    if (peer.credit_owed) {
        work.set_busy();
    } else {
        ++counters.credits_returned;
        if (peer.out.reachable()) peer.out.wake_sleeper(network);
    }
    if (credit_mark != nullptr) *credit_mark |= kCreditReturned;
}

gcs::Cells::Cell* Engine::cell_for(Peer& peer, std::uint64_t bytes) noexcept {
    gcs::Cells& cells = peer.pools.cells;
    if (gcs::Cells::Cell* const here = cells.take(bytes)) return here;
    if (!peer.is_worth_a_cell(bytes, limits)) return nullptr;
    const gcs::CellSize size = gcs::Cells::size_for(bytes);
    const gcs::PiecePool::Piece lent = lender.lend(network, pool, size);
    if (lent.data == nullptr) {
        cells.run_short(size);
        return nullptr;
    }
    cells.lend(size, lent.data, lent.offset);
    ++counters.cells_lent;
    return cells.take(bytes);
}

}  // namespace fci::mp
