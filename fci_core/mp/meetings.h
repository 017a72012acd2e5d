// SPDX-License-Identifier: BSD-3-Clause
// Meetings: who comes and who goes, and what ends with a peer.
#pragma once

#include <string>

#include "fci_core/mp/engine.h"
#include "fci_core/mp/move/shared_copies.h"
#include "fci_core/mp/receives.h"

namespace fci::mp {

class Meetings final : public ddi::PeerListener {
public:
    Meetings(Engine& engine, SharedCopies& copies, Receives& receives);
    ~Meetings() override;

    /// The peer, with its connection at least begun. nullptr: the device has no such. May throw.
    Peer* connected(nhi::PeerId id);
    /// The same: kSuccess, or why nothing goes there and nothing comes from there.
    int reach(nhi::PeerId id, Peer** peer) {
        *peer = connected(id);
        if (*peer == nullptr) return kNoEntry;
        return (*peer)->lost ? (*peer)->departure.failure : kSuccess;
    }
    /// Connects to all of the first `peers` whose cards were given by themselves: only who met a
    /// process hears of its death.
    void meet(nhi::PeerId peers);
    /// Told of every peer that dies, after what it sent was delivered. Not of one that closed.
    void on_death(void (*died)(void* user, nhi::PeerId peer), void* user) noexcept;
    /// From now on no memory of a peer is touched, and operations with any fail: what was mapped is
    /// gone, as in a child of fork().
    void sever() noexcept;

    /// Neither throws: what there is no memory for now is done by a later turn.
    void peer_attached(nhi::PeerId id) noexcept override;
    /// What it wrote before is still to be delivered: the turn does so, and then calls depart().
    void peer_lost(nhi::PeerId id, Status why, const std::string& reason) noexcept override;
    void stranger_came() noexcept override { ++engine_.counters.strangers; }

    /// All that it wrote has been heard.
    void depart(Peer& peer);
    /// It sent what fails its checks: nothing it says can be trusted.
    void give_up(Peer& peer);
    /// Those that there was no memory for. False: there is none yet.
    bool attach_missed() noexcept;

private:
    void attach(nhi::PeerId id);
    void fail(Peer& peer, bool died);

    Engine& engine_;
    SharedCopies& copies_;
    Receives& receives_;
    bool missed_ = false;  // there was no memory for a peer that attached
    void (*died_)(void* user, nhi::PeerId peer) = nullptr;
    void* died_user_ = nullptr;
};

}  // namespace fci::mp
