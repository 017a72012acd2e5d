// SPDX-License-Identifier: BSD-3-Clause
// Peers: the processes that this one knows, and the state of its connections to them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "drivers/host/place.h"
#include "drivers/tcp/connection.h"
#include "drivers/tcp/hello.h"
#include "drivers/tcp/pages.h"
#include "drivers/tcp/streams.h"
#include "fci_core/ddi/patience.h"
#include "fci_core/ddi/peer_table.h"

namespace fci::tcp {

using ddi::PeerState;

/// This process's call to a peer.
struct Call {
    Stream stream{};  // empty: the call is to be tried again, or the peer calls by itself
    bool said_hello = false;  // on this stream
    HelloReader answer{};
    std::size_t goodbye = 0;  // bytes of a goodbye that were sent, if the process closes meanwhile
    ddi::Patience patience{};
    Nanoseconds began = 0;
    Nanoseconds silent_at = 0;  // when it has waited long for a word on this stream
    unsigned refusals = 0;  // times that the listener hung up without a word
    bool told = false;      // the user has heard that there is no answer
};

struct Peer {
    PeerState state = PeerState::known;
    Call call{};
    std::optional<Connection> connection{};
    Pages block{};  // the block here that the peer writes
    std::uint64_t sizes = 0;
    std::uint64_t block_bytes = 0;  // of the block that the peer keeps for this process
    std::uint64_t tail_bytes = 0;   // behind it, where both have one
    std::uint32_t pid = 0;
    int rank = -1;  // as the peer's hello says
    int loss = -1;  // ddi::About
};

using Peers = ddi::PeerTable<Peer>;

/// For messages: "pid 4711 at 127.0.0.1:40001".
inline std::string name_of(const Peers& peers, nhi::PeerId id) {
    if (id >= peers.size()) return "no known process";
    const Peer* const peer = peers[id].peer.get();
    const std::string place = host::place_text(peers[id].card);
    if (peer == nullptr || peer->pid == 0) return "the process at " + place;
    return "pid " + std::to_string(peer->pid) + " at " + place;
}

}  // namespace fci::tcp
