// SPDX-License-Identifier: BSD-3-Clause
// How members wait for each other: sleepers, and who needs a core.
#include "fci_core/group/table/table_group.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <vector>

#include "test/unit/group/members.h"

namespace fci::group::test {
namespace {

constexpr unsigned kPastEvery = kSlots / 2;

/// Three that have met, of which some sleep.
class Sleepers : public testing::Test {
protected:
    void SetUp() override {
        all.meet_all();
        for (unsigned rank = 0; rank < 3; ++rank) before_[rank] = all.raised(rank);
    }
    void sleep(unsigned rank) { EXPECT_TRUE(waits_[rank].add(group.wait(rank))); }
    void wake(unsigned rank) { progress::Waits::remove(group.wait(rank)); }
    /// How often each was woken so far.
    std::array<unsigned, 3> woken() {
        all.settle();
        std::array<unsigned, 3> times{};
        for (unsigned rank = 0; rank < 3; ++rank) times[rank] = all.raised(rank) - before_[rank];
        return times;
    }
    using Times = std::array<unsigned, 3>;

    Processes all{3};
    Tabled group{all};

private:
    std::array<progress::Waits, 3> waits_;
    Times before_{};
};

TEST_F(Sleepers, wake_sleepers__those_that_sleep_and_not_oneself) {
    group[0].wake_sleepers();
    EXPECT_EQ(woken(), (Times{0, 0, 0}));
    sleep(0);
    sleep(2);
    EXPECT_EQ(group.table.head().asleep, 5u);
    group[0].wake_sleepers();
    EXPECT_EQ(woken(), (Times{0, 0, 1}));
    group[1].wake_sleepers();
    EXPECT_EQ(woken(), (Times{1, 0, 2}));
    wake(2);
    EXPECT_EQ(group.table.head().asleep, 1u);
    group[1].wake_sleepers();
    EXPECT_EQ(woken(), (Times{2, 0, 2}));
    wake(0);
    EXPECT_EQ(group.table.head().asleep, 0u);
}

TEST_F(Sleepers, barrier__is_woken_by_whoever_is_through) {
    EXPECT_EQ(group.barrier(0), kWaits);
    sleep(0);
    EXPECT_EQ(group.barrier(1), kWaits);
    EXPECT_EQ(woken(), (Times{0, 0, 0})) << "one is missing";
    EXPECT_FALSE(group.wait(0).is_over());
    EXPECT_EQ(group.barrier(2), kDone);
    EXPECT_EQ(woken(), (Times{1, 0, 0}));
    EXPECT_TRUE(group.wait(0).is_over());
    wake(0);
}

TEST_F(Sleepers, gather__a_root_is_woken_by_each_who_comes) {
    std::uint64_t word = 1;
    Words to(3);
    std::size_t bytes = 8;
    EXPECT_EQ(group[1].gather(1, &word, to.data(), &bytes, 1), kWaits);
    sleep(1);
    EXPECT_EQ(group[2].gather(1, &word, to.data(), &bytes, 1), kDone);
    EXPECT_EQ(woken(), (Times{0, 1, 0}));
    EXPECT_FALSE(group.wait(1).is_over());
    EXPECT_EQ(group[0].gather(1, &word, to.data(), &bytes, 1), kDone);
    EXPECT_EQ(woken(), (Times{0, 2, 0}));
    EXPECT_TRUE(group.wait(1).is_over());
    wake(1);
    EXPECT_EQ(all[0].counters().table_collectives, 1u);
}

// The owner, rank 0 here, has met all, whom the root may not have.
TEST_F(Sleepers, broadcast__is_told_by_its_root_and_passed_on_by_the_owner_alone) {
    std::uint64_t word = 0;
    EXPECT_EQ(group.hear(2, 1, &word), kWaits);
    sleep(2);
    EXPECT_EQ(group.say(1, 5), kDone);
    EXPECT_EQ(woken(), (Times{0, 0, 1}));
    EXPECT_TRUE(group.wait(2).is_over());
    EXPECT_EQ(group.hear(0, 1, &word), kDone);
    EXPECT_EQ(woken(), (Times{0, 0, 2}));
    wake(2);
    EXPECT_EQ(group.hear(2, 1, &word), kDone);
    EXPECT_EQ(group.say(1, 5), kDone);
    EXPECT_EQ(group.hear(0, 1, &word), kDone);
    sleep(0);
    EXPECT_EQ(group.hear(2, 1, &word), kDone);
    EXPECT_EQ(woken(), (Times{0, 0, 2})) << "nobody waits for what that one reads";
    wake(0);
}

TEST_F(Sleepers, broadcast__a_root_without_room_is_woken_by_whoever_makes_some) {
    std::uint64_t word = 0;
    for (unsigned i = 1; i <= kSlots; ++i) ASSERT_EQ(group.say(1, i), kDone);
    for (unsigned i = 0; i < kSlots; ++i) ASSERT_EQ(group.hear(0, 1, &word), kDone);
    ASSERT_EQ(group.say(1, 17), kWaits);
    sleep(1);
    for (unsigned i = 1; i < kPastEvery; ++i) ASSERT_EQ(group.hear(2, 1, &word), kDone);
    EXPECT_EQ(woken(), (Times{0, 0, 0}));
    EXPECT_FALSE(group.wait(1).is_over());
    ASSERT_EQ(group.hear(2, 1, &word), kDone);
    EXPECT_EQ(woken(), (Times{0, 1, 0}));
    EXPECT_TRUE(group.wait(1).is_over());
    wake(1);
}

TEST_F(Sleepers, is_over__where_nothing_is_waited_for_or_the_group_is_refused) {
    EXPECT_TRUE(group.wait(0).is_over());
    EXPECT_EQ(group.barrier(0), kWaits);
    EXPECT_FALSE(group.wait(0).is_over());
    EXPECT_EQ(group.table.decide(FlagTable::refused), FlagTable::refused);
    EXPECT_TRUE(group.wait(0).is_over());
}

TEST_F(Sleepers, is_over__a_death_ends_a_sleep_and_no_other_wait) {
    EXPECT_EQ(group.barrier(0), kWaits);
    all.lose(2);
    EXPECT_FALSE(group.wait(0).is_over()) << "the next call says so";
    sleep(0);
    EXPECT_TRUE(group.wait(0).is_over());
    wake(0);
}

TEST_F(Sleepers, is_over__not_by_the_death_of_who_has_come) {
    EXPECT_EQ(group.barrier(2), kWaits);
    EXPECT_EQ(group.barrier(0), kWaits);
    all.lose(2);
    sleep(0);
    EXPECT_FALSE(group.wait(0).is_over()) << "the other one may still come";
    EXPECT_EQ(group.barrier(1), kDone);
    EXPECT_TRUE(group.wait(0).is_over());
    wake(0);
}

TEST_F(Sleepers, may_be_woken__by_those_that_were_met) {
    EXPECT_EQ(group.barrier(0), kWaits);
    EXPECT_TRUE(group.wait(0).may_be_woken());
}

TEST(TableGroup, may_be_woken__not_by_a_stranger_that_is_waited_for) {
    Processes all(3);
    Tabled group(all);
    all.meet(0, 1);
    EXPECT_TRUE(group.wait(0).may_be_woken()) << "nobody is waited for";
    EXPECT_EQ(group.barrier(0), kWaits);
    EXPECT_FALSE(group.wait(0).may_be_woken());
    EXPECT_EQ(group.barrier(2), kWaits);
    EXPECT_TRUE(group.wait(0).may_be_woken()) << "only the one that was met is missing";
}

// Of as many members as there are bits.
TEST(TableGroup, want_wake__each_member_has_a_bit_of_its_own) {
    Processes all(1);
    const Offers offers;
    std::unique_ptr<Entry[]> memory(
        new Entry[FlagTable::bytes(kMembersMost, Entry::kShort) / sizeof(Entry)]{});
    const FlagTable table(reinterpret_cast<std::byte*>(memory.get()), kMembersMost, Entry::kShort);
    for (const unsigned rank : {0u, 31u, 32u, kMembersMost - 1}) {
        Members members{std::vector<nhi::PeerId>(kMembersMost, 5), rank, 1, Entry::kShort};
        members.peers[rank] = nhi::kSelf;
        TableGroup group(all[0].engine(), all[0].messages->meetings(), offers, members);
        group.open(table);
        progress::Waits waits;
        EXPECT_TRUE(waits.add(group.wait()));
        EXPECT_EQ(table.head().asleep, std::uint64_t{1} << rank);
        progress::Waits::remove(group.wait());
        EXPECT_EQ(table.head().asleep, 0u);
    }
}

TEST(TableGroup, needs__a_core_where_one_that_is_missing_was_seen_last) {
    Processes all(3);
    Tabled group(all);
    EXPECT_EQ(group.barrier(0), kWaits);
    EXPECT_TRUE(group.wait(0).needs(6)) << "nobody knows where the others are";
    EXPECT_EQ(group.table.head().core[0], 7u);
    group.table.head().core[1] = 6;
    EXPECT_TRUE(group.wait(0).needs(6)) << "the third one may be here";
    group.table.head().core[2] = 8;
    EXPECT_FALSE(group.wait(0).needs(6));
    EXPECT_TRUE(group.wait(0).needs(5));
    EXPECT_TRUE(group.wait(0).needs(7));
    EXPECT_EQ(group.table.head().core[0], 8u);
    EXPECT_EQ(group.barrier(2), kWaits);
    EXPECT_FALSE(group.wait(0).needs(7)) << "that one has come";
    EXPECT_TRUE(group.wait(0).needs(5));
}

TEST(TableGroup, needs__those_behind_the_last_one_that_was_waited_for) {
    Processes all(3);
    Tabled group(all);
    group.table.head().core[1] = group.table.head().core[2] = 3;
    EXPECT_EQ(group.barrier(1), kWaits);
    EXPECT_EQ(group.barrier(0), kWaits);
    EXPECT_TRUE(group.wait(0).needs(2));
    group.table.head().core[2] = 4;
    EXPECT_FALSE(group.wait(0).needs(2));
}

TEST(TableGroup, needs__a_core_as_long_as_it_has_no_table) {
    Processes all(1);
    const Offers offers;
    TableGroup group(all[0].engine(), all[0].messages->meetings(), offers,
                {{nhi::kSelf, 1}, 0, 0, Entry::kShort});
    EXPECT_TRUE(static_cast<progress::Wait&>(group.wait()).needs(3));
    progress::Waits waits;
    EXPECT_TRUE(waits.add(group.wait())) << "and a message wakes it";
    progress::Waits::remove(group.wait());
}

}  // namespace
}  // namespace fci::group::test
