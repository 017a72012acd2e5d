// SPDX-License-Identifier: BSD-3-Clause
// Peers that go: killed, or in order, with messages under way.
#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "test/unit/mp/pair.h"

using namespace fci;
using namespace fci::mp;
using namespace fci::mp::test;

class departure : public ::testing::TestWithParam<const Protocol*> {};
INSTANTIATE_TEST_SUITE_P(protocols, departure, ::testing::ValuesIn(kProtocols),
                         protocol_name);

TEST_P(departure, death__ends_what_needs_the_dead_and_names_it) {
    Pair p(*GetParam());
    p.attach();
    auto big = pattern(50'000);
    std::vector<std::byte> named(100), any(100);
    p.receive(0, 1, named, 1);
    p.receive(0, 2, any, 2, nullptr, true);
    EXPECT_EQ(p.send(0, 0, 7, big, 3), kAccepted);
    p.world.kill(1);
    p.turns(0, 2000);
    for (const int number : {1, 2, 3}) {
        ASSERT_TRUE(p.recorder.has(number)) << number;
        EXPECT_EQ(p.recorder.error(number), kPeerLost);
    }
    EXPECT_NE(std::string(p.ends[0]->engine().peers.reason(p.there[0])), "");
    EXPECT_EQ(p.send(0, 0, 7, big, 4), kPeerLost);
    EXPECT_EQ(p.ends[0]->engine().orders.used(), 0u);
}

TEST_P(departure, death__of_a_stranger_ends_a_receive_from_anybody_who_met_everybody) {
    Pair p(*GetParam());
    std::vector<std::byte> any(100);
    EXPECT_FALSE(p.ends[0]->awaited().is_from_anybody());
    p.receive(0, 2, any, 2, nullptr, true);
    EXPECT_TRUE(p.ends[0]->awaited().is_from_anybody());
    EXPECT_EQ(p.ends[0]->engine().peers.connected(), 0u);
    p.ends[0]->meetings().meet(1);  // itself
    p.settle();
    EXPECT_EQ(p.ends[0]->engine().peers.connected(), 0u);
    p.ends[0]->meetings().meet(2);
    p.settle();
    EXPECT_EQ(p.ends[0]->engine().peers.connected(), 1u);
    EXPECT_FALSE(p.recorder.has(2));
    p.world.kill(1);
    p.turns(0, 2000);
    ASSERT_TRUE(p.recorder.has(2));
    EXPECT_EQ(p.recorder.error(2), kPeerLost);
}

TEST_P(departure, is_wanted__by_a_caller_that_asked_for_something_in_particular) {
    Pair p(*GetParam());
    p.attach();
    std::vector<std::byte> some(100), any(100);
    EXPECT_FALSE(p.ends[0]->awaited().is_wanted());
    std::uint32_t mailbox = 0, named = 0;
    p.receive(0, 0, any, 1, &mailbox, true, ~std::uint64_t{0});
    EXPECT_FALSE(p.ends[0]->awaited().is_wanted()) << "whatever comes, from anybody";
    p.receive(0, 2, some, 2, &named, true, 0xff);
    EXPECT_TRUE(p.ends[0]->awaited().is_wanted());
    p.ends[0]->cancel(named);
    p.settle();
    EXPECT_FALSE(p.ends[0]->awaited().is_wanted());
    EXPECT_EQ(p.ends[0]->probe({p.there[0], 0, 7, 0}, nullptr, nullptr), kNoMessage);
    EXPECT_TRUE(p.ends[0]->awaited().is_wanted());
    EXPECT_FALSE(p.ends[0]->awaited().is_wanted()) << "nobody probed again";
    auto big = pattern(50'000);
    EXPECT_EQ(p.send(0, 0, 7, big, 3), kAccepted);
    EXPECT_TRUE(p.ends[0]->awaited().is_wanted()) << "until it is taken";
    p.ends[0]->cancel(mailbox);
    p.settle();
}

TEST_P(departure, is_wanted__by_a_caller_that_was_refused_before_its_peer_was_connected) {
    Pair p(*GetParam());
    auto some = pattern(8);
    const iovec range{some.data(), some.size()};
    const SendArguments buffered{p.there[0], 0, kSendBuffered, 7, 0, {&range, 1}};
    EXPECT_FALSE(p.ends[0]->awaited().is_wanted());
    EXPECT_EQ(p.ends[0]->send(buffered, {}, nullptr), kAgain);
    EXPECT_TRUE(p.ends[0]->awaited().is_wanted()) << "the connection wakes it";
    EXPECT_FALSE(p.ends[0]->awaited().is_wanted()) << "nobody tried again";
    p.attach();
}

TEST_P(departure, death__while_nobody_waits_for_anybody_is_told_to_the_next_one_once) {
    Pair p(*GetParam());
    p.attach();
    p.world.kill(1);
    p.turns(0, 2000);
    std::vector<std::byte> any(100);
    p.receive(0, 2, any, 2, nullptr, true);
    p.turns(0, 1);
    ASSERT_TRUE(p.recorder.has(2));
    EXPECT_EQ(p.recorder.error(2), kPeerLost);
    EXPECT_EQ(p.recorder.outcomes.at(2).source, p.there[0]);
    p.receive(0, 2, any, 3, nullptr, true);
    p.turns(0, 50);
    EXPECT_FALSE(p.recorder.has(3));
}

TEST_P(departure, probe__finds_what_the_dead_sent_and_then_hears_of_its_death) {
    Pair p(*GetParam());
    p.attach();
    EXPECT_GE(p.send(1, 0, 7, {}, 1), 0);
    p.both();
    p.world.kill(1);
    p.turns(0, 2000);
    const Pattern named{p.there[0], 0, 7, 0}, any{kAnySource, 0, 7, 0};
    Arrived* claimed = nullptr;
    const bool is_here = p.ends[0]->probe(any, nullptr, nullptr) == kSuccess;
    EXPECT_TRUE(is_here || !GetParam()->sends_data());
    EXPECT_EQ(p.ends[0]->probe(named, nullptr, &claimed), is_here ? kSuccess : kPeerLost);
    if (claimed != nullptr) p.ends[0]->receives().discard(*claimed);
    EXPECT_EQ(p.ends[0]->probe(named, nullptr, nullptr), kPeerLost);
    EXPECT_EQ(p.ends[0]->probe(any, nullptr, nullptr), kNoMessage);
}

// Under each protocol, and where their receiver has no memory left for messages.
TEST_P(departure, close__after_words_of_a_group_that_no_receive_takes) {
    for (const std::uint64_t unexpected : {64 * 1024, 64}) {
        SCOPED_TRACE(unexpected);
        Limits limits = small_limits();
        limits.unexpected_bytes = unexpected;
        Pair p(*GetParam(), {}, limits);
        p.attach();
        const auto take = [&](std::uint64_t match) {
            Outcome outcome{};
            const int answer = p.ends[1]->receive({p.there[1], kGroupSpace, match, 0}, {}, {},
                                                  nullptr, &outcome);
            return std::pair(answer, outcome.immediate);
        };
        for (const std::uint64_t match : {1, 2, 3}) {
            EXPECT_GE(p.ends[0]->send(
                          {p.there[0], kGroupSpace, kSendImmediate, match, 10 * match, {}}, {},
                          nullptr),
                      0);
        }
        p.settle();
        EXPECT_EQ(take(2), std::pair(kDone, std::uint64_t{20}));
        p.settle();
        EXPECT_TRUE(p.ends[0]->drained() && p.ends[0]->engine().orders.sends_taken());
        EXPECT_EQ(p.ends[0]->engine().orders.used(), 0u);
        p.ends[0].reset();
        p.devices[0].reset();
        p.turns(1, 2000);
        EXPECT_EQ(take(1), std::pair(kDone, std::uint64_t{10})) << "it is kept";
        EXPECT_EQ(take(3), std::pair(kDone, std::uint64_t{30}));
    }
}

TEST_P(departure, on_death__after_what_the_dead_sent) {
    Pair p(*GetParam());
    p.attach();
    struct Story {
        std::vector<int> events;
        nhi::PeerId dead = nhi::kNoPeer;
    } story;
    p.ends[0]->active_messages().set_handler(
        9,
        [](void* user, nhi::PeerId, const void*, std::size_t, const void*, std::uint64_t,
           ReceiveTarget*) { static_cast<Story*>(user)->events.push_back(1); },
        &story);
    p.ends[0]->meetings().on_death(
        [](void* user, nhi::PeerId dead) {
            static_cast<Story*>(user)->events.push_back(2);
            static_cast<Story*>(user)->dead = dead;
        },
        &story);
    EXPECT_GE(p.ends[1]->send(active_message(p.there[1], 9, 0, {}, {}), Completion{}, nullptr), 0);
    p.turns(1, 50);
    p.world.kill(1);
    p.turns(0, 2000);
    EXPECT_EQ(story.events, (std::vector<int>{1, 2}));
    EXPECT_EQ(story.dead, p.there[0]);
}

// The receiver copies all of it, says so and leaves, before the sender takes its next turn.
TEST(departures, leaving__after_copying_all_ends_the_send_well) {
    sim::WorldOptions options;
    options.mapped = options.kernel_copy = true;
    Limits limits = small_limits();
    limits.copy = CopyPath::Policy::shared;
    Pair p(kEnhancedMixed, options, limits);
    p.attach();
    auto data = pattern(300'000);
    std::vector<std::byte> to(data.size());
    for (const bool leaving : {false, true}) {  // by the second one both know that they may copy
        p.recorder.outcomes.clear();
        EXPECT_EQ(p.send(0, 0, 7, data, 1), kAccepted);
        p.turns(0, 50);
        p.receive(1, 7, to, 2);
        p.turns(1, 50);
        if (!leaving) p.both();
        ASSERT_TRUE(p.recorder.has(2));
        EXPECT_EQ(to, data);
    }
    EXPECT_TRUE(p.ends[1]->drained() && p.ends[1]->engine().orders.sends_taken());
    p.ends[1].reset();
    p.devices[1].reset();
    for (int i = 0; i < 2000; ++i) p.devices[0]->network().poll(0);
    ASSERT_NE(std::string(p.ends[0]->engine().peers.reason(p.there[0])), "");
    p.turns(0, 50);
    ASSERT_TRUE(p.recorder.has(1));
    EXPECT_EQ(p.recorder.error(1), kSuccess);
}

// What icl.h says of a completed send: that its data was written, not that somebody took it. What
// lies in the ring or the pool for one who has gone, which is not known yet, nobody will read.
TEST(departures, unnoticed__a_send_by_stream_ends_well_once_all_is_written) {
    struct Case {
        CopyPath::Policy way;
        std::size_t bytes;
        int error;
    };
    constexpr std::size_t kFits = 50'000, kDoesNot = 700'000;
    for (const Case& is : {Case{CopyPath::Policy::ring, kFits, kSuccess},
                           Case{CopyPath::Policy::ring, kDoesNot, kPeerLost},
                           Case{CopyPath::Policy::shared, kFits, kPeerLost},
                           Case{CopyPath::Policy::shared, kDoesNot, kPeerLost}}) {
        Limits limits = small_limits();
        limits.copy = is.way;
        Pair p(kEnhancedMixed, {.mapped = true, .stores = true, .kernel_copy = true}, limits);
        p.attach();
        auto data = pattern(is.bytes);
        std::vector<std::byte> to(is.bytes);
        p.receive(1, 7, to, 1);
        p.both(50);
        ASSERT_EQ(p.ends[1]->engine().counters.receives_offered, 1u);
        p.world.kill(1);
        EXPECT_EQ(p.send(0, 0, 7, data, 2), kAccepted);
        for (int i = 0; i < 50; ++i) p.ends[0]->turn();  // no news from the network
        EXPECT_EQ(p.recorder.has(2), is.error == kSuccess);
        p.turns(0, 2000);
        ASSERT_TRUE(p.recorder.has(2));
        EXPECT_EQ(p.recorder.error(2), is.error) << is.bytes;
        EXPECT_EQ(p.send(0, 0, 7, data, 3), kPeerLost) << "now it is known";
        EXPECT_EQ(to, std::vector<std::byte>(is.bytes)) << "nothing came";
    }
}
