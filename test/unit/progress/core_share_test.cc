// SPDX-License-Identifier: BSD-3-Clause
#include "fci_core/progress/core_share.h"

#include <gtest/gtest.h>

namespace fci::progress {
namespace {

constexpr Nanoseconds kMillisecond = 1'000'000;
constexpr Nanoseconds kWatch = 20 * kMillisecond;

TEST(CoreShare, looks__of_a_collective) {
    EXPECT_EQ(CoreShare("auto", 2, 2).looks(false), 1024u);
    EXPECT_EQ(CoreShare("auto", 2, 2).looks(true), 64u);
    EXPECT_EQ(CoreShare("auto", 3, 2).looks(false), 1u);
    EXPECT_EQ(CoreShare("auto", 3, 2).looks(true), 1u);
}

TEST(CoreShare, local_ranks__as_many_as_cores_spin) {
    for (const unsigned cores : {1u, 2u, 8u}) {
        EXPECT_FALSE(CoreShare("auto", cores, cores).gives_core_away());
        EXPECT_TRUE(CoreShare("auto", cores + 1, cores).gives_core_away());
    }
    EXPECT_EQ(CoreShare("auto", 0, 0).cores(), 1u);
    EXPECT_FALSE(CoreShare("auto", 0, 0).gives_core_away());
    EXPECT_FALSE(CoreShare("spin", 9, 2).gives_core_away());
    EXPECT_TRUE(CoreShare("yield", 1, 2).gives_core_away());
    EXPECT_TRUE(CoreShare("sleep", 1, 2).gives_core_away());
    EXPECT_FALSE(CoreShare("what", 1, 2).gives_core_away()) << "as auto";
}

TEST(CoreShare, set_local_ranks__grows_and_changes_the_mind) {
    CoreShare policy("auto", 0, 2);
    EXPECT_FALSE(policy.gives_core_away());
    policy.set_local_ranks(2);
    EXPECT_FALSE(policy.gives_core_away());
    policy.set_local_ranks(3);
    EXPECT_TRUE(policy.gives_core_away());
    policy.set_local_ranks(1);  // who has gone may come back
    EXPECT_TRUE(policy.gives_core_away());
}

TEST(CoreShare, describe__says_what_and_why) {
    EXPECT_EQ(CoreShare("auto", 2, 2).describe(), "spin (2 local ranks on 2 cores)");
    EXPECT_NE(CoreShare("auto", 8, 1).describe().find("8 local ranks on 1 core"),
              std::string::npos);
    EXPECT_NE(CoreShare("spin", 1, 4).describe().find("FCI_WAIT"), std::string::npos);
}

TEST(CoreShare, wants_watch__now_and_then_where_it_could_change_anything) {
    CoreShare policy("auto", 2, 2);
    policy.watch({0, 0}, kWatch);
    EXPECT_FALSE(policy.wants_watch(2 * kWatch - 1));
    EXPECT_TRUE(policy.wants_watch(2 * kWatch));
    EXPECT_TRUE(CoreShare("auto", 2, 2).wants_watch(kWatch));
    EXPECT_FALSE(CoreShare("auto", 3, 2).wants_watch(kWatch));
    EXPECT_FALSE(CoreShare("spin", 1, 2).wants_watch(kWatch));
}

/// Whether a policy gives its core away that has lost so much, so often, in so long.
bool shares_after(Nanoseconds lost, std::uint64_t times, Nanoseconds since = kWatch,
                  unsigned watches = 1) {
    CoreShare policy("auto", 2, 2);
    policy.watch({0, 0}, kWatch);
    for (unsigned i = 1; i <= watches; ++i) {
        policy.watch({i * lost, i * times}, kWatch + i * since);
        EXPECT_FALSE(i < watches && policy.gives_core_away());
    }
    return policy.gives_core_away();
}

TEST(CoreShare, watch__a_quarter_tells) {
    EXPECT_FALSE(shares_after(kWatch / 4, 0));
    EXPECT_TRUE(shares_after(kWatch / 4 + 1, 0));
    EXPECT_TRUE(shares_after(kWatch, 0));
    EXPECT_FALSE(shares_after(kWatch + 1, 0)) << "of another thread";
    EXPECT_FALSE(shares_after(-1, 0));
    EXPECT_TRUE(shares_after(2 * kWatch, 0, 4 * kWatch - 1));
    EXPECT_FALSE(shares_after(2 * kWatch, 0, 4 * kWatch)) << "it did something else";
}

TEST(CoreShare, watch__a_twelfth_at_each_tick_tells_after_three) {
    constexpr Nanoseconds kLost = kWatch / 12 + 1;
    EXPECT_FALSE(shares_after(kLost, 4, kWatch, 2));
    EXPECT_TRUE(shares_after(kLost, 4, kWatch, 3));
    EXPECT_FALSE(shares_after(kLost, 3, kWatch, 3)) << "not at each";
    EXPECT_FALSE(shares_after(kLost - 1, 4, kWatch, 3));
    EXPECT_TRUE(shares_after(kLost, 11, kWatch, 3));
    EXPECT_FALSE(shares_after(kLost, 12, kWatch, 3)) << "too short each time";
}

TEST(CoreShare, watch__in_turns_must_be_in_a_row) {
    constexpr Nanoseconds kLost = kWatch / 12 + 1;
    CoreShare policy("auto", 2, 2);
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
    CoreShare policy{"auto", 2, 2};
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

TEST(CoreShare, watch__spinning_is_tried_again_later_each_time_it_was_too_early) {
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

TEST(CoreShare, watch__while_others_want_the_core_it_is_not_tried) {
    Sharing f;
    f.lose();
    for (unsigned i = 0; i < 100; ++i) f.lose();
    EXPECT_EQ(f.lasts(), kMillisecond) << "it is long due";
}

TEST(CoreShare, describe__each_of_them) {
    EXPECT_EQ(CoreShare("auto", 1, 1).describe(), "spin (1 local rank on 1 core)");
    EXPECT_EQ(CoreShare("auto", 3, 2).describe(), "yield, then sleep (3 local ranks on 2 cores)");
    EXPECT_EQ(CoreShare("yield", 1, 2).describe(), "yield (1 local rank on 2 cores, FCI_WAIT)");
    Sharing f;
    f.lose();
    EXPECT_EQ(f.policy.describe(), "yield, then sleep (shares its core, 2 local ranks on 2 cores)");
}

TEST(CoreShare, is_enough_for_awake__while_as_many_sleep) {
    CoreShare core("auto", 8, 2);
    EXPECT_EQ(core.ranks_per_core(), 4u);
    core.set_asleep(5);  // three are awake
    EXPECT_FALSE(core.is_enough_for_awake());
    core.set_asleep(6);
    EXPECT_TRUE(core.is_enough_for_awake());
    CoreShare asked("yield", 8, 2);
    asked.set_asleep(6);
    EXPECT_FALSE(asked.is_enough_for_awake()) << "the user says so";
    EXPECT_EQ(CoreShare("auto", 3, 2).ranks_per_core(), 2u);
}

}  // namespace
}  // namespace fci::progress
