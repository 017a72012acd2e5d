// SPDX-License-Identifier: BSD-3-Clause
// The room's own figures: which side copied, the memory held, whether work is left.
#include <gtest/gtest.h>

#include <string>

#include "test/unit/mp/pair.h"

namespace fci::mp::test {
namespace {

constexpr std::size_t kLong = 1 << 20;

Limits kernel_limits() {
    Limits limits = small_limits();
    limits.copy = CopyPath::Policy::shared;
    return limits;
}

/// One long message, announced before its receive is posted; bytes that each side copied.
void copy_one(sim::WorldOptions options, std::uint64_t* by_sender, std::uint64_t* by_receiver) {
    Pair p(kTwoSided, options, kernel_limits());
    p.attach();
    auto data = pattern(kLong);
    std::vector<std::byte> to(kLong);
    p.send(0, 0, 7, data, 1);
    p.both(4);
    p.receive(1, 7, to, 2);
    p.settle();
    EXPECT_EQ(p.recorder.error(1), kSuccess);
    EXPECT_EQ(p.recorder.error(2), kSuccess);
    EXPECT_EQ(to, data);
    *by_sender = p.ends[0]->engine().counters.kernel_bytes;
    *by_receiver = p.ends[1]->engine().counters.kernel_bytes;
    EXPECT_EQ(p.ends[1]->engine().counters.ring_bytes, options.kernel_copy ? 0 : kLong);
}

TEST(figures, kernel_copy__by_both_where_they_can_share_a_word) {
    std::uint64_t sender = 0, receiver = 0;
    copy_one({.mapped = true, .kernel_copy = true}, &sender, &receiver);
    EXPECT_EQ(sender + receiver, kLong);
    EXPECT_GT(sender, 0u);
    EXPECT_GT(receiver, 0u);
}

TEST(figures, kernel_copy__by_the_receiver_alone_otherwise) {
    std::uint64_t sender = 0, receiver = 0;
    copy_one({.mapped = false, .kernel_copy = true}, &sender, &receiver);
    EXPECT_EQ(sender, 0u);
    EXPECT_EQ(receiver, kLong);
    copy_one({.mapped = true, .kernel_copy = false}, &sender, &receiver);
    EXPECT_EQ(sender + receiver, 0u);
}

TEST(figures, kernel_copy__many_at_once_need_more_words_than_there_are) {
    Pair p(kTwoSided, {.mapped = true, .kernel_copy = true}, kernel_limits());
    p.attach();
    constexpr int kMany = 100;
    std::vector<std::vector<std::byte>> to(kMany, std::vector<std::byte>(kLong / 4));
    auto data = pattern(kLong / 4);
    for (int round = 0; round < 3; ++round) {
        for (int i = 0; i < kMany; ++i) {
            to[i].assign(kLong / 4, std::byte{});
            p.send(0, 0, i, data, round * 1000 + i);
        }
        p.both(20);
        for (int i = 0; i < kMany; ++i) p.receive(1, i, to[i], round * 1000 + 500 + i);
        p.settle();
        for (int i = 0; i < kMany; ++i) {
            ASSERT_EQ(p.recorder.error(round * 1000 + 500 + i), kSuccess);
            ASSERT_EQ(to[i], data);
        }
    }
    EXPECT_EQ(p.ends[0]->engine().orders.used() + p.ends[1]->engine().orders.used(), 0u);
}

TEST(figures, connected_peers__without_the_process_itself) {
    Pair p;
    EXPECT_EQ(p.ends[0]->engine().peers.connected(), 0u);
    p.attach();
    EXPECT_EQ(p.ends[0]->engine().peers.connected(), 1u);
    auto data = pattern(10);
    p.send_to(0, nhi::kSelf, 0, 7, data, 1);
    p.settle();
    EXPECT_EQ(p.ends[0]->engine().peers.connected(), 1u);
    EXPECT_EQ(p.ends[0]->engine().counters.peers_attached, 1u);
    EXPECT_EQ(p.ends[0]->engine().arrived.size(), 1u);
}

TEST(figures, memory__of_messages_that_wait) {
    Pair p;
    p.attach();
    const MemoryUse before = p.ends[1]->memory();
    EXPECT_GT(before.fixed, small_limits().eager_bytes);
    EXPECT_GE(before.connected, sizeof(Peer));
    EXPECT_LT(before.connected, 2 * sizeof(Peer) + 4096) << "and a page of rows";
    EXPECT_GT(before.known, 0u);
    auto data = pattern(1000);
    for (int i = 0; i < 20; ++i) p.send(0, 0, 7, data, i);
    p.settle();
    const std::uint64_t held = p.ends[1]->memory().unexpected - before.unexpected;
    EXPECT_GE(held, 20 * 1000u);
    EXPECT_LE(held, 20 * (1000 + sizeof(Arrived)));
    std::vector<std::byte> to(1000);
    for (int i = 0; i < 20; ++i) EXPECT_EQ(p.receive(1, 7, to, 100 + i), kDone);
    EXPECT_EQ(p.ends[1]->memory().unexpected, before.unexpected);
}

TEST(figures, reason__of_nobody_is_empty) {
    Pair p;
    p.attach();
    EXPECT_STREQ(p.ends[0]->engine().peers.reason(p.there[0]), "");
    EXPECT_STREQ(p.ends[0]->engine().peers.reason(99), "");
}

TEST(figures, is_from_anybody__among_the_oldest_receives) {
    Pair p;
    p.attach();
    std::vector<std::byte> to(8);
    EXPECT_FALSE(p.ends[0]->awaited().is_from_anybody());
    for (int i = 0; i < 63; ++i) p.receive(0, i, to, i);
    EXPECT_FALSE(p.ends[0]->awaited().is_from_anybody());
    std::uint32_t handle = 0;
    p.receive(0, 1000, to, 1000, &handle, true);
    EXPECT_TRUE(p.ends[0]->awaited().is_from_anybody());
    EXPECT_EQ(p.ends[0]->cancel(handle), kSuccess);
    p.settle();
    EXPECT_FALSE(p.ends[0]->awaited().is_from_anybody());
    p.receive(0, 63, to, 63);
    p.receive(0, 1000, to, 1001, nullptr, true);
    EXPECT_FALSE(p.ends[0]->awaited().is_from_anybody());  // too far back to be looked for
}

TEST(figures, ready_and_drained__as_long_as_something_is_left) {
    Pair p;
    p.attach();
    p.settle();
    auto data = pattern(200'000);
    for (const int who : {0, 1}) {
        EXPECT_FALSE(p.ends[who]->ready());
        EXPECT_TRUE(p.ends[who]->drained());
        EXPECT_TRUE(p.ends[who]->engine().orders.sends_taken());
    }
    ASSERT_EQ(p.send(0, 0, 7, data, 1), kAccepted);
    EXPECT_TRUE(p.ends[0]->drained());  // announced: the other side has to ask
    EXPECT_FALSE(p.ends[0]->engine().orders.sends_taken());
    Limit limit("the message");
    while (!p.ends[1]->ready() && limit.holds()) p.devices[1]->network().poll(0);
    p.settle();
    EXPECT_FALSE(p.ends[1]->ready());
    std::vector<std::byte> to(200'000);
    p.receive(1, 7, to, 2);
    // The data does not fit into the ring at once: there is something to do, and to be drained.
    bool busy = false;
    while (!p.recorder.has(1) && limit.holds()) {
        p.turns(0, 1);
        busy = busy || (p.ends[0]->ready() && !p.ends[0]->drained());
        p.turns(1, 1);
    }
    EXPECT_TRUE(busy);
    p.settle();
    EXPECT_TRUE(p.ends[0]->drained() && p.ends[0]->engine().orders.sends_taken() &&
                !p.ends[0]->ready());
    EXPECT_EQ(to, data);
}

TEST(figures, sends_taken__not_while_one_waits_for_its_slot) {
    Pair p;
    p.attach();
    auto data = pattern(8);
    int accepted = 0;
    for (int i = 0; i < 200; ++i) accepted += p.send(0, 0, 7, data, i) == kAccepted;
    EXPECT_GT(accepted, 100);
    EXPECT_FALSE(p.ends[0]->drained());
    EXPECT_FALSE(p.ends[0]->engine().orders.sends_taken());
    p.settle();
    EXPECT_TRUE(p.ends[0]->drained() && p.ends[0]->engine().orders.sends_taken());
    EXPECT_EQ(p.ends[1]->engine().arrived.size(), 200u);
}

}  // namespace
}  // namespace fci::mp::test
