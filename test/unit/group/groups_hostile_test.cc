// SPDX-License-Identifier: BSD-3-Clause
// Words of others about tables, which may say anything.
#include "fci_core/group/groups.h"

#include <gtest/gtest.h>

#include <cstring>
#include <vector>

#include "fci_core/group/hosts/note.h"
#include "test/unit/group/members.h"

namespace fci::group::test {
namespace {

constexpr int kNone = FCI_ICL_EUNREACHABLE;

using Answers = std::vector<int>;

const TableHead& head_of(const Group& group) {
    return group.table->table().head();
}

/// Three that have met, of whom rank 0 has the table and the third has not come.
class Hostile : public testing::Test {
protected:
    void SetUp() override {
        all.meet_all();
        ASSERT_EQ(group.form(0), kWaits);
        all.settle();
        ASSERT_EQ(group.form(1), kWaits);
    }
    [[nodiscard]] Table table() {
        const auto at = static_cast<std::uint64_t>(gcs::Layout::kBoard);
        return {head_of(group[0]).name, at};
    }
    void say(unsigned from, unsigned to, const Note& note) {
        tell(*all[from].messages, all[from].peers[to], note);
        all.settle();
    }

    Processes all{3};
    Formed group{all};
};

TEST_F(Hostile, cannot_join__by_that_member_and_of_that_table_only) {
    const Note right{0, table(), 3, 0, 0, {}, 0, {}, {}};
    Note note = right;
    note.table.name += 1;
    say(2, 0, note);
    note = right;
    note.cannot = 2;
    say(2, 0, note);
    note.cannot = 4;
    say(2, 0, note);
    note.cannot = ~0ull;
    say(2, 0, note);
    EXPECT_EQ(head_of(group[0]).outcome, FlagTable::open);
    EXPECT_EQ(group.form(0), kWaits);
    say(2, 0, right);
    EXPECT_EQ(head_of(group[0]).outcome, FlagTable::refused);
    EXPECT_EQ(group.form(0), kNone);
    EXPECT_EQ(group.form(1), kNone);
    const TableHead* const place = &head_of(group[0]);
    group.leave(0);
    group.leave(1);
    Formed next(all, 3);
    EXPECT_EQ(next.form(0), kWaits);
    EXPECT_EQ(&head_of(next[0]), place) << "all have answered and nobody is inside";
    group.leave(2);
}

TEST_F(Hostile, cannot_join__wakes_who_sleeps_over_it) {
    progress::Waits waits;
    EXPECT_TRUE(waits.add(*group[1].table));
    const unsigned before = all.raised(1);
    say(2, 0, {0, table(), 3, 0, 0, {}, 0, {}, {}});
    EXPECT_EQ(all.raised(1), before + 1);
    progress::Waits::remove(*group[1].table);
}

TEST_F(Hostile, note__of_another_length_is_none) {
    const Note note{0, table(), 3, 0, 0, {}, 0, {}, {}};
    const auto bytes = std::as_bytes(std::span(&note, 1));
    EXPECT_GE(
        all[2].messages->send(mp::active_message(all[2].peers[0], mp::ActiveMessages::kOfGroups, 0,
                                                 bytes.first(bytes.size() - 8), {}),
                              {}, nullptr),
        0);
    all.settle();
    EXPECT_EQ(head_of(group[0]).outcome, FlagTable::open);
}

TEST_F(Hostile, note__of_hints_where_there_are_no_levels) {
    say(2, 0, {0, {}, 0, 5, 0, {}, 0, {}, {}});
    say(2, 0, {0, {}, 0, 0, 5, {}, 0, {}, {}});
    say(2, 0, {0, {}, 0, 0, 0, {1, 2, 3, 4}, 0, {}, {}});
    say(2, 0, {0, {}, 0, 0, 0, {}, 1, {}, {}});
    EXPECT_EQ(group.form(0), kWaits);
    EXPECT_EQ(group.form(2), kDone);
}

/// The owner's words about its table are checked against what is there.
class Offered : public testing::Test {
protected:
    void SetUp() override {
        all.meet_all();
        ASSERT_EQ(group.form(0), kWaits);
        all.settle();
    }
    TableHead& head() { return group[0].table->table().head(); }
    void expect_refused() {
        EXPECT_EQ(group.form(1), kNone);
        EXPECT_FALSE(group[1].table->table().is_there());
        all.settle();
        EXPECT_EQ(group.form(0), kNone) << "and hears of it";
    }

    Processes all{2};
    Formed group{all};
};

TEST_F(Offered, table__of_another_name) {
    ++head().name;
    expect_refused();
}

TEST_F(Offered, table__of_other_members) {
    ++head().members;
    expect_refused();
}

TEST_F(Offered, table__of_any_other_length_is_a_short_one) {
    head().longest = 17;
    EXPECT_EQ(group.form(1), kWaits);
    EXPECT_EQ(group[1].longest(), Entry::kShort);
}

// It is like one, but does not begin with a line.
TEST_F(Offered, table__between_two_lines) {
    constexpr std::size_t kAway = 2 * gcs::Layout::kBoardLeast + 8;
    auto* const memory = reinterpret_cast<std::byte*>(&head());
    std::memcpy(memory + kAway, memory, sizeof(TableHead));
    const auto board = static_cast<std::uint64_t>(gcs::Layout::kBoard);
    tell(*all[0].messages, all[0].peers[1],
         {0, {head().name, board + kAway}, 0, 0, 0, {}, 0, {}, {}});
    all.settle();
    EXPECT_EQ(group.form(1), kNone);
}

TEST_F(Offered, table__that_is_not_where_one_can_be) {
    const std::uint64_t name = head().name;
    const auto board = static_cast<std::uint64_t>(gcs::Layout::kBoard);
    for (const std::uint64_t at : {board + 8, board + 4 * gcs::Layout::kBoardLeast,
                                   board + 4 * gcs::Layout::kBoardLeast - 64, std::uint64_t{0}}) {
        tell(*all[0].messages, all[0].peers[1], {0, {name, at}, 0, 0, 0, {}, 0, {}, {}});
        all.settle();
        EXPECT_EQ(group.form(1), kNone);
        EXPECT_FALSE(group[1].table->table().is_there());
    }
}

}  // namespace
}  // namespace fci::group::test
