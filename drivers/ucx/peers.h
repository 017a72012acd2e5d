// SPDX-License-Identifier: BSD-3-Clause
// Peers: the processes that this one calls, or has met. TCP's device numbers all that it knows.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "drivers/tcp/pages.h"
#include "drivers/ucx/frame.h"
#include "drivers/ucx/hello.h"
#include "drivers/ucx/rendezvous.h"
#include "drivers/ucx/road.h"
#include "fci_core/base/assert.h"
#include "fci_core/ddi/notices.h"
#include "fci_core/ddi/peer_table.h"

namespace fci::ucx {

using ddi::PeerState;

/// How long this process waits for the frames of a peer that ends, for UCX to let go of buffers,
/// and at its own end for peers to read what they were promised.
inline constexpr Nanoseconds kGrace = 1'000'000'000;

/// Data that have come, or can be fetched, and whose turn it is not.
struct Coming {
    DataHead head;
    Load load;
};

/// This process's words to a peer in their meeting.
struct Said {
    std::uint64_t place = 0;           // of the hello, in the block that the peer keeps
    bool hello = false;                // the hello is on its way
    bool verdict = false;              // the verdict is on its way
    Verdict found = Verdict::unknown;  // as the verdict says
    std::string why_not{};             // the reason why it is `fails`
};

struct Peer {
    PeerState state = PeerState::connecting;
    Road::Way* way = nullptr;    // once its hello has come, until the way is closed
    tcp::Pages block{};          // the block here that the peer writes, once TCP has met it
    std::uint64_t block_bytes = 0;  // of the block that the peer keeps for this process
    // Frames of the peer carry `key`; those to the peer carry what it has drawn, and its number
    // of this process.
    std::uint64_t key = 0, key_there = 0;
    std::uint32_t number_there = 0;
    std::uint32_t sent = 0, heard = 0;  // frames
    std::vector<Coming> coming{};       // data in the order of their sending
    DataHead fetched{};                 // the data that are being fetched, if is_fetching
    bool is_fetching = false;
    bool is_gone = false;               // TCP says that the process has ended
    bool is_cut = false;                // nothing more of it is wanted
    bool is_called = false;             // this process calls it, and TCP has not met it yet
    bool is_by_tcp = false;             // it has no UCX, or is not reached by it
    Said said{};
    Nanoseconds give_up = 0;            // the end of its meeting, or of its leaving, at the latest
    std::optional<ddi::Notice> end{};   // that the listener hears when all frames are there
};

/// Of an attached peer: its data were given back, and nothing is sent to it any more.
[[nodiscard]] inline bool is_cut_off(nhi::PeerId id, const Peer& peer) noexcept {
    return id != nhi::kSelf && peer.way == nullptr && !peer.is_by_tcp;
}
/// The way is closed, and UCX uses no buffer for the peer any more. UCX may free the way in its
/// next turn, and still fetch.
[[nodiscard]] inline bool has_let_go(Peer& peer, Road& road) noexcept {
    if (peer.way != nullptr && road.end(peer.way)) peer.way = nullptr;
    return peer.way == nullptr && !peer.is_fetching;
}
/// Closes the way, though UCX may still use it.
inline void give_up_way(Peer& peer, Road& road) noexcept {
    if (peer.way != nullptr) road.close(std::exchange(peer.way, nullptr));
}

class Peers {
public:
    [[nodiscard]] nhi::PeerId size() const noexcept {
        return static_cast<nhi::PeerId>(all_.size());
    }
    /// nullptr: it is known by its card only, or not at all.
    [[nodiscard]] Peer* find(nhi::PeerId id) const noexcept {
        return id < all_.size() ? all_[id].get() : nullptr;
    }
    [[nodiscard]] PeerState state(nhi::PeerId id) const noexcept {
        const Peer* const peer = find(id);
        return peer != nullptr ? peer->state : PeerState::known;
    }
    /// There are peers up to that number; throws bad_alloc.
    void know(nhi::PeerId id) {
        FCI_ASSERT(id < nhi::kNoPeer);
        if (id >= all_.size()) all_.resize(id + 1);
    }
    /// The peer of that number, which may be a new one; throws bad_alloc.
    Peer& make(nhi::PeerId id) {
        know(id);
        if (all_[id] == nullptr) all_[id] = std::make_unique<Peer>();
        return *all_[id];
    }

    /// Of all but those that are known by their cards only: act(id, peer).
    template <class Act>
    void for_each(Act act) const {
        for (nhi::PeerId id = 0; id < size(); ++id) {
            if (Peer* const peer = find(id); peer != nullptr) act(id, *peer);
        }
    }

    /// Bytes of the table, not of the peers.
    [[nodiscard]] std::size_t memory() const noexcept {
        return all_.capacity() * sizeof(all_[0]);
    }

private:
    std::vector<std::unique_ptr<Peer>> all_;
};

}  // namespace fci::ucx
