// SPDX-License-Identifier: BSD-3-Clause
// The connections of a process to three peers that have been met, over streams in hand.
#pragma once

#include <arpa/inet.h>

#include "drivers/tcp/connections.h"
#include "test/unit/drivers/frames.h"
#include "test/unit/drivers/hand_streams.h"

namespace fci::tcp::test {

inline constexpr Nanoseconds kMs = 1'000'000, kSecond = 1000 * kMs;

struct Nowhere final : FrameDecoder::Target {
    bool is_possible(nhi::PeerId, std::uint64_t, std::uint64_t) const noexcept override {
        return true;
    }
    std::byte* locate(nhi::PeerId, std::uint64_t, std::uint64_t) noexcept override {
        return nullptr;
    }
    nhi::DataTarget* data_target() const noexcept override { return target; }
    void raise(std::uint32_t more) noexcept override { events |= more; }

    nhi::DataTarget* target = nullptr;
    std::uint32_t events = 0;
};

/// Peer 1 has stream 1, and so on.
struct TcpConnections : testing::Test {
    TcpConnections() {
        peers.add({AF_INET, htons(4000), htonl(INADDR_LOOPBACK), 50});
        connections.count_in(counters);
        for (nhi::PeerId id = 1; id <= 3; ++id) add();
    }
    nhi::PeerId add() {
        const auto port = static_cast<std::uint16_t>(4000 + peers.size());
        const nhi::PeerId id =
            peers.add({AF_INET, htons(port), htonl(INADDR_LOOPBACK), 50u + port});
        peers[id].peer = std::make_unique<Peer>();
        peers[id].peer->state = PeerState::joined;
        peers[id].peer->pid = 100 + id;
        connections.reserve(1);
        connections.add(id, tcp::Stream(system, system.add({})));
        peers[id].peer->state = PeerState::attached;
        connections.begin(id);
        return id;
    }
    HandStreams::One& stream(nhi::PeerId id) { return system.all.at(static_cast<int>(id)); }
    Connection& connection(nhi::PeerId id) { return *peers[id].peer->connection; }
    void write(nhi::PeerId id, std::size_t bytes = 8) {
        nhi::Transfer transfer(id);
        transfer.put(nhi::LcsAddress{0}, memory.data(), bytes);
        connections.reserve(id, transfer);
        connections.write(id, transfer);
    }
    /// Of the only one that there is.
    ddi::Notice notice() {
        ddi::Notice only{};
        EXPECT_EQ(notices.tell(nullptr,
                               [&](const ddi::Notice& one) {
                                   only = one;
                                   return true;
                               }),
                  1u);
        return only;
    }
    void bring(nhi::PeerId id, FrameKind kind, std::uint32_t events = 0) {
        Stream frame;
        head(&frame, kind, 0, events);
        auto& here = stream(id).here;
        here.insert(here.end(), frame.begin(), frame.end());
    }

    HandStreams system;
    Counters counters;
    Peers peers;
    ddi::Notices notices;
    Nowhere nowhere;
    Connections connections{peers, system, notices, nowhere, 10 * kSecond};
    std::vector<std::byte> memory = std::vector<std::byte>(1 << 20);
};

}  // namespace fci::tcp::test
