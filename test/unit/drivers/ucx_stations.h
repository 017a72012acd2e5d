// SPDX-License-Identifier: BSD-3-Clause
// Stations: processes of a ucx driver without their devices, over a UCX in memory and TCPs in hand.
#pragma once

#include <poll.h>

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "drivers/ucx/frame.h"
#include "drivers/ucx/turn.h"
#include "drivers/ucx/ucx_network.h"
#include "test/unit/drivers/ucx_peers.h"

namespace fci::ucx::test {

inline constexpr std::size_t kBlock = 4096, kMemory = 8192;

inline ddi::Settings station_settings() {
    ddi::Settings settings;
    settings.block_bytes = kBlock;
    settings.silence_ms = 10'000;
    return settings;
}

inline bool is_readable(int fd) {
    pollfd wanted{fd, POLLIN, 0};
    return ::poll(&wanted, 1, 0) == 1;
}

struct Station {
    explicit Station(UcxInMemory& ucx, std::uint64_t incarnation = 1, bool or_tcp = false)
        : tcp(incarnation, memory), turn(peers, tcp, or_tcp) {
        std::string error;
        EXPECT_EQ(turn.open(ucx.library(), network.arrivals(), station_settings(), &error),
                  Status::ok) << error;
        worker = &ucx.last_worker();
        turn.set_listener(&told);
        Peer& self = peers.make(nhi::kSelf);
        self.state = PeerState::attached;
        self.block = tcp::Pages(kBlock);
        self.block_bytes = kBlock;
    }
    ~Station() { turn.close(); }
    Station(const Station&) = delete;
    Station& operator=(const Station&) = delete;

    /// A turn after which TCP is due again.
    unsigned poll() { return turn.poll(tcp.time += kMs); }
    Peer& peer(nhi::PeerId id = 1) { return *peers.find(id); }
    PeerState state(nhi::PeerId id = 1) const { return peers.state(id); }
    /// The text at this place of the block that the peer writes.
    std::string text(nhi::PeerId id, std::size_t at, std::size_t bytes) {
        return {reinterpret_cast<const char*>(peer(id).block.span().data()) + at, bytes};
    }

    std::vector<std::byte> memory = std::vector<std::byte>(kMemory);
    HandTcp tcp;
    Peers peers;
    Turn turn;
    UcxNetwork network{peers, turn, memory};
    Told told;
    UcxInMemory::Worker* worker = nullptr;
};

/// Two of one job, each the other's peer 1.
struct ucx_stations : testing::Test {
    ucx_stations() {
        HandTcp::link(one->tcp, other->tcp);
    }
    ~ucx_stations() override {
        for (const auto& each : ucx.endpoints) {
            each->takes = true;
            each->send_answer = each->flush_answer = each->close_answer = UCS_OK;
            ucx.take(*each);
            ucx.finish(*each);
        }
        let_time_pass();
        one.reset();
        other.reset();
        EXPECT_EQ(ucx.mistakes(), Texts());
    }
    /// In each look at a clock, and nothing else happens there.
    void let_time_pass() {
        for (Station* const each : {one.get(), other.get()}) {
            if (each == nullptr) continue;
            each->tcp.tick = kMs;
            each->tcp.in_poll = each->tcp.in_now = nullptr;
        }
    }
    /// One that is only called, or calls only.
    void meet_by_tcp() {
        one->tcp.meet(1);
        other->tcp.meet(1);
    }
    /// One more turn of `one`, and both have met.
    void meet_but_for_one_turn() {
        meet_by_tcp();
        turns(2);
    }
    void turns(unsigned count = 8) {
        for (unsigned i = 0; i < count; ++i) {
            (void)one->poll();
            (void)other->poll();
        }
    }
    void attach() {
        meet_by_tcp();
        turns();
        ASSERT_EQ(one->state(), PeerState::attached);
        ASSERT_EQ(other->state(), PeerState::attached);
        for (const auto& each : ucx.endpoints) {
            (each->from == one->worker ? there : back) = each.get();
        }
    }
    /// The peer says by TCP that it has sent more than is here.
    static void say_farewell(Station& to, std::uint64_t frames) {
        Hello hello;
        std::memcpy(&hello, to.tcp.at(1).here->data(), sizeof hello);
        hello.farewell = frames + 1;
        std::memcpy(to.tcp.at(1).here->data(), &hello, sizeof hello);
    }
    /// To the block that the other one keeps for this one.
    static Status put(Station& from, std::uint64_t address, std::string_view text,
                      nhi::PeerId to = 1) {
        return from.network.initiate_transfer(
            nhi::Transfer(to).put(nhi::LcsAddress{address}, text.data(), text.size()));
    }
    /// A frame to `one`, as its peer would send it next.
    FrameHead head() {
        return {.key = one->peer().key, .number = 1, .sequence = one->peer().heard + 1, .events = 0,
                .parts = 0};
    }
    void bring(const FrameHead& head, const nhi::Transfer& transfer = nhi::Transfer(1)) {
        std::vector<std::byte> frame(frame_bytes(transfer));
        write_frame(head, transfer, frame.data());
        ucx.bring(*one->worker, frame);
        (void)one->turn.road().progress();
    }

    UcxInMemory ucx;
    std::unique_ptr<Station> one = std::make_unique<Station>(ucx, 1);
    std::unique_ptr<Station> other = std::make_unique<Station>(ucx, 2);
    UcxInMemory::Endpoint *there = nullptr, *back = nullptr;  // of the one, and of the other
};

}  // namespace fci::ucx::test
