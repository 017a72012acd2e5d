// SPDX-License-Identifier: BSD-3-Clause
// The states of waiting: each row of the table in docs/architecture.md is the case of that name
// here (test/harness/architecture compares them).
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

#include "fci_core/progress/blocking.h"
#include "test/unit/progress/hand_loop.h"

namespace fci::progress {
namespace {

constexpr Nanoseconds kMillisecond = 1'000'000;

TEST(States, spin__with_a_core_for_each) {
    HandLoop it("auto", 2, 2);
    for (int i = 0; i < 100'000; ++i) EXPECT_EQ(it.ask(), 0);
    EXPECT_EQ(it.host.yields, 0u);
    EXPECT_TRUE(it.device.sleeps.empty());
}

TEST(States, spin__ends_after_200_ns_of_asking) {
    HandLoop it("auto", 8, 2);
    // Two turns before the clock is asked, and one from which it counts.
    for (int i = 0; i < 4; ++i) (void)it.ask();
    EXPECT_EQ(it.host.yields, 0u);
    (void)it.ask();
    EXPECT_EQ(it.host.yields, 1u);
}

TEST(States, spin__of_a_caller_that_went_on_ends_after_twice_its_looks) {
    HandLoop it("auto", 8, 2);
    for (int i = 0; i < 1'000; ++i) (void)it.ask();
    ++it.worker.begun;
    (void)it.ask();
    const unsigned yields = it.host.yields;
    for (int i = 0; i < 2'000; ++i) (void)it.ask();
    EXPECT_EQ(it.host.yields, yields);
    for (int i = 0; i < 100; ++i) (void)it.ask();
    EXPECT_GT(it.host.yields, yields);
}

TEST(States, spin__of_a_call_with_a_core_of_its_own_ends_after_1_ms) {
    HandLoop it("auto", 2, 2);
    const Nanoseconds begin = it.device.time;
    EXPECT_EQ(it.loop.wait(kMillisecond - 1), 0);
    EXPECT_TRUE(it.device.sleeps.empty());
    EXPECT_EQ(it.loop.wait(5 * kMillisecond), 0);
    ASSERT_EQ(it.device.sleeps.size(), 1u) << "to the end";
    EXPECT_LE(it.device.sleeps[0], 4 * kMillisecond);
    EXPECT_GT(it.device.sleeps[0], 4 * kMillisecond - 1'000);
    EXPECT_GE(it.device.time - begin, 6 * kMillisecond);
    EXPECT_EQ(it.host.yields, 0u);
    it.worker.works_from = it.worker.turns + 20'000;  // for 2 ms
    EXPECT_EQ(it.loop.wait(-1), 1);
    EXPECT_EQ(it.device.sleeps.back(), 100 * kMillisecond);
}

TEST(States, spin__of_a_call_ends_after_16_turns) {
    HandLoop it("auto", 8, 2);
    EXPECT_EQ(it.loop.wait(1'600), 0);
    EXPECT_EQ(it.host.yields, 0u);
    it.worker.works_from = it.worker.turns + 18;
    EXPECT_EQ(it.loop.wait(-1), 1);
    EXPECT_EQ(it.host.yields, 1u);
}

TEST(States, look__1024_times_and_64_turns_with_a_core_for_each) {
    HandLoop it("auto", 2, 2);
    EXPECT_EQ(it.loop.looks(), 1024u);
    HandWait wait;
    it.worker.works_from = 0;
    const unsigned before = it.worker.turns;
    EXPECT_EQ(it.loop.step(wait), Step::turn);
    EXPECT_EQ(it.worker.turns - before, 64u);
    EXPECT_EQ(it.host.yields, 0u);
    it.loop.sleeper().share();
    EXPECT_EQ(it.loop.looks(), 64u) << "other threads wait";
}

TEST(States, look__60_times_before_each_yield) {
    HandLoop it("auto", 8, 2);
    EXPECT_EQ(it.loop.looks(), 1u);
    HandWait wait;
    wait.begin(it.device.time);
    EXPECT_EQ(it.loop.step(wait), Step::turn);
    EXPECT_EQ(it.host.yields, 16u);
    EXPECT_NEAR(wait.asked, 16u * 61, 3u);
}

TEST(States, look__once_where_its_core_is_needed) {
    HandWait wait;
    HandLoop it("auto", 8, 2);
    wait.needed = true;
    wait.begin(it.device.time);
    EXPECT_EQ(it.loop.step(wait), Step::turn);
    EXPECT_EQ(it.host.yields, 16u);
    EXPECT_NEAR(wait.asked, 16u * 2, 3u);
}

TEST(States, yield__64_times_and_4_ms_of_asking) {
    HandLoop it("auto", 8, 2);
    const Nanoseconds begin = it.device.time;
    ASSERT_TRUE(it.ask_until_sleeps(1));
    EXPECT_GE(it.host.yields, 64u);
    EXPECT_GE(it.device.time - begin, 4 * kMillisecond);
    EXPECT_EQ(it.device.sleeps[0], kMillisecond / 2);
    HandLoop told("sleep", 8, 2);
    ASSERT_TRUE(told.ask_until_sleeps(1));
    EXPECT_EQ(told.host.yields, 64u) << "however soon";
}

TEST(States, yield__64_times_and_1_ms_of_a_wait) {
    HandWait wait;
    HandLoop it("auto", 8, 2);
    wait.begin(it.device.time);
    for (int i = 0; i < 1'000 && it.device.sleeps.empty(); ++i) {
        EXPECT_FALSE(wait.wants_wake);
        EXPECT_EQ(it.loop.step(wait), Step::turn);
    }
    ASSERT_FALSE(it.device.sleeps.empty());
    EXPECT_TRUE(wait.wants_wake);
    EXPECT_GE(it.host.yields, 64u);
    EXPECT_GE(it.device.time - it.device.sleeps[0] - wait.since(), kMillisecond);
    EXPECT_EQ(it.device.sleeps[0], kMillisecond / 2);
    wait.over = true;
    EXPECT_EQ(it.loop.step(wait), Step::over);
    EXPECT_FALSE(wait.wants_wake);
}

TEST(States, yield__4_times_of_a_call) {
    HandLoop it("auto", 8, 2);
    it.worker.works_from = it.worker.turns + 30;
    EXPECT_EQ(it.loop.wait(-1), 1);
    EXPECT_EQ(it.host.yields, 4u);
    ASSERT_FALSE(it.device.sleeps.empty());
    EXPECT_EQ(it.device.sleeps[0], 100 * kMillisecond);
}

TEST(States, yield__where_nothing_would_wake_a_sleeper) {
    HandLoop it("auto", 8, 2);
    it.messages.wanted = false;
    EXPECT_FALSE(it.ask_until_sleeps(1));
    EXPECT_GT(it.host.yields, 1'000u);
    it.messages.wanted = true;
    it.loop.set_idle(Idle::may_yield);
    EXPECT_FALSE(it.ask_until_sleeps(1)) << "its caller waits for more than messages";
    it.loop.set_idle(Idle::may_sleep);
    EXPECT_TRUE(it.ask_until_sleeps(1));
}

TEST(States, yield__in_one_look_of_16_of_a_caller_that_pauses) {
    HandLoop it("yield", 8, 2);
    for (int i = 0; i < 100; ++i) (void)it.ask(130);
    const unsigned before = it.host.yields;
    for (int i = 0; i < 1'600; ++i) (void)it.ask(130);
    EXPECT_EQ(it.host.yields - before, 100u);
}

TEST(States, nap__of_2_ms_eight_times_while_peers_are_expected) {
    HandLoop it("auto", 8, 2);
    it.worker.expected = 5;
    for (int i = 0; i < 40; ++i) (void)it.ask();
    EXPECT_EQ(it.device.sleeps, std::vector<Nanoseconds>(8, 2 * kMillisecond));
    it.worker.expected = 4;  // one was met
    for (int i = 0; i < 40; ++i) (void)it.ask();
    EXPECT_EQ(it.device.sleeps, std::vector<Nanoseconds>(16, 2 * kMillisecond));
}

TEST(States, sleep__grows_to_50_ms_with_what_was_waited) {
    HandLoop it("auto", 8, 2);
    const Nanoseconds begin = it.device.time;
    Nanoseconds longest = 0;
    for (std::size_t many = 1; many < 200; ++many) {
        ASSERT_TRUE(it.ask_until_sleeps(many));
        const Nanoseconds slept = it.device.sleeps.back();
        const Nanoseconds waited = it.device.time - slept - begin;
        EXPECT_LE(slept, std::max(waited / 16, kShortSleep));
        EXPECT_GE(slept, longest);
        longest = slept;
    }
    EXPECT_EQ(longest, 50 * kMillisecond);
}

TEST(States, sleep__is_short_among_threads_and_over_strangers) {
    HandLoop threads("auto", 8, 2);
    threads.loop.sleeper().share();
    ASSERT_TRUE(threads.ask_until_sleeps(300));
    EXPECT_EQ(*std::max_element(threads.device.sleeps.begin(), threads.device.sleeps.end()),
              kShortSleep);
    HandWait wait;
    HandLoop it("auto", 8, 2);
    wait.woken = false;
    wait.begin(it.device.time);
    for (int i = 0; i < 1'000; ++i) EXPECT_EQ(it.loop.step(wait), Step::turn);
    ASSERT_GT(it.device.sleeps.size(), 100u);
    EXPECT_EQ(*std::max_element(it.device.sleeps.begin(), it.device.sleeps.end()),
              2 * kMillisecond);
}

TEST(States, sleep__is_followed_by_a_32nd_of_looks) {
    HandLoop it("auto", 2, 1);  // two ranks on a core share that
    ASSERT_TRUE(it.ask_until_sleeps(100));
    const Nanoseconds slept = it.device.sleeps.back();
    const unsigned yields = it.host.yields;
    int looks = 0;
    while (it.device.sleeps.size() == 100) (void)it.ask(), ++looks;
    EXPECT_NEAR(looks, slept / 32 / 2 / 200, 10) << "each takes 200 ns, with what asking does";
    EXPECT_EQ(it.host.yields, yields);
}

TEST(States, sleep__ends_with_whatever_comes) {
    HandLoop it("auto", 8, 2);
    ASSERT_TRUE(it.ask_until_sleeps(50));
    EXPECT_FALSE(it.device.hand_network.is_masked) << "between two sleeps of one wait";
    it.find();
    EXPECT_TRUE(it.device.hand_network.is_masked);
    const unsigned yields = it.host.yields;
    for (int i = 0; i < 4; ++i) (void)it.ask();
    EXPECT_EQ(it.host.yields, yields) << "it spins as in the beginning";
    ASSERT_TRUE(it.ask_until_sleeps(51));
    EXPECT_EQ(it.device.sleeps.back(), kShortSleep);
    EXPECT_GE(it.host.yields, yields + 64);
}

}  // namespace
}  // namespace fci::progress
