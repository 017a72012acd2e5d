// SPDX-License-Identifier: BSD-3-Clause
// Bursts over a tcp device: what is written between two polls comes together, and none of it waits
// for the next one.
#include <sys/socket.h>

#include <cstring>

#include "test/unit/drivers/calls.h"
#include "test/unit/drivers/tcp_party.h"

namespace fci::tcp {
namespace {

struct TcpBurst : testing::Test {
    void SetUp() override {
        calls.corked.clear();
        sender.device->count_in(counters);
        ASSERT_EQ(sender.device->add_peer(receiver.device->card(), &there), Status::ok);
        ASSERT_EQ(sender.device->connect(there), Status::ok);
        ASSERT_TRUE(sender.until([&] {
            receiver.turn();
            return sender.listener.attached.size() + receiver.listener.attached.size() == 2;
        }));
        here = receiver.listener.attached[0];
        sender.turns(10);
    }
    void write(std::uint64_t number) {
        const std::uint64_t value = number + 1;
        nhi::Transfer transfer(there);
        transfer.put(nhi::LcsAddress{8 * number}, &value, sizeof value);
        ASSERT_EQ(sender.device->network().initiate_transfer(transfer), Status::ok);
    }
    bool has(std::uint64_t number) {
        std::uint64_t value = 0;
        std::memcpy(&value, receiver.device->block(here).data() + 8 * number, sizeof value);
        return value == number + 1;
    }

    Counters counters;
    Party sender, receiver;
    nhi::PeerId there = nhi::kNoPeer, here = nhi::kNoPeer;
};

TEST_F(TcpBurst, write__the_first_one_goes_at_once) {
    write(0);
    write(1);
    EXPECT_TRUE(receiver.until([&] { return has(0); }));
}

// By the kernel's own limit of 200 ms.
TEST_F(TcpBurst, write__the_last_one_goes_by_itself) {
    constexpr unsigned kMany = 100;
    for (unsigned i = 0; i < kMany; ++i) write(i);
    EXPECT_TRUE(receiver.until([&] { return has(kMany - 1); }));
    EXPECT_EQ(counters.network_writes, kMany);
}

TEST_F(TcpBurst, poll__ends_it) {
    for (unsigned i = 0; i < 5; ++i) write(i);
    sender.turn();
    EXPECT_TRUE(calls.corked.empty()) << "the kernel would have to send it by itself";
    EXPECT_TRUE(receiver.until([&] { return has(4); }));
}

TEST_F(TcpBurst, write__after_a_while_begins_another_one) {
    for (unsigned i = 0; i < 5; ++i) write(i);
    usleep(1000);
    write(5);
    EXPECT_TRUE(calls.corked.empty());
    EXPECT_TRUE(receiver.until([&] { return has(5); }));
}

TEST_F(TcpBurst, write__that_may_wait_goes_with_the_next_one) {
    const std::uint64_t value = 1;
    nhi::Transfer first(there);
    first.put(nhi::LcsAddress{0}, &value, sizeof value).let_wait();
    ASSERT_EQ(sender.device->network().initiate_transfer(first), Status::ok);
    EXPECT_EQ(counters.network_writes, 0u);
    write(1);
    EXPECT_EQ(counters.network_writes, 1u);
    EXPECT_TRUE(receiver.until([&] { return has(0) && has(1); }));
}

TEST_F(TcpBurst, poll__sends_what_may_wait) {
    const std::uint64_t value = 1;
    nhi::Transfer first(there);
    first.put(nhi::LcsAddress{0}, &value, sizeof value).let_wait();
    ASSERT_EQ(sender.device->network().initiate_transfer(first), Status::ok);
    EXPECT_FALSE(sender.device->network().is_idle());
    sender.turn();
    EXPECT_TRUE(sender.device->network().is_idle());
    EXPECT_TRUE(receiver.until([&] { return has(0); }));
}

}  // namespace
}  // namespace fci::tcp
