// SPDX-License-Identifier: BSD-3-Clause
// A process of a ucx driver without its device: peers by a TCP in hand, and a road in memory, whose
// other end is the peers'.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "drivers/ucx/peers.h"
#include "fci_core/ddi/notices.h"
#include "test/unit/drivers/ucx_hand_tcp.h"
#include "test/unit/drivers/ucx_roads.h"

namespace fci::ucx::test {

inline constexpr Nanoseconds kMs = 1'000'000, kSecond = 1000 * kMs;

/// The listener of a device, and all that it was told.
struct Told final : ddi::PeerListener {
    void peer_attached(nhi::PeerId id) override { attached.push_back(id); }
    void peer_lost(nhi::PeerId id, Status why, const std::string& reason) override {
        lost.push_back({id, why, reason});
    }
    void stranger_came() noexcept override { ++strangers; }

    std::vector<nhi::PeerId> attached;
    std::vector<ddi::Notice> lost;
    unsigned strangers = 0;
};

struct ucx_peers : testing::Test {
    static constexpr nhi::PeerId kId = 1;
    static constexpr std::size_t kBlock = 64 * 1024;

    ~ucx_peers() override {
        for (nhi::PeerId id = 0; id < peers.size(); ++id) {
            Peer* const peer = peers.find(id);
            if (peer != nullptr && peer->way != nullptr) near.road->close(peer->way);
        }
        for (const auto& each : ucx.endpoints) {
            ucx.finish(*each);
            each->flush_answer = UCS_OK;
        }
        (void)near.road->progress();
        (void)near.road->is_idle();
        near.road.reset();
        far.road.reset();
        EXPECT_EQ(ucx.mistakes(), Texts());
    }
    Peer& peer(nhi::PeerId id = kId) { return *peers.find(id); }
    /// All that was said since the last time; notices settle in no state.
    Told hear() {
        Told told;
        notices.tell(&told, [](const ddi::Notice&) { return true; });
        return told;
    }
    /// A hello as the peer writes it.
    Hello hello_of_peer() const {
        return {.address_bytes = far.road->address().size(), .key = 0x1234, .block_bytes = 4096,
                .number = 7, .verdict = Verdict::works, .farewell = 0};
    }
    void say(const Hello& hello, nhi::PeerId id = kId) {
        std::byte* const to = std::span(*tcp.at(id).here).last(kTail).data();
        std::memcpy(to, &hello, sizeof hello);
        const std::span<const std::byte> address = far.road->address();
        std::memcpy(to + sizeof hello, address.data(), address.size());
    }
    /// The hello that was said to the peer.
    Hello said(nhi::PeerId id = kId) {
        Hello hello;
        std::memcpy(&hello, std::span(*tcp.at(id).there).last(kTail).data(), sizeof hello);
        return hello;
    }

    UcxInMemory ucx;
    End near{ucx}, far{ucx};
    HandTcp tcp;
    Peers peers;
    ddi::Notices notices;
};

}  // namespace fci::ucx::test
