// SPDX-License-Identifier: BSD-3-Clause
// The figures of the wait policy, each at its edge.
#include <gtest/gtest.h>

#include "fci_core/progress/wait_policy.h"

namespace fci::progress {
namespace {

constexpr Nanoseconds kMicrosecond = 1'000;
constexpr Nanoseconds kMillisecond = 1'000'000;
constexpr Nanoseconds kWatch = 20 * kMillisecond;

TEST(WaitEdges, wait__spins_yields_and_sleeps) {
    const WaitPolicy crowd("auto", 8, 2);
    EXPECT_EQ(crowd.wait(16, 0).action, WaitAction::spin);
    EXPECT_EQ(crowd.wait(17, 0).action, WaitAction::yield);
    EXPECT_EQ(crowd.wait(20, 0).action, WaitAction::yield);
    EXPECT_EQ(crowd.wait(21, 0).action, WaitAction::sleep);
    EXPECT_EQ(crowd.wait(21, 0).sleep_ns, 100 * kMillisecond);
    EXPECT_EQ(crowd.wait(20, 0).sleep_ns, 0);
    const WaitPolicy alone("auto", 2, 2);
    EXPECT_EQ(alone.wait(1'000'000, kMillisecond - 1).action, WaitAction::spin);
    EXPECT_EQ(alone.wait(1, kMillisecond).action, WaitAction::sleep);
    EXPECT_EQ(alone.wait(1, kMillisecond).sleep_ns, 100 * kMillisecond);
    const WaitPolicy yields("yield", 1, 2);
    EXPECT_EQ(yields.wait(16, 0).action, WaitAction::spin);
    EXPECT_EQ(yields.wait(1'000'000, 1000 * kMillisecond).action, WaitAction::yield);
}

TEST(WaitEdges, looks__of_a_collective) {
    EXPECT_EQ(WaitPolicy("auto", 2, 2).looks(false), 1024u);
    EXPECT_EQ(WaitPolicy("auto", 2, 2).looks(true), 64u);
    EXPECT_EQ(WaitPolicy("auto", 3, 2).looks(false), 1u);
    EXPECT_EQ(WaitPolicy("auto", 3, 2).looks(true), 1u);
}

TEST(WaitEdges, sleep_of_wait__is_a_sixteenth_and_at_least_short) {
    EXPECT_FALSE(WaitPolicy::is_long(kMillisecond - 1));
    EXPECT_TRUE(WaitPolicy::is_long(kMillisecond));
    EXPECT_EQ(WaitPolicy::sleep_of_wait(0), kShortSleep);
    EXPECT_EQ(WaitPolicy::sleep_of_wait(16 * kShortSleep), kShortSleep);
    EXPECT_EQ(WaitPolicy::sleep_of_wait(16 * kShortSleep + 16), kShortSleep + 1);
}

TEST(WaitEdges, local_ranks__as_many_as_cores_spin) {
    for (const unsigned cores : {1u, 2u, 8u}) {
        EXPECT_FALSE(WaitPolicy("auto", cores, cores).gives_core_away());
        EXPECT_TRUE(WaitPolicy("auto", cores + 1, cores).gives_core_away());
        EXPECT_EQ(WaitPolicy("auto", cores, cores).spins(), ~0u);
        EXPECT_EQ(WaitPolicy("auto", cores + 1, cores).spins(), 2u);
    }
    EXPECT_EQ(WaitPolicy("auto", 0, 0).cores(), 1u);
    EXPECT_FALSE(WaitPolicy("auto", 0, 0).gives_core_away());
    EXPECT_FALSE(WaitPolicy("spin", 9, 2).gives_core_away());
    EXPECT_TRUE(WaitPolicy("yield", 1, 2).gives_core_away());
    EXPECT_TRUE(WaitPolicy("sleep", 1, 2).gives_core_away());
    EXPECT_FALSE(WaitPolicy("what", 1, 2).gives_core_away()) << "as auto";
}

TEST(WaitEdges, turn__the_first_spins_ask_nothing) {
    WaitPolicy policy("yield", 8, 2);
    EXPECT_EQ(policy.turn(policy.spins(), 10 * kMillisecond, true).action, WaitAction::spin);
    EXPECT_EQ(policy.turn(policy.spins() + 1, 10 * kMillisecond, true).action, WaitAction::yield);
}

TEST(WaitEdges, went_on__twice_as_many_looks_and_not_for_ever) {
    WaitPolicy policy("auto", 8, 2);
    policy.went_on(100);
    EXPECT_EQ(policy.spins(), 2u + 200);
    policy.went_on(50);
    EXPECT_EQ(policy.spins(), 2u + 200) << "it has looked longer before";
    policy.went_on(2'000);
    EXPECT_EQ(policy.spins(), 2u + 4'000);
    policy.went_on(100'000);
    EXPECT_EQ(policy.spins(), 2u + 4'000);
}

TEST(WaitEdges, wants_watch__now_and_then_where_it_could_change_anything) {
    WaitPolicy policy("auto", 2, 2);
    policy.watch({0, 0}, kWatch);
    EXPECT_FALSE(policy.wants_watch(2 * kWatch - 1));
    EXPECT_TRUE(policy.wants_watch(2 * kWatch));
    EXPECT_TRUE(WaitPolicy("auto", 2, 2).wants_watch(kWatch));
    EXPECT_FALSE(WaitPolicy("auto", 3, 2).wants_watch(kWatch));
    EXPECT_FALSE(WaitPolicy("spin", 1, 2).wants_watch(kWatch));
}

/// Whether a policy gives its core away that has lost so much, so often, in so long.
bool shares_after(Nanoseconds lost, std::uint64_t times, Nanoseconds since = kWatch,
                  unsigned watches = 1) {
    WaitPolicy policy("auto", 2, 2);
    policy.watch({0, 0}, kWatch);
    for (unsigned i = 1; i <= watches; ++i) {
        policy.watch({i * lost, i * times}, kWatch + i * since);
        EXPECT_FALSE(i < watches && policy.gives_core_away());
    }
    return policy.gives_core_away();
}

TEST(WaitEdges, watch__a_quarter_tells) {
    EXPECT_FALSE(shares_after(kWatch / 4, 0));
    EXPECT_TRUE(shares_after(kWatch / 4 + 1, 0));
    EXPECT_TRUE(shares_after(kWatch, 0));
    EXPECT_FALSE(shares_after(kWatch + 1, 0)) << "of another thread";
    EXPECT_FALSE(shares_after(-1, 0));
    EXPECT_TRUE(shares_after(2 * kWatch, 0, 4 * kWatch - 1));
    EXPECT_FALSE(shares_after(2 * kWatch, 0, 4 * kWatch)) << "it did something else";
}

TEST(WaitEdges, watch__a_twelfth_at_each_tick_tells_after_three) {
    constexpr Nanoseconds kLost = kWatch / 12 + 1;
    EXPECT_FALSE(shares_after(kLost, 4, kWatch, 2));
    EXPECT_TRUE(shares_after(kLost, 4, kWatch, 3));
    EXPECT_FALSE(shares_after(kLost, 3, kWatch, 3)) << "not at each";
    EXPECT_FALSE(shares_after(kLost - 1, 4, kWatch, 3));
    EXPECT_TRUE(shares_after(kLost, 11, kWatch, 3));
    EXPECT_FALSE(shares_after(kLost, 12, kWatch, 3)) << "too short each time";
}

TEST(WaitEdges, watch__in_turns_must_be_in_a_row) {
    constexpr Nanoseconds kLost = kWatch / 12 + 1;
    WaitPolicy policy("auto", 2, 2);
    Nanoseconds now = kWatch, lost = 0;
    std::uint64_t times = 0;
    policy.watch({0, 0}, now);
    for (const bool takes : {true, true, false, true, true}) {
        policy.watch({lost += takes ? kLost : 0, times += takes ? 4 : 0}, now += kWatch);
        EXPECT_FALSE(policy.gives_core_away());
    }
    policy.watch({lost += kLost, times += 4}, now += kWatch);
    EXPECT_TRUE(policy.gives_core_away());
}

/// One that shares its core, and watches so long without a loss until it spins again.
struct Sharing {
    WaitPolicy policy{"auto", 2, 2};
    Nanoseconds now = kWatch, lost = 0;

    Sharing() { policy.watch({0, 0}, now); }
    void lose() {
        lost += kWatch / 2;
        policy.watch({lost, 0}, now += kWatch);
        EXPECT_TRUE(policy.gives_core_away());
    }
    Nanoseconds lasts() {
        const Nanoseconds since = now;
        for (unsigned i = 0; policy.gives_core_away() && i < 10'000; ++i) {
            policy.watch({lost, 0}, now += kMillisecond);
        }
        return now - since;
    }
};

TEST(WaitEdges, watch__spinning_is_tried_again_later_each_time_it_was_too_early) {
    Sharing f;
    for (Nanoseconds expected = 50; expected < 2'000; expected *= 2) {
        f.lose();
        EXPECT_EQ(f.lasts(), expected * kMillisecond);
    }
    f.lose();
    EXPECT_EQ(f.lasts(), 2'000 * kMillisecond) << "the most";
    f.policy.watch({f.lost, 0}, f.now += kWatch);  // it spins, and loses nothing
    f.lose();
    EXPECT_EQ(f.lasts(), 50 * kMillisecond);
}

TEST(WaitEdges, watch__while_others_want_the_core_it_is_not_tried) {
    Sharing f;
    f.lose();
    for (unsigned i = 0; i < 100; ++i) f.lose();
    EXPECT_EQ(f.lasts(), kMillisecond) << "it is long due";
}

TEST(WaitEdges, describe__each_of_them) {
    EXPECT_EQ(WaitPolicy("auto", 1, 1).describe(), "spin (1 local rank on 1 core)");
    EXPECT_EQ(WaitPolicy("auto", 3, 2).describe(), "yield, then sleep (3 local ranks on 2 cores)");
    EXPECT_EQ(WaitPolicy("yield", 1, 2).describe(), "yield (1 local rank on 2 cores, FCI_WAIT)");
    Sharing f;
    f.lose();
    EXPECT_EQ(f.policy.describe(), "yield, then sleep (shares its core, 2 local ranks on 2 cores)");
}

TEST(WaitEdges, wants_used_time__before_a_sleep_is_decided) {
    WaitPolicy policy("sleep", 8, 2);
    EXPECT_FALSE(policy.wants_used_time());
    Nanoseconds now = kMillisecond;
    policy.resumed(now);
    unsigned turn = 0, yields = 0;
    while (!policy.wants_used_time() && turn < 1'000) {
        yields += policy.turn(++turn, now += 50, true).action == WaitAction::yield;
        policy.resumed(now);
    }
    EXPECT_EQ(yields, 64u);
    // Of a few the least counts: all that compute more than five microseconds do something else.
    for (const Nanoseconds computes : {5 * kMicrosecond + 1, 5 * kMicrosecond}) {
        Nanoseconds used = kMillisecond;
        WaitStep step;
        unsigned asked = 0;
        while (step.action == WaitAction::spin && asked < 100) {
            EXPECT_TRUE(policy.wants_used_time()) << asked;
            policy.used_time(used += computes);
            step = policy.turn(++turn, now += 50, true);
            policy.resumed(now);
            ++asked;
        }
        EXPECT_EQ(step.action, computes > 5 * kMicrosecond ? WaitAction::yield : WaitAction::sleep);
        if (step.action == WaitAction::sleep) break;
        for (unsigned i = 0; !policy.wants_used_time() && i < 1'000; ++i) {
            (void)policy.turn(++turn, now += 50, true);
            policy.resumed(now);
        }
    }
}

}  // namespace
}  // namespace fci::progress
