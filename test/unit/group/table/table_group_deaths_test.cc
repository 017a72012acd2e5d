// SPDX-License-Identifier: BSD-3-Clause
// Members that are gone, and strangers, of whose death nobody hears.
#include "fci_core/group/table/table_group.h"

#include <gtest/gtest.h>

#include "test/unit/group/members.h"

namespace fci::group::test {
namespace {

constexpr Nanoseconds kPatience = 50'000'000;  // before strangers are met
constexpr unsigned kPastEvery = kSlots / 2;

TEST(TableGroup, barrier__who_is_missing_has_gone) {
    Processes all(3);
    Tabled group(all);
    all.meet_all();
    EXPECT_EQ(group.barrier(1), kWaits);
    EXPECT_EQ(group.barrier(0), kWaits);
    all.lose(2);
    EXPECT_EQ(group.barrier(0), FCI_ICL_EPEER);
    EXPECT_EQ(group[0].lost(), 2u);
    EXPECT_EQ(group.barrier(1), FCI_ICL_EPEER);
    EXPECT_EQ(group[1].lost(), 2u);
}

TEST(TableGroup, barrier__who_came_and_then_went_does_not_fail_it) {
    Processes all(3);
    Tabled group(all);
    all.meet_all();
    EXPECT_EQ(group.barrier(0), kWaits);
    EXPECT_EQ(group.barrier(1), kWaits);
    EXPECT_EQ(group.barrier(2), kDone);
    all.lose(2);
    EXPECT_EQ(group.barrier(0), kDone);
    EXPECT_EQ(group.barrier(1), kDone);
}

TEST(TableGroup, barrier__of_a_group_that_is_formed_goes_on_without_an_owner_who_has_come) {
    Processes all(3);
    Tabled group(all);
    all.meet_all();
    for (const unsigned rank : {0u, 1u}) EXPECT_EQ(group.barrier(rank), kWaits);
    EXPECT_EQ(group.barrier(2), kDone);
    for (const unsigned rank : {0u, 1u}) EXPECT_EQ(group.barrier(rank), kDone);
    EXPECT_EQ(group.barrier(0), kWaits);
    EXPECT_EQ(group.barrier(1), kWaits);
    all.lose(0);
    EXPECT_EQ(group.barrier(1), kWaits) << "the third one may come";
    EXPECT_EQ(group.barrier(2), kDone);
    EXPECT_EQ(group.barrier(1), kDone);
}

// Without the owner some may never hear of its table.
TEST(TableGroup, barrier__of_a_group_that_forms_fails_where_the_owner_has_gone) {
    Processes all(3);
    Tabled group(all, Entry::kLong, 1);
    all.meet_all();
    EXPECT_EQ(group.barrier(1), kWaits);
    EXPECT_EQ(group.barrier(0), kWaits);
    all.lose(1);
    EXPECT_EQ(group.barrier(0), FCI_ICL_EPEER);
    EXPECT_EQ(group[0].lost(), 1u);
}

// Between the look at the others and the one at the dead the last one comes.
TEST(TableGroup, barrier__of_a_group_that_forms_where_the_last_one_comes_just_then) {
    Processes all(3);
    Tabled group(all, Entry::kLong, 1);
    all.meet_all();
    EXPECT_EQ(group.barrier(1), kWaits);
    EXPECT_EQ(group.barrier(0), kWaits);
    all.lose(1);
    all.clock.on_now = [&] { EXPECT_EQ(group.barrier(2), kDone); };
    EXPECT_EQ(group.barrier(0), kWaits);
    EXPECT_EQ(group.barrier(0), kDone);
}

TEST(TableGroup, broadcast__of_a_root_that_says_it_and_is_gone_just_then) {
    Processes all(2);
    Tabled group(all);
    all.meet_all();
    std::uint64_t word = 0;
    EXPECT_EQ(group.hear(1, 0, &word), kWaits);
    all.lose(0);
    all.clock.on_now = [&] { EXPECT_EQ(group.say(0, 9), kDone); };
    EXPECT_EQ(group.hear(1, 0, &word), kWaits);
    EXPECT_EQ(group.hear(1, 0, &word), kDone);
    EXPECT_EQ(word, 9u);
}

// A member that waits for a root that is gone goes on, and other roots need not wait for it.
TEST(TableGroup, broadcast__of_a_root_that_is_gone_keeps_no_slot) {
    Processes all(3);
    Tabled group(all);
    all.meet_all();
    std::uint64_t word = 0;
    EXPECT_EQ(group.hear(1, 0, &word), kWaits);
    EXPECT_EQ(group.hear(2, 0, &word), kWaits);
    all.lose(0);
    progress::Waits waits;
    EXPECT_TRUE(waits.add(group.wait(1)));
    const unsigned before = all.raised(1);
    EXPECT_EQ(group.hear(2, 0, &word), FCI_ICL_EPEER);
    EXPECT_EQ(group[2].lost(), 0u);
    all.settle();
    EXPECT_EQ(all.raised(1), before + 1) << "it may wait for room";
    progress::Waits::remove(group.wait(1));
    EXPECT_EQ(group.hear(1, 0, &word), FCI_ICL_EPEER);
    for (unsigned i = 0; i < kSlots; ++i) ASSERT_EQ(group.say(1, i), kDone) << i;
    EXPECT_EQ(group.say(1, kSlots), kWaits);
    for (unsigned i = 0; i < kPastEvery; ++i) {
        ASSERT_EQ(group.hear(2, 1, &word), kDone);
        ASSERT_EQ(word, i);
    }
    for (unsigned i = kSlots; i < kSlots + kPastEvery - 1; ++i) {
        ASSERT_EQ(group.say(1, i), kDone) << i;
    }
}

// Nobody wakes that root again: it must find the room when it is woken.
TEST(TableGroup, broadcast__of_a_root_that_is_gone_makes_room_before_one_that_sleeps_is_woken) {
    Processes all(3);
    Tabled group(all);
    all.meet_all();
    std::uint64_t word = 0;
    for (const unsigned rank : {1u, 2u}) EXPECT_EQ(group.hear(rank, 0, &word), kWaits);
    all.lose(0);
    EXPECT_EQ(group.hear(1, 0, &word), FCI_ICL_EPEER);
    for (unsigned i = 1; i < kSlots; ++i) ASSERT_EQ(group.say(1, i), kDone) << i;
    EXPECT_EQ(group.say(1, kSlots), kWaits);
    progress::Waits waits;
    EXPECT_TRUE(waits.add(group.wait(1)));
    EXPECT_FALSE(group.wait(1).is_over());
    bool is_woken = false;
    all.clock.on_transfer = [&] {
        is_woken = true;
        EXPECT_TRUE(group.wait(1).is_over());
    };
    EXPECT_EQ(group.hear(2, 0, &word), FCI_ICL_EPEER);
    EXPECT_TRUE(is_woken);
    progress::Waits::remove(group.wait(1));
    EXPECT_EQ(group.say(1, kSlots), kDone);
}

// Nor does a root that gives up its own broadcasts, for which there is no room.
TEST(TableGroup, broadcast__of_a_root_that_gives_up_keeps_no_slot) {
    Processes all(3);
    Tabled group(all, Entry::kLong, 1);
    all.meet_all();
    for (const unsigned rank : {0u, 1u}) EXPECT_EQ(group.barrier(rank), kWaits);
    for (const unsigned rank : {2u, 0u, 1u}) EXPECT_EQ(group.barrier(rank), kDone);
    for (unsigned i = 0; i < kSlots; ++i) ASSERT_EQ(group.say(0, i), kDone);
    all.lose(1);
    const auto give_up = [](const auto& call) {
        EXPECT_EQ(call(), kWaits);
        EXPECT_EQ(call(), FCI_ICL_EPEER) << "its owner has gone before all have met again";
    };
    for (unsigned i = 0; i < kSlots + 1; ++i) {
        give_up([&] { return group.say(0, i); });
    }
    std::uint64_t word = 0;
    for (unsigned i = 0; i < kSlots; ++i) ASSERT_EQ(group.hear(2, 0, &word), kDone);
    for (unsigned i = 0; i < kSlots + 1; ++i) {
        give_up([&] { return group.hear(2, 0, &word); });
    }
    for (const unsigned rank : {0u, 2u}) {
        give_up([&] { return group.barrier(rank); });
    }
    EXPECT_EQ(group.say(2, 5), kDone);
}

TEST(TableGroup, broadcast__no_room_is_waited_for_that_the_dead_would_make) {
    Processes all(3);
    Tabled group(all);
    all.meet_all();
    std::uint64_t word = 0;
    for (unsigned i = 0; i < kSlots; ++i) ASSERT_EQ(group.say(0, i), kDone);
    for (unsigned i = 0; i < kSlots; ++i) ASSERT_EQ(group.hear(1, 0, &word), kDone);
    EXPECT_EQ(group.say(0, kSlots), kWaits);
    all.lose(2);
    for (unsigned i = 0; i < 3 * kSlots; ++i) {
        ASSERT_EQ(group.say(0, kSlots + i), kDone) << i;
        ASSERT_EQ(group.hear(1, 0, &word), kDone);
        ASSERT_EQ(word, kSlots + i);
    }
}

// --- strangers: only who has met a process hears of its death ---

TEST(TableGroup, strangers__that_are_missing_are_met_after_a_while) {
    Processes all(4);
    Tabled group(all);
    EXPECT_EQ(group.barrier(2), kWaits);
    EXPECT_EQ(group.barrier(0), kWaits);
    all.pass(kPatience);
    EXPECT_EQ(group.barrier(0), kWaits);
    EXPECT_FALSE(all.is_met(0, 1));
    all.pass(1);
    EXPECT_EQ(group.barrier(0), kWaits);
    EXPECT_TRUE(all.is_met(0, 1));
    EXPECT_FALSE(all.is_met(0, 2)) << "it has come";
    EXPECT_TRUE(all.is_met(0, 3));
    all.settle();
    all.lose(3);
    EXPECT_EQ(group.barrier(0), FCI_ICL_EPEER);
    EXPECT_EQ(group[0].lost(), 3u);
}

TEST(TableGroup, strangers__are_met_in_each_wait_anew) {
    Processes all(3);
    Tabled group(all);
    EXPECT_EQ(group.barrier(1), kWaits);
    EXPECT_EQ(group.barrier(0), kWaits);
    all.pass(kPatience + 1);
    EXPECT_EQ(group.barrier(0), kWaits);
    EXPECT_TRUE(all.is_met(0, 2));
    EXPECT_EQ(group.barrier(2), kDone);
    EXPECT_EQ(group.barrier(0), kDone);
    EXPECT_EQ(group.barrier(0), kWaits);
    EXPECT_EQ(group.barrier(0), kWaits);
    EXPECT_FALSE(all.is_met(0, 1));
    all.pass(kPatience + 1);
    EXPECT_EQ(group.barrier(0), kWaits);
    EXPECT_TRUE(all.is_met(0, 1));
}

TEST(TableGroup, strangers__are_met_at_once_by_who_sleeps) {
    Processes all(2);
    Tabled group(all);
    EXPECT_EQ(group.barrier(0), kWaits);
    progress::Waits waits;
    EXPECT_TRUE(waits.add(group.wait(0)));
    EXPECT_EQ(group.barrier(0), kWaits);
    EXPECT_TRUE(all.is_met(0, 1));
    progress::Waits::remove(group.wait(0));
}

TEST(TableGroup, strangers__are_met_once_there_is_memory) {
    using mp::test::InForce;
    using mp::test::Shortage;
    Processes all(2);
    Tabled group(all);
    EXPECT_EQ(group.barrier(0), kWaits);
    all.pass(kPatience + 1);
    Shortage::plan(0, 1);
    {
        const InForce here;
        EXPECT_EQ(group.barrier(0), kWaits);
    }
    EXPECT_EQ(Shortage::calls, 1u);
    EXPECT_FALSE(all.is_met(0, 1));
    EXPECT_EQ(group.barrier(0), kWaits);
    EXPECT_TRUE(all.is_met(0, 1));
}

}  // namespace
}  // namespace fci::group::test
