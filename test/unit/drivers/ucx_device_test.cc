// SPDX-License-Identifier: BSD-3-Clause
// The device of the ucx driver over a UCX in memory and a TCP in hand.
#include "drivers/ucx/ucx_device.h"

#include <arpa/inet.h>
#include <sys/wait.h>
#include <unistd.h>

#include "drivers/ucx/ucx.h"
#include "test/unit/drivers/ucx_stations.h"

namespace fci::ucx::test {
namespace {

/// Two devices, each the other's peer 1.
struct ucx_device : testing::Test {
    struct Own {
        HandTcp* tcp = nullptr;
        std::unique_ptr<ddi::Device> device;
        Told told;
    };
    ucx_device() {
        for (Own& each : own) each.device->set_listener(&each.told);
    }
    ~ucx_device() override {
        for (Own& each : own) each.device.reset();
        EXPECT_EQ(ucx.mistakes(), Texts());
    }
    static ddi::Settings settings() {
        ddi::Settings wanted = station_settings();
        wanted.communication_bytes = kMemory;
        return wanted;
    }
    void turns(unsigned count = 8) {
        for (unsigned i = 0; i < count; ++i) {
            for (Own& each : own) {
                (void)each.device->network().poll(each.tcp->time += kMs);
            }
        }
    }
    void attach() {
        HandTcp::link(*own[0].tcp, *own[1].tcp);
        for (Own& each : own) each.tcp->meet(1);
        turns();
        for (Own& each : own) ASSERT_EQ(each.told.attached, std::vector<nhi::PeerId>{1});
    }

    Own made(std::uint64_t incarnation) {
        auto hand = std::make_unique<HandTcp>(incarnation);
        HandTcp* const its = hand.get();
        its->tick = 1000;
        Status status = Status::invalid;
        std::string error;
        auto device = UcxDevice::open(ucx.library(), std::move(hand), settings(), false, &status,
                                       &error);
        EXPECT_EQ(status, Status::ok) << error;
        return {its, std::move(device), {}};
    }

