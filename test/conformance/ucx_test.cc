// SPDX-License-Identifier: BSD-3-Clause
// The ucx driver beyond the contract of all: what a process keeps that has opened UCX, and pairs.
#include <arpa/inet.h>
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>

#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>

#include "drivers/ucx/ucx.h"
#include "fci_core/nhi/transfer.h"
#include "test/conformance/ucx_here.h"
#include "test/unit/limit.h"

namespace fci::ucx {
namespace {

/// The library that handles the signal; empty: none does.
std::string handler_of(int number) {
    struct sigaction now {};
    Dl_info where;
    if (sigaction(number, nullptr, &now) != 0 || now.sa_handler == SIG_DFL) return {};
    const bool is_known = dladdr(reinterpret_cast<void*>(now.sa_handler), &where) != 0;
    return is_known ? where.dli_fname : "";
}

TEST(ucx, open__leaves_signals_and_environment) {
    std::string text;
    if (!conformance::is_ucx_here(&text)) GTEST_SKIP() << text;
    EXPECT_TRUE(probe_ucx(&text)) << text;
    EXPECT_EQ(text.rfind("UCX 1.", 0), 0u) << text;
    ddi::Settings settings;
    settings.block_bytes = 4096;
    Status status;
    ASSERT_NE(open_ucx(settings, &status, &text), nullptr) << text;
    for (int number = 1; number < NSIG; ++number) {
        EXPECT_EQ(handler_of(number).find("libucs"), std::string::npos) << number;
    }
    EXPECT_EQ(std::getenv("UCX_ERROR_SIGNALS"), nullptr);
    EXPECT_EQ(std::getenv("UCX_DEBUG_SIGNO"), nullptr);
}

/// Two processes of one job, over UCX's TCP.
struct ucx_pair : testing::Test {
    static constexpr std::size_t kBlock = 64 * 1024;
    struct Ear final : ddi::PeerListener {
        unsigned attached = 0, strangers = 0;
        Status lost = Status::ok;
        std::string reason;
        void peer_attached(nhi::PeerId) override { ++attached; }
        void peer_lost(nhi::PeerId, Status why, const std::string& text) override {
            lost = why;
            reason = text;
        }
        void stranger_came() noexcept override { ++strangers; }
    };
    void SetUp() override {
        std::string text;
        if (!conformance::is_ucx_here(&text)) GTEST_SKIP() << text;
        setenv("UCX_TLS", "tcp", 1);
        setenv("UCX_NET_DEVICES", "lo", 1);
        for (unsigned i = 0; i < 2; ++i) {
            ddi::Settings settings;
            settings.block_bytes = kBlock;
            settings.sizes = 17 + i;
            settings.communication_bytes = 4096;
            settings.wanted.host = htonl(INADDR_LOOPBACK);
            Status status;
            device[i] = open_ucx(settings, &status, &text);
            ASSERT_NE(device[i], nullptr) << text;
            device[i]->set_listener(&ear[i]);
        }
    }
    void turn() {
        for (const auto& each : device) {
            if (each) (void)each->network().poll(each->now());
        }
    }
    template <class Reached>
    bool until(Reached reached) {
        for (Limit limit("a pair"); limit.holds(); turn()) {
            if (reached()) return true;
        }
        return false;
    }
    void attach() {
        ASSERT_EQ(device[0]->add_peer(device[1]->card(), &id), Status::ok);
        ASSERT_EQ(device[0]->connect(id), Status::ok);
        ASSERT_TRUE(until([&] { return ear[0].attached == 1 && ear[1].attached == 1; }));
    }
    Ear ear[2];
    std::unique_ptr<ddi::Device> device[2];
    nhi::PeerId id = nhi::kNoPeer;
};

TEST_F(ucx_pair, memory__grows_by_a_block_for_each_peer) {
    const MemoryUse before = device[0]->memory();
    EXPECT_GE(before.fixed, 4096u);
    ASSERT_NO_FATAL_FAILURE(attach());
    const MemoryUse after = device[0]->memory();
    EXPECT_GE(after.connected - before.connected, kBlock);
    EXPECT_LT(after.connected - before.connected, 2 * kBlock);
    EXPECT_GT(after.known, 0u);
    EXPECT_STREQ(device[0]->about(id).way, "ucx");
    EXPECT_EQ(device[0]->sizes(id), 18u);
    EXPECT_EQ(device[0]->sizes(99), 0u);
}

TEST_F(ucx_pair, sleep__of_no_time_comes_back) {
    ASSERT_NO_FATAL_FAILURE(attach());
    device[0]->sleep(0);
    const Nanoseconds before = device[0]->now();
    device[0]->sleep(5'000'000);
    EXPECT_GE(device[0]->now() - before, 4'900'000);
}

/// A process that will sleep on the descriptor is rung where a message came before, and only then.
TEST_F(ucx_pair, wait_fd__is_readable_until_the_message_is_taken) {
    ASSERT_NO_FATAL_FAILURE(attach());
    nhi::NetworkInterface& network = device[0]->network();
    ASSERT_EQ(network.configure_event(3, {.flag = true, .interrupt = true}), Status::ok);
    const auto is_readable = [&] {
        pollfd wanted{device[0]->wait_fd(), POLLIN, 0};
        return ::poll(&wanted, 1, 0) == 1;
    };
    for (std::uint32_t round = 1; round <= 20; ++round) {
        ASSERT_EQ(device[1]->network().initiate_transfer(nhi::Transfer(1).raise(3)), Status::ok);
        const auto is_rung = [&] {
            EXPECT_EQ(network.mask_event_interrupt(3, true), Status::ok);
            EXPECT_EQ(network.mask_event_interrupt(3, false), Status::ok);
            return is_readable();
        };
        for (Limit limit("a ring"); limit.holds() && !is_rung();) {
        }
        ASSERT_TRUE(until([&] { return network.event_count(3) == round; }));
        EXPECT_TRUE(until([&] { return !is_readable(); }));
    }
}

/// All that the peer wrote is there before its end is told.
TEST_F(ucx_pair, close__is_told_after_all_that_was_sent) {
    ASSERT_NO_FATAL_FAILURE(attach());
    for (std::uint64_t word = 1; word <= 300; ++word) {
        nhi::Transfer transfer(1);
        transfer.put(nhi::LcsAddress{8}, &word, sizeof word);
        while (device[1]->network().initiate_transfer(transfer) == Status::again) turn();
    }
    // Peers that it knows by their cards only need no goodbye.
    for (unsigned i = 0; i < 2; ++i) {
        ddi::Card card = device[0]->card();
        card.port = htons(static_cast<std::uint16_t>(ntohs(card.port) + 1 + i));
        nhi::PeerId known = nhi::kNoPeer;
        ASSERT_EQ(device[1]->add_peer(card, &known), Status::ok);
        ASSERT_EQ(device[1]->network().initiate_transfer(nhi::Transfer(known)),
                  known == 1 ? Status::ok : Status::unreachable);
    }
    device[1].reset();
    ASSERT_TRUE(until([&] { return ear[0].lost != Status::ok; }));
    EXPECT_EQ(ear[0].lost, Status::not_found) << ear[0].reason;
    std::uint64_t word = 0;
    std::memcpy(&word, device[0]->block(id).data() + 8, sizeof word);
    EXPECT_EQ(word, 300u);
    EXPECT_EQ(device[0]->connect(id), Status::lost);
    EXPECT_EQ(device[0]->connect(99), Status::invalid);
}

}  // namespace
}  // namespace fci::ucx
