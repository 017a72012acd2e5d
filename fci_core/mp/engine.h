// SPDX-License-Identifier: BSD-3-Clause
// Engine: the state that all objects of this room share. Each object has its own state besides.
#pragma once

#include <cstdint>

#include "fci_core/base/counters.h"
#include "fci_core/ddi/device.h"
#include "fci_core/gcs/cell_lender.h"
#include "fci_core/gcs/piece_pool.h"
#include "fci_core/mp/limits.h"
#include "fci_core/mp/match/matching.h"
#include "fci_core/mp/orders.h"
#include "fci_core/mp/outbox.h"
#include "fci_core/mp/peers.h"
#include "fci_core/mp/protocol.h"
#include "fci_core/mp/work.h"

namespace fci::mp {

struct Engine {
    Engine(ddi::Device& its_device, const Protocol& its_protocol, const Limits& its_limits,
           Counters& its_counters);

    /// The next request of the peer that sent last, where it lies or will lie.
    struct Arrival {
        Peer& peer;
        const gcs::Line& line;
        bool is_here;
    };
    [[nodiscard]] Arrival arrival() const noexcept {
        Peer& first = peers.first();
        const gcs::Line& line = first.in.next();
        return {first, line, first.in.is_next(line)};
    }
    /// If arrival() finds nothing, the turn has something else to do.
    [[nodiscard]] bool is_more_due() const noexcept { return work.any() && look_closely(); }
    [[nodiscard]] bool look_closely() const noexcept;

    /// Every request fits into such a block.
    [[nodiscard]] bool fits(const gcs::Layout& layout) const noexcept {
        return layout.slots >= kSlotsLeast &&
               limits.eager_bytes + kHeaderMost <= layout.ring_bytes / 4;
    }
    /// Tells the peer that it may write again where its messages were taken.
    void return_credit(Peer& peer) noexcept;
    void return_credit_if_due(Peer& peer) noexcept;
    /// Gives the oldest piece of the peer's pool that is in use here back.
    void return_pieces(Peer& peer, std::uint64_t bytes) noexcept {
        peer.pools.in.give_back(peer.in.layout(), bytes);
        if (peer.pools.in.owes()) work.set_busy();
    }

    /// The network takes long messages from buffer to buffer between it and this process.
    [[nodiscard]] bool goes_directly(const Peer& peer) const noexcept {
        return peer.data.is_there && limits.copy != CopyPath::Policy::ring;
    }
    /// Messages to or from the peer may be pushed: up to kPushMost their data comes unasked.
    [[nodiscard]] bool may_push(const Peer& peer) const noexcept {
        return protocol.sends_data() && goes_directly(peer);
    }
    /// A cell for a message of so many bytes; nullptr: the message goes another way.
    [[nodiscard]] gcs::Cells::Cell* cell_for(Peer& peer, std::uint64_t bytes) noexcept;
    /// Counts a send to the peer that found no room.
    void count_wait(Peer& peer) noexcept {
        ++counters.credit_waits;
        ++peer.row->waits;
    }
    /// Messages that the caller has begun to send. A caller that begins one goes on by itself, and
    /// does not wait.
    [[nodiscard]] std::uint64_t begun() const noexcept { return begun_; }
    void begin() noexcept { ++begun_; }
    /// A message that is sent just now is part of a wait: the caller does not go on with it.
    void begin_in_wait() noexcept { --begun_; }

    ddi::Device& device;
    nhi::NetworkInterface& network;
    const Protocol& protocol;
    const Limits limits;
    Counters& counters;
    Work work;
    Peers peers;
    Orders orders;
    PostedList posted;
    ArrivedList arrived;
    Outbox outbox;
    gcs::PiecePool pool;
    gcs::CellLender lender;
    /// The caller has probed, or tried to send to a peer that is not connected yet.
    bool asked_in_vain = false;
    /// A peer that died while no wildcard receive was posted; the next wildcard receive fails with
    /// it. kAnySource: none.
    nhi::PeerId untold = kAnySource;
    /// kCreditReturned is set there whenever credit goes back, now and then among arrivals.
    std::uint8_t* credit_mark = nullptr;
    static constexpr std::uint8_t kCreditReturned = 2;
    /// Has memory for short messages that their receivers hold back (icl.h).
    struct {
        void* (*take)(const Completion* of, std::size_t bytes) = nullptr;
        fci_icl_done_fn sent = nullptr;
    } keeper;

private:
    std::uint64_t begun_ = 0;
};

}  // namespace fci::mp