    UcxInMemory ucx;
    Own own[2] = {made(1), made(2)};
    ddi::Device& device = *own[0].device;
    HandTcp& tcp = *own[0].tcp;
};

TEST_F(ucx_device, open__wants_blocks_that_can_be_named) {
    const auto refusal = [](std::size_t block_bytes) {
        ddi::Settings wanted;
        wanted.block_bytes = block_bytes;
        Status status = Status::ok;
        std::string error;
        EXPECT_EQ(open_ucx(wanted, &status, &error), nullptr);
        EXPECT_EQ(status, Status::invalid);
        return error;
    };
    EXPECT_EQ(refusal(0), "request blocks of 0 bytes");
    EXPECT_EQ(refusal(nhi::kPairLimit + 1), "request blocks of 4294967297 bytes");
}

TEST_F(ucx_device, open__where_tcp_cannot) {
    ddi::Settings wanted;
    wanted.block_bytes = 4096;
    wanted.wanted.host = htonl(0xc6336401);  // an address of nobody's
    Status status = Status::ok;
    std::string error;
    EXPECT_EQ(open_ucx(wanted, &status, &error), nullptr);
    EXPECT_NE(status, Status::ok);
    const std::string begin = "cannot open TCP, by which processes meet: ";
    EXPECT_EQ(error.rfind(begin, 0), 0u) << error;
    EXPECT_GT(error.size(), begin.size());
}

/// Peers of another driver are refused, and memory for windows is this device's.
TEST_F(ucx_device, settings__of_the_tcp_device) {
    std::vector<std::byte> memory(16);
    ddi::Settings wanted = settings();
    wanted.layout_digest = 0x1234;
    wanted.job = 77;
    wanted.block_first_bytes = 1024;
    wanted.communication_spare = 4096;
    wanted.communication = memory;
    const ddi::Settings its = UcxDevice::of_tcp(wanted, false);
    EXPECT_NE(its.layout_digest, wanted.layout_digest);
    EXPECT_EQ(its.layout_digest >> 32, 0u) << "the version is the same";
    EXPECT_EQ(its.job, 77u);
    EXPECT_EQ(its.silence_ms, wanted.silence_ms);
    EXPECT_EQ(its.block_bytes, 64u) << "nothing but hellos, which are behind it";
    EXPECT_EQ(its.network.tail_bytes, kTail);
    EXPECT_EQ(its.block_first_bytes, 0u);
    EXPECT_EQ(its.communication_bytes, 0u);
    EXPECT_EQ(its.communication_spare, 0u);
    EXPECT_TRUE(its.communication.empty());
}

TEST_F(ucx_device, open__where_ucx_cannot) {
    ucx.init_answer = UCS_ERR_NO_DEVICE;
    Status status = Status::ok;
    std::string error;
    EXPECT_EQ(UcxDevice::open(ucx.library(), std::make_unique<HandTcp>(), settings(), false,
                              &status, &error), nullptr);
    EXPECT_EQ(status, Status::unsupported);
    EXPECT_NE(error.find("No such device"), std::string::npos) << error;
}

TEST_F(ucx_device, device__is_its_own_peer) {
    EXPECT_EQ(device.peers(), 1u);
    EXPECT_EQ(device.block(nhi::kSelf).size(), kBlock);
    EXPECT_EQ(device.network().link(nhi::kSelf).block_bytes, kBlock);
    EXPECT_EQ(device.network().initiate_transfer(
                  nhi::Transfer(nhi::kSelf).put(nhi::LcsAddress{kBlock - 1}, "x", 1)),
              Status::ok);
    EXPECT_EQ(device.block(nhi::kSelf).back(), std::byte{'x'});
    EXPECT_EQ(device.sizes(nhi::kSelf), 1000u);
}

TEST_F(ucx_device, device__is_tcps_but_for_its_way) {
    EXPECT_EQ(device.card().incarnation, 1u);
    EXPECT_EQ(device.card_of(nhi::kSelf), tcp.card_of(nhi::kSelf));
    EXPECT_EQ(device.card_of(9), nullptr);
    EXPECT_EQ(device.network_choice().host, tcp.network_choice().host);
    EXPECT_STREQ(device.about(1).way, "ucx");
    EXPECT_EQ(device.about(1).pid, 41u);
    EXPECT_EQ(device.describe(1), "peer 1");
    EXPECT_EQ(device.now(), tcp.time);
    Counters counters{};
    device.count_in(counters);
    EXPECT_EQ(tcp.counted, 1u);
    device.tell_of_loss(5);
    EXPECT_EQ(tcp.lost_rank, 5);
    EXPECT_NE(device.wait_fd(), -1);
    tcp.ring();
    device.sleep(-1);
    EXPECT_EQ(tcp.sleeps.size(), 1u);
}

TEST_F(ucx_device, memory__is_its_own_or_the_callers) {
    EXPECT_EQ(device.communication_memory().size(), kMemory);
    std::vector<std::byte> memory(100);
    ddi::Settings wanted = settings();
    wanted.communication = memory;
    Status status;
    std::string error;
    const auto another = UcxDevice::open(ucx.library(), std::make_unique<HandTcp>(3), wanted, false,
                                         &status, &error);
    ASSERT_NE(another, nullptr) << error;
    EXPECT_EQ(another->communication_memory().data(), memory.data());
    EXPECT_EQ(another->communication_memory().size(), 100u);
    EXPECT_EQ(another->network().open_window(0, nhi::LcsAddress{nhi::kPairLimit}, memory),
              Status::ok);
}

TEST_F(ucx_device, memory__is_counted_with_tcps) {
    const MemoryUse before = device.memory(), of_tcp = tcp.memory();
    EXPECT_EQ(before.fixed, of_tcp.fixed + sizeof(UcxDevice) + kMemory);
    EXPECT_GE(before.known, of_tcp.known + sizeof(void*));
    EXPECT_LT(before.known, of_tcp.known + 10 * sizeof(void*));
    EXPECT_EQ(before.connected, of_tcp.connected);
    ASSERT_NO_FATAL_FAILURE(attach());
    EXPECT_EQ(device.memory().connected, of_tcp.connected + sizeof(Peer) + kBlock);
    EXPECT_EQ(device.memory().fixed, before.fixed);
}

// --- peers ---

TEST_F(ucx_device, add_peer__as_tcp_numbers_it) {
    nhi::PeerId id = nhi::kNoPeer;
    ASSERT_EQ(device.add_peer(own[1].device->card(), &id), Status::ok);
    EXPECT_EQ(id, 1u);
    EXPECT_EQ(device.peers(), 2u);
    EXPECT_EQ(device.network().initiate_transfer(nhi::Transfer(id)), Status::unreachable);
    tcp.add_answer = Status::unreachable;
    nhi::PeerId none = 1000;
    EXPECT_EQ(device.add_peer({.incarnation = 77}, &none), Status::unreachable);
    EXPECT_EQ(device.network().initiate_transfer(nhi::Transfer(2)), Status::invalid);
    EXPECT_EQ(device.network().initiate_transfer(nhi::Transfer(1000)), Status::invalid);
}

TEST_F(ucx_device, connect__calls_by_tcp) {
    EXPECT_EQ(device.connect(1), Status::invalid);
    nhi::PeerId id = nhi::kNoPeer;
    ASSERT_EQ(device.add_peer(own[1].device->card(), &id), Status::ok);
    EXPECT_EQ(device.connect(2), Status::invalid);
    tcp.connect_answer = Status::exhausted;
    EXPECT_EQ(device.connect(id), Status::exhausted);
    EXPECT_EQ(device.network().initiate_transfer(nhi::Transfer(id)), Status::unreachable)
        << "it is not called";
    tcp.connect_answer = Status::ok;
    EXPECT_EQ(device.connect(id), Status::ok);
    EXPECT_EQ(device.network().initiate_transfer(nhi::Transfer(id)), Status::again);
    EXPECT_EQ(device.connect(id), Status::ok) << "once more";
    EXPECT_EQ(tcp.at(id).connects, 3u);
    tcp.lose(id, Status::unreachable, "it is not there");
    (void)device.network().poll(tcp.time += kMs);
    EXPECT_EQ(device.connect(id), Status::lost);
    EXPECT_EQ(tcp.at(id).connects, 3u);
    // The call is over: TCP is looked at by time only.
    (void)device.network().poll(tcp.time);
    const unsigned polls = tcp.polls;
    for (unsigned i = 0; i < 3; ++i) (void)device.network().poll(tcp.time);
    EXPECT_EQ(tcp.polls, polls);
}

TEST_F(ucx_device, connect__to_one_that_leaves) {
    ASSERT_NO_FATAL_FAILURE(attach());
    Hello hello;
    std::memcpy(&hello, tcp.at(1).here->data(), sizeof hello);
    hello.farewell = 100;  // and its frames are not here
    std::memcpy(tcp.at(1).here->data(), &hello, sizeof hello);
    EXPECT_EQ(device.connect(1), Status::ok);
    tcp.lose(1, Status::not_found, "it has closed");
    (void)device.network().poll(tcp.time += kMs);
    EXPECT_TRUE(own[0].told.lost.empty());
    EXPECT_EQ(device.connect(1), Status::lost);
}

TEST_F(ucx_device, block__from_the_arrival_on) {
    nhi::PeerId id = nhi::kNoPeer;
    ASSERT_EQ(device.add_peer(own[1].device->card(), &id), Status::ok);
    EXPECT_TRUE(device.block(id).empty());
    EXPECT_EQ(device.sizes(id), 0u);
    EXPECT_TRUE(device.block(99).empty());
    EXPECT_EQ(device.sizes(99), 0u);
    ASSERT_EQ(device.connect(id), Status::ok);
    EXPECT_TRUE(device.block(id).empty());
    ASSERT_NO_FATAL_FAILURE(attach());
    EXPECT_EQ(device.block(id).size(), kBlock);
    EXPECT_EQ(device.sizes(id), 1001u);
    tcp.lose(id, Status::lost, "it has died");
    turns();
    EXPECT_EQ(own[0].told.lost.size(), 1u);
    EXPECT_EQ(device.block(id).size(), kBlock) << "its last writes are read";
}

TEST_F(ucx_device, transfer__arrives_whoever_called) {
    ASSERT_NO_FATAL_FAILURE(attach());
    for (unsigned i = 0; i < 2; ++i) {
        EXPECT_EQ(own[i].device->network().initiate_transfer(
                      nhi::Transfer(1).put(nhi::LcsAddress{0}, i == 0 ? "one" : "two", 3)),
                  Status::ok);
    }
    turns();
    EXPECT_EQ(std::memcmp(own[1].device->block(1).data(), "one", 3), 0);
    EXPECT_EQ(std::memcmp(own[0].device->block(1).data(), "two", 3), 0);
}

// --- closing ---

/// The process says how much it has sent, so that its peers wait for all of it.
TEST_F(ucx_device, close__says_goodbye) {
    ASSERT_NO_FATAL_FAILURE(attach());
    const HandTcp::Block told = tcp.at(1).there;
    own[0].device.reset();
    Hello hello;
    std::memcpy(&hello, told->data(), sizeof hello);
    EXPECT_EQ(hello.farewell, 2u);
    EXPECT_FALSE(ucx.workers[0]->is_there);
}

TEST_F(ucx_device, close__before_anybody_is_met) {
    nhi::PeerId id = nhi::kNoPeer;
    ASSERT_EQ(device.add_peer(own[1].device->card(), &id), Status::ok);
    ASSERT_EQ(device.connect(id), Status::ok);
    own[0].device.reset();
    EXPECT_FALSE(ucx.workers[0]->is_there);
}

/// At each step of a meeting: the other one hears that this one has gone, once.
TEST_F(ucx_device, close__while_two_meet) {
    for (unsigned steps = 0; steps < 8; ++steps) {
        own[0] = made(100 + 2 * steps);
        own[1] = made(101 + 2 * steps);
        for (Own& each : own) each.device->set_listener(&each.told);
        HandTcp::link(*own[0].tcp, *own[1].tcp);
        for (Own& each : own) each.tcp->meet(1);
        for (unsigned i = 0; i < steps; ++i) {
            Own& its = own[i % 2];
            (void)its.device->network().poll(its.tcp->time += kMs);
        }
        own[0].device.reset();
        own[1].tcp->lose(1, Status::not_found, "it has closed");
        for (unsigned i = 0; i < 8; ++i) {
            (void)own[1].device->network().poll(own[1].tcp->time += kMs);
        }
        EXPECT_EQ(own[1].told.lost.size(), 1u) << steps;
        EXPECT_LE(own[1].told.attached.size(), 1u) << steps;
        EXPECT_EQ(own[1].device->connect(1), Status::lost);
    }
}

/// Frames that UCX has not taken end with the way, and their memory is this process's again.
TEST_F(ucx_device, peer__that_is_lost_while_frames_wait) {
    ASSERT_NO_FATAL_FAILURE(attach());
    UcxInMemory::Endpoint& there =
        *(ucx.endpoints[0]->from == ucx.workers[0].get() ? ucx.endpoints[0] : ucx.endpoints[1]);
    there.takes = false;
    for (unsigned i = 0; i < 9; ++i) {
        ASSERT_EQ(device.network().initiate_transfer(nhi::Transfer(1)), Status::ok);
    }
    EXPECT_FALSE(device.network().is_idle());
    tcp.lose(1, Status::lost, "it has died");
    turns();
    ASSERT_EQ(own[0].told.lost.size(), 1u);
    EXPECT_TRUE(there.is_closed);
    EXPECT_EQ(device.network().initiate_transfer(nhi::Transfer(1)), Status::lost);
    EXPECT_TRUE(device.network().is_idle());
    EXPECT_EQ(ucx.requests_left(), 0u);
}

/// A child of fork() leaves UCX and the goodbye to its parent.
TEST_F(ucx_device, close__in_a_child_of_fork_leaves_all_to_the_parent) {
    ASSERT_NO_FATAL_FAILURE(attach());
    const HandTcp::Block told = tcp.at(1).there;
    const pid_t child = fork();
    if (child == 0) {
        own[0].device.reset();
        Hello hello;
        std::memcpy(&hello, told->data(), sizeof hello);
        const bool is_left = ucx.workers[0]->is_there && !ucx.endpoints[0]->is_closed &&
                             !ucx.endpoints[1]->is_closed && hello.farewell == 0;
        _exit(is_left ? 0 : 1);
    }
    int status = -1;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
    EXPECT_EQ(device.network().initiate_transfer(nhi::Transfer(1)), Status::ok);
}

}  // namespace
}  // namespace fci::ucx::test
