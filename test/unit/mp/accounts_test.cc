// SPDX-License-Identifier: BSD-3-Clause
// What both sides keep count of must come out even, however long it goes on: a sender that is owed
// something would wait for ever.
#include <gtest/gtest.h>

#include <algorithm>

#include "test/unit/mp/pair.h"

namespace fci::mp::test {
namespace {

constexpr std::size_t kLong = 50'000;
constexpr int kRounds = 3000;  // times what a message takes, more than all that may be unexpected

class balance : public ::testing::TestWithParam<const Protocol*> {};
INSTANTIATE_TEST_SUITE_P(protocols, balance, ::testing::ValuesIn(kProtocols),
                         protocol_name);

TEST(accounts, unexpected__is_what_it_was_once_all_is_received) {
    Pair p;
    p.attach();
    auto data = pattern(40);
    std::vector<std::byte> to(40);
    int sent = 0, received = 0;
    for (int round = 0; round < 20; ++round) {
        // As many as get through, and no sign from the receiver but what receiving gives.
        Limit limit("an end of what gets through");
        while (p.send(0, 0, 7, data, sent++) == kDone && limit.holds()) p.settle();
        p.settle();
        while (received < sent) {
            to.assign(to.size(), std::byte{});
            p.receive(1, 7, to, 100'000 + received);
            p.settle();
            ASSERT_TRUE(p.recorder.has(100'000 + received)) << round;
            EXPECT_EQ(p.recorder.outcomes[100'000 + received].immediate, 0u);
            ++received;
            ASSERT_EQ(to, data);
        }
    }
    EXPECT_EQ(p.ends[0]->engine().orders.used() + p.ends[1]->engine().orders.used(), 0u);
    EXPECT_GT(sent, 20 * 600);
}

TEST(accounts, credit__is_returned_twice_in_every_lap) {
    Pair p;
    p.attach();
    auto data = pattern(8);
    std::vector<std::byte> to(8);
    const std::uint64_t before = p.ends[1]->engine().counters.credits_returned;
    const std::uint64_t slots = small_limits().layout.slots;
    for (std::uint64_t i = 0; i < 16 * slots; ++i) {
        p.receive(1, 7, to, static_cast<int>(10'000 + i));
        ASSERT_EQ(p.send(0, 0, 7, data, 0), kDone) << i;
        p.settle();
    }
    EXPECT_EQ(p.ends[1]->engine().counters.credits_returned - before, 2u * 16);
}

// The credit comes between the refusal and the sleep: who then looks whether anything is there must
// be told, for what has come already wakes nobody.
TEST(accounts, refused__sends_are_ready_as_soon_as_there_is_room) {
    for (const std::size_t bytes : {std::size_t{8}, std::size_t{4000}}) {
        Pair p;
        p.attach();
        auto data = pattern(bytes);
        std::vector<std::byte> to(bytes);
        int sent = 0;
        // It is the memory for what nobody asked for that runs out; slots come back.
        while (p.send(0, kSendBuffered, 7, data, sent) == kDone && sent < 10'000) {
            ++sent;
            p.settle();
        }
        ASSERT_LT(sent, 10'000);
        EXPECT_FALSE(p.ends[0]->ready()) << bytes;
        for (int i = 0; i < sent; ++i) {
            ASSERT_EQ(p.receive(1, 7, to, 100'000 + i), kDone) << i;
        }
        p.turns(1, 10);
        p.devices[0]->network().poll(0);
        EXPECT_TRUE(p.ends[0]->ready()) << bytes;
        EXPECT_EQ(p.send(0, kSendBuffered, 7, data, sent), kDone) << bytes;
        p.turns(0, 1);
        EXPECT_FALSE(p.ends[0]->ready()) << bytes;
    }
}

TEST_P(balance, synchronous__messages_that_were_waited_for_take_no_room) {
    Pair p(*GetParam());
    p.attach();
    auto data = pattern(40);
    std::vector<std::byte> to(40);
    for (int i = 0; i < kRounds; ++i) {
        p.receive(1, 7, to, 10'000 + i);
        p.send(0, kSendSynchronous, 7, data, i);
        p.settle();
        ASSERT_TRUE(p.recorder.has(i) && p.recorder.has(10'000 + i)) << i;
    }
}

TEST(accounts, offers__used_up_by_short_messages_are_no_offers_any_more) {
    Pair p(kEnhancedMixed);
    p.attach();
    auto tiny = pattern(4);
    std::vector<std::byte> to(kLong);
    for (int i = 0; i < 3 * static_cast<int>(Peer::kOffersMost); ++i) {
        p.receive(1, 5, to, i);
        ASSERT_EQ(p.ends[1]->engine().counters.receives_offered, static_cast<unsigned>(i + 1));
        p.both(20);
        ASSERT_EQ(p.send(0, 0, 5, tiny, 1000 + i), kDone);
        p.both(20);
        ASSERT_TRUE(p.recorder.has(i));
    }
}

TEST(accounts, paths__of_long_messages_are_all_tried) {
    for (const Protocol* const protocol : {&kEnhancedMixed, &kTwoSided}) {
        Pair p(*protocol, {.mapped = true, .kernel_copy = true});
        p.attach();
        auto data = pattern(10 * kLong);
        std::vector<std::byte> to(100 * kLong);  // offers are made for the longest there may come
        for (int i = 0; i < 16; ++i) {
            p.receive(1, 5, to, i);
            p.both(50);
            p.send(0, 0, 5, data, 1000 + i);
            p.settle();
            ASSERT_TRUE(std::equal(data.begin(), data.end(), to.begin()));
        }
        EXPECT_GT(p.ends[1]->engine().counters.ring_bytes, 0u);
        EXPECT_GT(p.ends[1]->engine().counters.kernel_bytes, 0u);
        EXPECT_GT(p.ends[0]->engine().counters.kernel_bytes, 0u);  // shared
    }
}

TEST(accounts, copy__that_finds_no_memory_ends_both_sides_and_nothing_else) {
    using Policy = CopyPath::Policy;
    for (const Policy policy : {Policy::pull, Policy::shared}) {
        for (const Protocol* const protocol : {&kEnhancedMixed, &kTwoSided}) {
            Limits limits = small_limits();
            limits.copy = policy;
            Pair p(*protocol, {.mapped = true, .kernel_copy = true, .copy_faults = true},
                   limits);
            p.attach();
            auto data = pattern(kLong), tiny = pattern(8);
            std::vector<std::byte> to(kLong), small(8);
            p.receive(1, 5, to, 1);
            p.both(50);
            p.send(0, 0, 5, data, 2);
            p.settle();
            EXPECT_EQ(p.recorder.error(1), kFault);
            EXPECT_EQ(p.recorder.error(2), kFault);
            if (protocol == &kTwoSided) continue;  // there all data is copied
            p.receive(1, 6, small, 3);
            p.send(0, 0, 6, tiny, 4);
            p.settle();
            EXPECT_EQ(small, tiny);
            EXPECT_EQ(p.ends[0]->engine().orders.used() + p.ends[1]->engine().orders.used(), 0u);
        }
    }
}

TEST(accounts, ranks__that_were_never_added_are_nobody) {
    Pair p;
    p.attach();
    std::byte one{};
    const iovec range{&one, 1};
    const nhi::PeerId beyond = p.devices[0]->peers();
    Outcome outcome{};
    EXPECT_EQ(p.ends[0]->receive({beyond, 0, 5, 0}, {&range, 1}, p.recorder.on(1), nullptr,
                                 &outcome),
              kNoEntry);
    EXPECT_EQ(p.ends[0]->send({beyond, 0, 0, 5, 0, {&range, 1}}, p.recorder.on(2), nullptr),
              kNoEntry);
    EXPECT_EQ(p.ends[0]->engine().orders.used(), 0u);
}

TEST(accounts, sever__nothing_of_a_peer_is_looked_at_any_more) {
    Pair p;
    p.attach();
    auto data = pattern(8);
    p.ends[1]->meetings().sever();
    p.send(0, 0, 5, data, 1);
    p.both();
    EXPECT_EQ(p.ends[1]->engine().arrived.size(), 0u);
    EXPECT_FALSE(p.ends[1]->ready());
}

}  // namespace
}  // namespace fci::mp::test
