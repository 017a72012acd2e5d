// SPDX-License-Identifier: BSD-3-Clause
// The loop's turns; how it waits is in states_test.cc.
#include "fci_core/progress/idle_loop.h"

#include <gtest/gtest.h>

#include "fci_core/base/result.h"
#include "fci_core/progress/slice.h"
#include "test/unit/progress/hand_loop.h"

namespace fci::progress {
namespace {

TEST(IdleLoop, empty_turn__polls_the_network_as_often_as_it_wants) {
    HandLoop it("auto", 2, 2);
    it.device.hand_network.poll_every = 10;
    it.loop.sleeper().disarm();
    (void)it.loop.turn_apart();
    for (int i = 0; i < 2'000'000 && it.device.hand_network.polls == 0; ++i) (void)it.ask(1);
    ASSERT_EQ(it.device.hand_network.polls, 1u);
    for (int i = 0; i < 100; ++i) (void)it.ask();
    EXPECT_EQ(it.device.hand_network.polls, 11u);
}

TEST(IdleLoop, empty_turn__what_the_network_brought_waits_for_no_other_call) {
    HandLoop it("auto", 2, 2);
    it.device.hand_network.work = 3;
    it.worker.works_from = 0;
    int work = 0;
    for (int i = 0; i < 2'000'000 && work == 0; ++i) work = it.ask(1);
    EXPECT_EQ(work, 4);
}

TEST(IdleLoop, empty_turn__where_something_goes_on_each_looks) {
    HandLoop it("auto", 2, 2);
    it.worker.goes_on = true;
    it.loop.look_at_each_turn();
    EXPECT_EQ(it.ask(), 0);
    EXPECT_TRUE(it.loop.alert().any());
    it.worker.ended = 2;
    EXPECT_EQ(it.ask(), 2);
    it.worker.goes_on = false;
    EXPECT_EQ(it.ask(), 0);
    EXPECT_FALSE(it.loop.alert().any());
}

// What has come lies there until there is memory for it, and the turns after that are as before.
TEST(IdleLoop, empty_turn__without_memory_says_so) {
    HandLoop it("auto", 2, 2);
    it.device.hand_network.poll_every = 10;
    it.device.hand_network.work = 1;
    it.worker.lacks_memory = true;
    int answer = 0;
    for (int i = 0; i < 2'000'000 && answer == 0; ++i) answer = it.ask(1);
    EXPECT_EQ(answer, FCI_ICL_ENOMEM);
    HandWait wait;
    EXPECT_EQ(it.loop.step(wait), Step::turn);
    it.worker.lacks_memory = false;
    const unsigned polls = it.device.hand_network.polls;
    for (int i = 0; i < 100; ++i) EXPECT_EQ(it.ask(), 0);
    EXPECT_EQ(it.device.hand_network.polls, polls + 10);
}

TEST(IdleLoop, went_on__not_at_the_begin_of_a_row) {
    for (const bool late : {false, true}) {
        HandLoop it("auto", 8, 2);
        // The first two spin without being counted apart, and each after them is judged.
        for (int i = 0; i < (late ? 9 : 6); ++i) (void)it.ask();
        const unsigned yields = it.host.yields;
        ++it.worker.begun;
        for (int i = 0; i < 8; ++i) (void)it.ask();
        EXPECT_EQ(it.host.yields == yields, late);
    }
}

TEST(IdleLoop, ask__looks_for_sleepers_in_one_turn_of_16) {
    HandLoop it("auto", 8, 2);
    for (int i = 0; i < 160; ++i) (void)it.ask();
    EXPECT_EQ(it.worker.looks_for_sleepers, 10u);
}

TEST(IdleLoop, yields_and_sleeps__are_counted) {
    HandLoop it("auto", 8, 2);
    ASSERT_TRUE(it.ask_until_sleeps(3));
    EXPECT_EQ(it.counters.sleeps, 3u);
    EXPECT_EQ(it.counters.yields, it.host.yields);
}

TEST(IdleLoop, crowded__from_the_first_peer_on_and_with_a_short_slice) {
    HandLoop it("auto", 8, 2);
    EXPECT_TRUE(it.loop.is_crowded());
    EXPECT_EQ(it.host.slice, kShortSlice);
    HandDevice device;
    HandHost host{device};
    HandWorker worker{device};
    Counters counters;
    worker.is_in_use = false;
    {
        IdleLoop loop(device, host, worker, CoreShare("auto", 8, 2), 0, counters);
        EXPECT_EQ(loop.empty_turn(), 0);
        EXPECT_FALSE(loop.is_crowded());
        EXPECT_EQ(host.slice, -1);
        worker.is_in_use = true;
        device.hand_network.work = 1;
        for (int i = 0; i < 2'000'000 && !loop.is_crowded(); ++i) (void)loop.empty_turn();
        EXPECT_TRUE(loop.is_crowded());
        EXPECT_EQ(host.slice, kShortSlice);
    }
    EXPECT_EQ(host.slice, 0) << "as before";
}

TEST(IdleLoop, polled__ranks_that_were_met_need_cores) {
    HandLoop it("auto", 0, 2);
    it.worker.met = 3;
    it.device.hand_network.work = 1;
    for (int i = 0; i < 2'000'000 && it.device.hand_network.polls == 0; ++i) (void)it.ask(1);
    EXPECT_TRUE(it.loop.core().gives_core_away());
    EXPECT_TRUE(it.loop.is_crowded());
}

TEST(IdleLoop, found__looks_up_every_few_turns_where_the_network_brings_messages) {
    HandLoop it("auto", 2, 2);
    HandNetwork& network = it.device.hand_network;
    network.busy_every = 1'000;
    for (int i = 0; i < 2'000'000 && network.polls == 0; ++i) (void)it.ask(1);
    EXPECT_TRUE(it.loop.alert().any());
    const unsigned polls = network.polls;
    for (unsigned i = 0; i < BusyPolls::kTurns - 1; ++i) it.find();
    it.device.time += 1'000;
    EXPECT_EQ(network.polls, polls);
    EXPECT_FALSE(it.loop.needs_turn());
    it.find();
    EXPECT_EQ(network.polls, polls + 1);
}

TEST(IdleLoop, arm__until_the_next_turn) {
    HandLoop it("auto", 2, 2);
    ASSERT_TRUE(it.loop.sleeper().arm());
    EXPECT_FALSE(it.device.hand_network.is_masked);
    EXPECT_TRUE(it.loop.needs_turn());
    EXPECT_EQ(it.ask(), 0);
    EXPECT_TRUE(it.device.hand_network.is_masked);
    ASSERT_TRUE(it.loop.sleeper().arm());
    it.find();
    EXPECT_TRUE(it.device.hand_network.is_masked);
    it.messages.over = true;
    EXPECT_FALSE(it.loop.sleeper().arm());
    EXPECT_TRUE(it.device.hand_network.is_masked);
}

TEST(IdleLoop, arm__among_threads_until_it_is_disarmed) {
    HandLoop it("auto", 2, 2);
    it.loop.sleeper().share();
    ASSERT_TRUE(it.loop.sleeper().arm());
    EXPECT_EQ(it.ask(), 0);
    it.find();
    EXPECT_FALSE(it.device.hand_network.is_masked);
    it.loop.sleeper().disarm();
    EXPECT_TRUE(it.device.hand_network.is_masked);
}

// A wait that is slept over is new to those that may end it: they must have seen that.
TEST(IdleLoop, arm__a_new_wait_makes_others_pass_a_barrier_again) {
    HandLoop it("auto", 2, 2);
    ASSERT_TRUE(it.loop.sleeper().arm());
    const unsigned before = it.device.hand_network.configured;
    ASSERT_TRUE(it.loop.sleeper().arm());
    EXPECT_EQ(it.device.hand_network.configured, before);
    HandWait part;
    it.messages.part = &part;
    ASSERT_TRUE(it.loop.sleeper().arm());
    EXPECT_EQ(it.device.hand_network.configured, before + 1);
    ASSERT_TRUE(it.loop.sleeper().arm());
    EXPECT_EQ(it.device.hand_network.configured, before + 1);
    Waits::remove(part);
    it.messages.part = nullptr;
}

TEST(IdleLoop, stop__every_turn_that_finds_nothing_ends_so) {
    HandWait wait;
    HandLoop it("auto", 8, 2);
    EXPECT_TRUE(it.loop.sleeper().waits().add(wait));
    ASSERT_TRUE(it.loop.sleeper().arm());
    it.device.hand_network.is_masked = false;
    it.loop.stop(FCI_ICL_EUNREACHABLE);
    EXPECT_FALSE(wait.linked());
    EXPECT_TRUE(wait.wants_wake) << "that memory is its parent's";
    for (int i = 0; i < 3; ++i) EXPECT_EQ(it.ask(), FCI_ICL_EUNREACHABLE);
    EXPECT_EQ(it.loop.wait(-1), FCI_ICL_EUNREACHABLE);
    EXPECT_FALSE(it.loop.sleeper().arm());
    EXPECT_FALSE(it.device.hand_network.is_masked) << "nor is the network touched";
    it.worker.works_from = 0;
    EXPECT_EQ(it.loop.wait(-1), 1);
}

TEST(IdleLoop, wait__the_time_is_over) {
    for (const char* mode : {"auto", "spin", "yield", "sleep"}) {
        HandLoop it(mode, 8, 2);
        const Nanoseconds begin = it.device.time;
        EXPECT_EQ(it.loop.wait(0), 0);
        EXPECT_EQ(it.loop.wait(7'000'000), 0);
        EXPECT_GE(it.device.time - begin, 7'000'000);
        EXPECT_EQ(it.device.sleeps.empty(), mode[0] == 'y' || mode[1] == 'p') << mode;
    }
}

TEST(IdleLoop, step__of_what_is_over_ends_at_once) {
    for (const unsigned ranks : {2u, 8u}) {
        HandLoop it("auto", ranks, 2);
        HandWait wait;
        wait.over = true;
        EXPECT_EQ(it.loop.step(wait), Step::over);
        EXPECT_EQ(it.host.yields, 0u);
    }
}

TEST(IdleLoop, step__among_threads_yields_once) {
    HandWait wait;
    HandLoop it("auto", 8, 2);
    it.loop.sleeper().share();
    wait.needed = true;
    wait.begin(it.device.time);
    for (unsigned i = 1; i < 16; ++i) {
        EXPECT_EQ(it.loop.step(wait), Step::again);
        EXPECT_EQ(it.host.yields, i);
    }
    EXPECT_EQ(it.loop.step(wait), Step::turn);
}

TEST(IdleLoop, step__polls_each_time_where_the_network_ends_it) {
    HandWait wait;
    HandLoop it("auto", 8, 2);
    wait.network = true;
    wait.begin(it.device.time);
    EXPECT_EQ(it.loop.step(wait), Step::turn);
    EXPECT_EQ(it.device.hand_network.polls, 16u);
}

TEST(IdleLoop, step__ends_after_the_look_that_finds_it_over) {
    HandWait wait;
    HandLoop it("auto", 8, 2);
    wait.begin(it.device.time);
    wait.over_after = 100;
    EXPECT_EQ(it.loop.step(wait), Step::over);
    EXPECT_EQ(it.host.yields, 1u);
    EXPECT_EQ(wait.asked, 101u);
}

}  // namespace
}  // namespace fci::progress
