// SPDX-License-Identifier: BSD-3-Clause
// The kernel as the tcp driver has it, where it refuses what it seldom refuses.
#include <poll.h>
#include <sys/eventfd.h>

#include <array>
#include <cstring>

#include "drivers/tcp/frame.h"
#include "drivers/tcp/kernel.h"
#include "test/unit/drivers/calls.h"
#include "test/unit/drivers/tcp_party.h"

namespace fci::tcp {
namespace {

constexpr Nanoseconds kSecond = 1'000'000'000;

/// So long as it lives the kernel watches nothing that it does not watch already.
struct NoWatch {
    explicit NoWatch(int error = ENOSPC) {
        calls.fail_watch = [error] { return error; };
    }
    ~NoWatch() { calls.fail_watch = {}; }
};

struct TcpKernel : testing::Test {
    TcpKernel() {
        std::string error;
        EXPECT_EQ(kernel.open(&error), Status::ok) << error;
        int pair[2];
        EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, pair), 0);
        here = host::Descriptor(pair[0]), there = host::Descriptor(pair[1]);
    }
    void watch() { kernel.watch(here.get(), Streams::Source::peer, 7, Streams::kIn); }
    void say() const { EXPECT_EQ(::send(there.get(), "x", 1, 0), 1); }
    void hear() const {
        char byte;
        EXPECT_EQ(::recv(here.get(), &byte, 1, 0), 1);
    }
    /// How often what is watched is said to have something.
    std::size_t look() {
        std::array<Streams::Event, Streams::kEventsMost> events;
        const std::size_t count = kernel.look(events);
        for (std::size_t i = 0; i < count; ++i) EXPECT_EQ(events[i].detail, 7u);
        return count;
    }
    /// The descriptor for others to sleep on is readable some time.
    [[nodiscard]] bool wakes() const {
        pollfd sleeps{kernel.fd(), POLLIN, 0};
        return ::poll(&sleeps, 1, 10'000) == 1;
    }

    Kernel kernel;
    host::Descriptor here, there;
};

TEST_F(TcpKernel, watch__what_is_refused_is_asked_for_and_offered_again) {
    {
        const NoWatch refused;
        watch();
        EXPECT_EQ(look(), 0u);
        say();
        EXPECT_EQ(look(), 1u);
        EXPECT_TRUE(kernel.wait(20 * kSecond));
        hear();
        EXPECT_EQ(look(), 0u);
        for (unsigned i = 0; i < 3; ++i) {
            kernel.ring_at(0);
            EXPECT_TRUE(wakes()) << "whoever sleeps on it has to look";
            EXPECT_EQ(look(), 0u);
        }
    }
    EXPECT_EQ(look(), 0u) << "now it is taken";
    const NoWatch refused;
    kernel.ring_at(0);
    say();
    EXPECT_TRUE(wakes());
    EXPECT_EQ(look(), 1u);
}

TEST_F(TcpKernel, watch__what_is_refused_and_given_up_is_not_asked_for) {
    const NoWatch refused;
    say();
    watch();
    EXPECT_EQ(look(), 1u);
    kernel.forget(here.get());
    EXPECT_EQ(look(), 0u);
    watch();
    EXPECT_EQ(look(), 1u);
    kernel.close(here.release());
    EXPECT_EQ(look(), 0u);
    EXPECT_FALSE(kernel.wait(1'000'000));
}

TEST_F(TcpKernel, call__tells_an_address_that_has_gone_from_ports_that_are_used_up) {
    ddi::Card from{AF_INET, 0, htonl(0xc0000201), 1};  // 192.0.2.1, which nobody has
    const ddi::Card to{AF_INET, htons(9), htonl(INADDR_LOOPBACK), 2};
    EXPECT_EQ(kernel.call(from, to), -EADDRNOTAVAIL);
    from.host = to.host;
    calls.fail_connect = [] { return EADDRNOTAVAIL; };
    EXPECT_EQ(kernel.call(from, to), -EAGAIN);
    calls.fail_connect = {};
}

TEST(tcp_kernel, open__fails_where_nothing_is_watched) {
    const NoWatch refused;
    Kernel kernel;
    std::string error;
    EXPECT_EQ(kernel.open(&error), Status::exhausted);
    EXPECT_NE(error.find("max_user_watches"), std::string::npos) << error;
}

TEST(tcp_kernel, sign__of_what_the_peer_has_answered) {
    Party party;
    const Caller caller(party.device->card());
    Kernel kernel;
    caller.say("x", 1);
    Pulse::Sign sign;
    Limit limit("an answer of the other side's kernel");
    do {
        sign = {true, -1};
        ASSERT_TRUE(kernel.sign(caller.socket.get(), &sign));
    } while (sign.is_owed && limit.holds());
    EXPECT_GE(sign.heard_ago, 0);
    const host::Descriptor other(eventfd(0, 0));
    EXPECT_FALSE(kernel.sign(other.get(), &sign)) << "nothing is known of what is no connection";
}

// Of more peers than are read without asking the kernel first.
TEST(tcp_kernel, peers__that_the_kernel_does_not_watch_are_heard) {
    Party party;
    const NoWatch refused(ENOMEM);
    std::vector<std::unique_ptr<Caller>> peers;
    for (std::uint64_t i = 0; i < 4; ++i) {
        peers.push_back(std::make_unique<Caller>(party.device->card()));
        Hello hello = hello_to(party);
        hello.from.incarnation += i;
        peers[i]->say(&hello, sizeof hello);
        Hello answer{};
        ASSERT_TRUE(peers[i]->hear(party, &answer));
        ASSERT_TRUE(party.until([&] { return party.listener.attached.size() == i + 1; }));
    }
    for (std::uint64_t i = 0; i < 4; ++i) {
        const FrameHead transfer{FrameKind::transfer, 1, 0, 0};
        const PartHead part{8, 8};
        const std::uint64_t word = 5 + i;
        peers[i]->say(&transfer, sizeof transfer);
        peers[i]->say(&part, sizeof part);
        peers[i]->say(&word, sizeof word);
        const bool sleeps = i % 2 != 0;
        EXPECT_TRUE(party.until([&] {
            if (sleeps) party.device->sleep(100'000'000);
            std::uint64_t told = 0;
            std::memcpy(&told, party.device->block(party.listener.attached[i]).data() + 8, 8);
            return told == word;
        }));
    }
}

}  // namespace
}  // namespace fci::tcp
