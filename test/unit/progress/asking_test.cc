// SPDX-License-Identifier: BSD-3-Clause
#include "fci_core/progress/asking.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string_view>

#include "fci_core/progress/blocking.h"

namespace fci::progress {
namespace {

constexpr Nanoseconds kMicrosecond = 1'000;
constexpr Nanoseconds kMillisecond = 1'000'000;
constexpr Nanoseconds kSecond = 1'000'000'000;

/// A caller, and what it knows of its core.
struct Asker {
    CoreShare core;
    Asking asking{core};

    Asker(std::string_view mode, unsigned local_ranks, unsigned cores)
        : core(mode, local_ranks, cores) {}
    [[nodiscard]] bool gets_advice() const { return asking.spins() != ~0u; }
};

/// Another process of the core computes for so long whenever it gets the core.
constexpr Nanoseconds kSlice = 100 * kMicrosecond;

/// What a caller was told, and how long it was made to sleep at once, and altogether.
struct Asked {
    unsigned spins = 0, yields = 0, sleeps = 0;
    Nanoseconds longest = 0, asleep = 0;
};

/// Asks as often as `turns` says, `gap` apart, as a loop of nonblocking calls would, and computes
/// for `computes` of it; all of it, if that is not said. Who yields gets the core back `others`
/// later.
Asked ask(Asker& policy, unsigned turns, Nanoseconds gap, Nanoseconds computes = -1,
          Nanoseconds others = kSlice) {
    Asked asked;
    Nanoseconds now = 1, used = 0;
    policy.asking.resumed(now);
    for (unsigned turn = 1; turn <= turns; ++turn) {
        now += gap;
        used += computes < 0 ? gap : computes;
        if (policy.asking.wants_used_time()) policy.asking.used_time(used);
        const WaitStep step = policy.asking.turn(turn, now, false);
        switch (step.action) {
            case WaitAction::spin: ++asked.spins; break;
            case WaitAction::yield:
                ++asked.yields;
                now += others;
                break;
            case WaitAction::sleep: ++asked.sleeps; break;
        }
        asked.longest = std::max(asked.longest, step.sleep_ns);
        asked.asleep += step.sleep_ns;
        now += step.sleep_ns;
        policy.asking.resumed(now);
    }
    return asked;
}

TEST(Asking, expected__who_meets_others_on_few_cores_sleeps_at_once_but_not_for_ever) {
    Asker crowd("auto", 8, 2);
    crowd.asking.set_expected(5);
    const Asked first = ask(crowd, 20, 200);
    EXPECT_GT(first.sleeps, 4u);
    EXPECT_LE(first.longest, 5'000 * kMicrosecond);
    const Asked stuck = ask(crowd, 60, 200);  // nobody comes: it is a wait like others
    EXPECT_LE(first.sleeps + stuck.sleeps, 10u);
    crowd.asking.set_expected(4);  // somebody came
    EXPECT_GT(ask(crowd, 20, 200).sleeps, 4u);
    crowd.asking.set_expected(0);
    EXPECT_EQ(ask(crowd, 60, 200).sleeps, 0u);
    Asker alone("auto", 2, 2), yielding("yield", 8, 2);
    for (Asker* policy : {&alone, &yielding}) {
        policy->asking.set_expected(5);
        EXPECT_EQ(ask(*policy, 100, 200).sleeps, 0u);
    }
}

TEST(Asking, turn__never_sleeps_long) {
    for (const char* mode : {"auto", "spin", "yield", "sleep"}) {
        Asker policy(mode, 8, 2);
        const Asked asked = ask(policy, 10'000, 100);
        // As often as the report page is to be written.
        EXPECT_LE(asked.longest, 50'000 * kMicrosecond) << mode;
        EXPECT_GE(Blocking::wait(policy.core, 1'000'000, kSecond).sleep_ns, asked.longest) << mode;
    }
}

TEST(Asking, turn__sleeps_grow_with_the_wait) {
    Asker policy("auto", 8, 2);
    for (const unsigned turns : {200u, 300u, 500u, 1'000u, 10'000u, 100'000u}) {
        const Asked asked = ask(policy, turns, 100);
        EXPECT_GT(asked.sleeps, 0u);
        // Whatever wakes nobody is found out late by a sixteenth of the wait, or by half a
        // millisecond.
        const Nanoseconds waited = asked.asleep + asked.yields * kSlice;
        EXPECT_LE(asked.longest, std::max(waited / 15, kShortSleep)) << turns;
    }
    EXPECT_EQ(ask(policy, 100, 100).longest, kShortSleep) << "another wait";
    // Half a minute, in fewer than a thousand wake-ups.
    const Asked asked = ask(policy, 1'500'000, 100);
    EXPECT_GT(asked.asleep, 30 * kSecond);
    EXPECT_LT(asked.sleeps, 1'000u);
}

/// What looks like waiting may be a program that looks before each of many small steps.
TEST(Asking, turn__who_looks_by_the_way_gets_on) {
    for (const unsigned ranks : {3u, 4u, 8u, 64u}) {
        for (const Nanoseconds gap : {100, 400, 3'000}) {
            SCOPED_TRACE(testing::Message() << ranks << " ranks, every " << gap << " ns");
            Asker policy("auto", ranks, 2);
            const Asked asked = ask(policy, 1'000'000, gap);
            ASSERT_GT(asked.asleep, kSecond);
            // All ranks of a core together use a 32nd of it, and a few looks more.
            const double share =
                1e6 * static_cast<double>(gap + 100) / static_cast<double>(asked.asleep);
            const double allowed = 1.0 / 32 / ((ranks + 1) / 2);
            EXPECT_GT(share, 0.9 * allowed);
            EXPECT_LT(share, 1.1 * allowed + 5e-5 * static_cast<double>(gap) / 400);
        }
    }
}

TEST(Asking, turn__a_sleep_cut_short_gives_as_much_less) {
    // As long as the first sleeps are, and as long as the longest.
    for (const bool woken : {false, true}) {
        Asker policy("auto", 4, 2);
        Nanoseconds now = 1;
        unsigned looks = 0, sleeps = 0;
        for (unsigned turn = 1; sleeps < 20; ++turn, ++looks) {
            now += 100;
            if (policy.asking.wants_used_time()) policy.asking.used_time(now);
            const WaitStep step = policy.asking.turn(turn, now, false);
            if (step.action == WaitAction::yield) now += kSlice;
            if (step.action == WaitAction::sleep) {
                ++sleeps;
                now += woken ? 1'000 : step.sleep_ns;
            }
            policy.asking.resumed(now);
        }
        EXPECT_EQ(looks < 400, woken) << looks;
    }
}

TEST(Asking, turn__sleeps_late_among_others_that_wait) {
    // They give the core back at once; where one computes, each yield takes a slice.
    constexpr Nanoseconds kTurn = 2 * kMicrosecond;
    for (const Nanoseconds others : {3 * kTurn, 31 * kTurn, kSlice, 3 * kSlice}) {
        SCOPED_TRACE(testing::Message() << others << " ns");
        for (const char* mode : {"auto", "sleep"}) {
            Asker policy(mode, 8, 2);
            Asked asked;
            for (unsigned turns = 1; asked.sleeps == 0; ++turns) {
                asked = ask(policy, turns, 100, 100, others);
            }
            const Nanoseconds waited = asked.yields * others;
            EXPECT_GE(asked.yields, 64u);
            if (mode == std::string_view("auto")) {
                EXPECT_GE(waited, 3'900 * kMicrosecond);
            }
            EXPECT_TRUE(asked.yields <= 72 || waited <= 4'100 * kMicrosecond) << asked.yields;
        }
    }
}

TEST(Asking, turn__puts_to_sleep_who_gives_the_core_away_in_between) {
    Asker policy("auto", 8, 2);
    EXPECT_GT(ask(policy, 1'000, 100 * kMicrosecond, kMicrosecond).sleeps, 0u);
    EXPECT_EQ(ask(policy, 10'000, 100 * kMicrosecond, 20 * kMicrosecond).sleeps, 0u);
}

TEST(Asking, turn__does_not_put_to_sleep_who_computes_in_between) {
    for (const char* mode : {"auto", "sleep"}) {
        Asker policy(mode, 8, 2);
        EXPECT_EQ(ask(policy, 10'000, 100 * kMicrosecond).sleeps, 0u) << mode;
    }
}

TEST(Asking, yield__never_sleeps) {
    Asker policy("yield", 8, 2);
    EXPECT_EQ(ask(policy, 10'000, 100).sleeps, 0u);
    EXPECT_EQ(Blocking::wait(policy.core, 1'000'000, kSecond).action, WaitAction::yield);
}

TEST(Asking, sleep__is_taken_at_its_word) {
    Asker policy("sleep", 1, 2);
    EXPECT_EQ(Blocking::wait(policy.core, 1'000, 0).action, WaitAction::sleep);
    // A loop of nonblocking calls, too, takes less than a hundredth of its core in the end.
    constexpr unsigned kAsks = 1'000'000;
    const Asked asked = ask(policy, kAsks, 100);
    EXPECT_LT(kAsks * Nanoseconds{200}, asked.asleep / 100);
}

// Whoever shares it may be the one that is waited for, on another host as far as anybody knows.
TEST(Asking, watch__who_shares_its_core_gives_it_away_as_in_a_crowd) {
    Asker shares("auto", 1, 1), crowd("auto", 4, 1);
    shares.core.watch({0, 0}, kSecond);
    shares.core.watch({10 * kMillisecond, 0}, kSecond + 20 * kMillisecond);
    for (const unsigned turns : {20u, 200u, 20'000u}) {
        const Asked asked = ask(shares, turns, 300), expected = ask(crowd, turns, 300);
        EXPECT_EQ(asked.yields, expected.yields) << turns;
        EXPECT_EQ(asked.sleeps > 0, expected.sleeps > 0) << turns;
    }
    EXPECT_GE(ask(shares, 200, 300).yields, 10u);
}

// HPCC's RandomAccess: a look before each of its small steps, and a message after many of them.
TEST(Asking, went_on__who_looks_between_steps_is_not_put_to_sleep) {
    Asker policy("auto", 8, 2);
    constexpr unsigned kSteps = 4'000;
    const auto steps = [&](unsigned count) { return ask(policy, count, 100, 100, 3'000); };
    EXPECT_GT(steps(kSteps).sleeps, 0u) << "nobody can know yet";
    for (int message = 0; message < 100; ++message) {
        policy.asking.went_on(kSteps + static_cast<unsigned>(message));
        EXPECT_EQ(steps(kSteps).sleeps, 0u) << message;
    }
    EXPECT_GT(steps(3 * kSteps).sleeps, 0u) << "now it waits";
    for (int wait = 0; wait < 100; ++wait) steps(3 * kSteps);
    EXPECT_GT(steps(kSteps).sleeps, 0u) << "and has waited ever since";
    policy.asking.went_on(~0u);
    EXPECT_GT(steps(200'000).sleeps, 0u) << "not for ever";
}

TEST(Asking, went_on__who_looks_between_steps_keeps_its_core) {
    Asker policy("auto", 8, 2);
    EXPECT_GE(ask(policy, 500, 80).yields, 64u);
    const unsigned before = policy.asking.spins();
    policy.asking.went_on(500);
    EXPECT_GE(policy.asking.spins(), before + 500);
    EXPECT_EQ(ask(policy, 500, 80).yields, 0u);
    policy.asking.went_on(~0u);
    EXPECT_LT(policy.asking.spins(), before + 10'000) << "it may wait after all";
}

TEST(Asking, turn__yields_soon_for_a_caller_that_only_asks) {
    Asker policy("yield", 8, 2);
    EXPECT_EQ(ask(policy, 5, 20).yields, 0u) << "less than the message may still need";
    EXPECT_GT(ask(policy, 20, 100).yields, 15u);
}

// One yield for one look. But it may be slow, and not yield.
TEST(Asking, turn__leaves_yielding_to_a_caller_that_does_it) {
    Asker policy("yield", 8, 2);
    EXPECT_EQ(ask(policy, 30, 400).yields, 0u);
    const unsigned yields = ask(policy, 1'030, 400).yields;
    EXPECT_GE(yields, 1'000u / 20);
    EXPECT_LE(yields, 1'000u / 10);
}

// A look that asks the network takes as long as a yield; whoever sends may need this core.
TEST(Asking, turn__who_asks_the_network_yields_each_time) {
    Asker policy("yield", 8, 2);
    unsigned first = 1;
    while (policy.asking.turn(first, first, true).action != WaitAction::yield) ++first;
    EXPECT_LE(first, 8u);
    for (unsigned turn = first; turn < first + 100; ++turn) {
        policy.asking.resumed(turn * kMicrosecond);
        const WaitStep step = policy.asking.turn(turn, turn * kMicrosecond + 400, true);
        EXPECT_EQ(step.action, WaitAction::yield);
    }
}

TEST(Asking, turn__keeps_the_core_while_the_others_sleep) {
    const auto advice = [](Asker& policy, unsigned turn, Nanoseconds now) {
        policy.asking.resumed(now - 50);
        return policy.asking.turn(turn, now, false).action;
    };
    Asker policy("auto", 8, 2);
    EXPECT_EQ(advice(policy, 1000, kMillisecond), WaitAction::yield);
    policy.core.set_asleep(5);  // three are awake
    EXPECT_EQ(advice(policy, 1001, 2 * kMillisecond), WaitAction::yield);
    policy.core.set_asleep(6);
    EXPECT_EQ(advice(policy, 1002, 3 * kMillisecond), WaitAction::spin);
    EXPECT_EQ(advice(policy, 1008, 3 * kMillisecond), WaitAction::yield)
        << "one that was woken may want this core";
    EXPECT_NE(advice(policy, 100'000, 4 * kMillisecond), WaitAction::spin) << "not for ever";
    Asker asked("yield", 8, 2);
    asked.core.set_asleep(6);
    EXPECT_EQ(advice(asked, 1000, kMillisecond), WaitAction::yield);
}

TEST(Asking, automatic__spins_while_there_are_cores) {
    Asker policy("auto", 2, 2);
    EXPECT_FALSE(policy.gets_advice());
    const Asked asked = ask(policy, 10'000, 50);
    EXPECT_EQ(asked.spins, 10'000u);
    EXPECT_EQ(Blocking::wait(policy.core, 100, kMicrosecond).action, WaitAction::spin);
}

TEST(Asking, automatic__gives_way_when_cores_are_short) {
    Asker policy("auto", 8, 2);
    EXPECT_TRUE(policy.gets_advice());
    EXPECT_EQ(policy.asking.turn(1, 1, false).action, WaitAction::spin)
        << "a message may be arriving";
    const Asked asked = ask(policy, 1000, 100);
    EXPECT_GT(asked.yields, 0u);
    EXPECT_GT(asked.sleeps, 0u);
    EXPECT_EQ(Blocking::wait(policy.core, 1, 0).action, WaitAction::spin);
    EXPECT_EQ(Blocking::wait(policy.core, 17, 0).action, WaitAction::yield);
    EXPECT_EQ(Blocking::wait(policy.core, 1000, 0).action, WaitAction::sleep);
}

TEST(Asking, turn__the_first_spins_ask_nothing) {
    Asker policy("yield", 8, 2);
    const unsigned spins = policy.asking.spins();
    EXPECT_EQ(policy.asking.turn(spins, 10 * kMillisecond, true).action, WaitAction::spin);
    EXPECT_EQ(policy.asking.turn(spins + 1, 10 * kMillisecond, true).action, WaitAction::yield);
}

TEST(Asking, went_on__twice_as_many_looks_and_not_for_ever) {
    Asker policy("auto", 8, 2);
    policy.asking.went_on(100);
    EXPECT_EQ(policy.asking.spins(), 2u + 200);
    policy.asking.went_on(50);
    EXPECT_EQ(policy.asking.spins(), 2u + 200) << "it has looked longer before";
    policy.asking.went_on(2'000);
    EXPECT_EQ(policy.asking.spins(), 2u + 4'000);
    policy.asking.went_on(100'000);
    EXPECT_EQ(policy.asking.spins(), 2u + 4'000);
}

TEST(Asking, wants_used_time__before_a_sleep_is_decided) {
    Asker policy("sleep", 8, 2);
    EXPECT_FALSE(policy.asking.wants_used_time());
    Nanoseconds now = kMillisecond;
    policy.asking.resumed(now);
    unsigned turn = 0, yields = 0;
    while (!policy.asking.wants_used_time() && turn < 1'000) {
        yields += policy.asking.turn(++turn, now += 50, true).action == WaitAction::yield;
        policy.asking.resumed(now);
    }
    EXPECT_EQ(yields, 64u);
    // Of a few the least counts: all that compute more than five microseconds do something else.
    for (const Nanoseconds computes : {5 * kMicrosecond + 1, 5 * kMicrosecond}) {
        Nanoseconds used = kMillisecond;
        WaitStep step;
        unsigned asked = 0;
        while (step.action == WaitAction::spin && asked < 100) {
            EXPECT_TRUE(policy.asking.wants_used_time()) << asked;
            policy.asking.used_time(used += computes);
            step = policy.asking.turn(++turn, now += 50, true);
            policy.asking.resumed(now);
            ++asked;
        }
        EXPECT_EQ(step.action, computes > 5 * kMicrosecond ? WaitAction::yield : WaitAction::sleep);
        if (step.action == WaitAction::sleep) break;
        for (unsigned i = 0; !policy.asking.wants_used_time() && i < 1'000; ++i) {
            (void)policy.asking.turn(++turn, now += 50, true);
            policy.asking.resumed(now);
        }
    }
}

}  // namespace
}  // namespace fci::progress
