// SPDX-License-Identifier: BSD-3-Clause
// Meetings: peers that attach and peers that are lost, with the operations that end then.
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
    /// As connected(), into *peer: kSuccess, or why no message can go there or come from there.
    int reach(nhi::PeerId id, Peer** peer) {
        *peer = connected(id);
        if (*peer == nullptr) return kNoEntry;
        return (*peer)->lost ? (*peer)->departure.failure : kSuccess;
    }
    /// Connects to all of the first `peers` that have whole cards: a process hears only of the
    /// deaths of peers that it has met.
    void meet(nhi::PeerId peers);
    /// `died` is called for every peer that dies, after its last message was delivered, but not for
    /// a peer that closed.
    void on_death(void (*died)(void* user, nhi::PeerId peer), void* user) noexcept;
    /// From now on no memory of a peer is touched, and operations with any fail: the mappings are
    /// gone, as in a child of fork().
    void sever() noexcept;

    /// Neither throws: if memory is short, a later turn does the work.
    void peer_attached(nhi::PeerId id) noexcept override;
    /// The peer's last requests are still to be delivered: the turn does so, then calls depart().
    void peer_lost(nhi::PeerId id, Status why, const std::string& reason) noexcept override;
    void stranger_came() noexcept override { ++engine_.counters.strangers; }

    /// All that the peer wrote has been read.
    void depart(Peer& peer);
    /// The peer sent a request that fails its checks: nothing of it can be trusted.
    void give_up(Peer& peer);
    /// Attaches peers for which there was no memory. False: there is none yet.
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
