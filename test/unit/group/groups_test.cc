// SPDX-License-Identifier: BSD-3-Clause
// How groups come about, and what becomes of their tables.
#include "fci_core/group/groups.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "test/unit/group/members.h"

namespace fci::group::test {
namespace {

constexpr int kNone = FCI_ICL_EUNREACHABLE;


const TableHead& head_of(const Group& group) {
    return group.table->table().head();
}

// --- which there are ---

TEST(Groups, begin__from_17_on_eight_neighbours_have_a_table_of_their_own) {
    for (const unsigned size : {2u, 16u, 17u, 18u}) {
        Processes all(size);
        Formed group(all);
        EXPECT_NE(group[0].table, nullptr);
        EXPECT_EQ(group[0].run != nullptr, size >= 17);
    }
}

// Of cards alone; none of them need exist.
TEST(Groups, begin__of_as_many_of_a_host_as_a_table_has_room_for) {
    for (const unsigned size : {kMembersMost, kMembersMost + 1}) {
        Processes all(1);
        Members members = all.members(0, 0, Entry::kLong);
        ddi::Card card = all[0].device->card();
        while (members.peers.size() < size) {
            card.port = static_cast<std::uint16_t>(card.port + 256);
            nhi::PeerId peer = 0;
            ASSERT_EQ(all[0].device->add_peer(card, &peer), Status::ok);
            members.peers.push_back(peer);
        }
        Groups groups(*all[0].messages);
        Group& one = groups.begin(members);
        const bool fits = size <= kMembersMost;
        EXPECT_EQ(one.table != nullptr, fits);
        EXPECT_EQ(one.run != nullptr, fits);
        if (!fits) {
            EXPECT_EQ(groups.form(one, false, 1), kNone);
        }
        groups.leave(one);
    }
}

TEST(Groups, form__of_a_crowd_from_17_on_the_last_one_reduces_for_all) {
    for (const unsigned size : {16u, 17u}) {
        for (const bool crowded : {false, true}) {
            Processes all(size);
            Formed group(all);
            EXPECT_EQ(group.form_all(crowded), Answers(size, kDone));
            const bool is_throng = crowded && size == 17;
            EXPECT_EQ(head_of(group[0]).throng != 0, is_throng);
            EXPECT_EQ(group[3].run != nullptr, size == 17 && !crowded);
            EXPECT_EQ(head_of(group[0]).outcome, FlagTable::formed);
            group.leave();
        }
    }
}

TEST(Groups, form__meets_those_that_a_barrier_by_messages_would) {
    Processes all(6);
    Formed group(all, 5);  // the last one has the table, and meets all
    EXPECT_EQ(group.form_all(), Answers(6, kDone));
    const auto is_met = [&](unsigned other) { return all.is_met(0, other); };
    EXPECT_TRUE(is_met(1) && is_met(2) && is_met(4));
    EXPECT_TRUE(is_met(5)) << "the owner";
    EXPECT_FALSE(all.is_met(1, 4)) << "three apart";
}

// --- tables ---

TEST(Groups, form__nobody_is_through_before_all_have_joined) {
    Processes all(3);
    all.meet_all();
    Formed group(all);
    for (unsigned i = 0; i < 5; ++i, all.settle()) {
        EXPECT_EQ(group.form(0), kWaits);
        EXPECT_EQ(group.form(1), kWaits);
    }
    EXPECT_EQ(head_of(group[0]).joined, 3u);
    EXPECT_EQ(head_of(group[0]).inside, 3u);
    EXPECT_EQ(head_of(group[0]).members, 3u);
    EXPECT_EQ(head_of(group[0]).fenced, 1u) << "this network orders nothing";
    EXPECT_EQ(group.form(2), kDone);
    EXPECT_EQ(group.form(0), kDone);
    EXPECT_EQ(group.form(1), kDone);
    EXPECT_EQ(head_of(group[0]).joined, 7u);
    EXPECT_EQ(&head_of(group[0]), &head_of(group[2])) << "all processes are this one";
    group.leave(1);
    EXPECT_EQ(head_of(group[0]).inside, 5u);
}

TEST(Groups, form__as_long_as_wanted_or_as_there_is_memory_or_not_at_all) {
    // Of two members one for long data takes six pages, and one for short data one page.
    Processes all(2, {.mapped = true}, 14 * 4096);
    all.meet_all();
    Formed small(all, 0, Entry::kShort);
    EXPECT_EQ(small.form_all(), Answers(2, kDone));
    EXPECT_EQ(small[1].longest(), Entry::kShort);
    Formed first(all, 2), second(all, 4), third(all, 6);
    EXPECT_EQ(first.form_all(), Answers(2, kDone));
    EXPECT_EQ(second.form_all(), Answers(2, kDone));
    EXPECT_EQ(first[1].longest(), Entry::kLong);
    EXPECT_EQ(second[1].longest(), Entry::kLong);
    EXPECT_EQ(third.form_all(), Answers(2, kDone));
    EXPECT_EQ(third[0].longest(), Entry::kShort) << "one page was left";
    EXPECT_EQ(third[1].longest(), Entry::kShort);
    Formed none(all, 8);
    EXPECT_EQ(none.form_all(), Answers(2, kNone));
    Formed others(all, 9);
    EXPECT_EQ(others.form_all(), Answers(2, kDone)) << "its owner is the other one";
    none.leave();
    second.leave();
    Formed again(all, 10);
    EXPECT_EQ(again.form_all(), Answers(2, kDone));
    EXPECT_EQ(again[1].longest(), Entry::kLong);
}

// One process owns the table of all, of 15 pages if it is long, and others, of ten and of seven.
TEST(Groups, form__tables_of_neighbours_that_are_shorter_are_not_used) {
    for (const std::size_t pages : {40, 16}) {
        Processes all(17, {.mapped = true}, pages * 4096);
        all.meet_all();
        Formed group(all);
        EXPECT_EQ(group.form_all(), Answers(17, kDone));
        for (const unsigned rank : {0u, 16u}) {
            EXPECT_EQ(group[rank].longest(), Entry::kLong);
            EXPECT_EQ(group[rank].run != nullptr, pages == 40) << rank;
        }
        group.leave();
    }
}

TEST(Groups, form__where_no_memory_can_be_shared) {
    Processes all(2, {.mapped = false});
    all.meet_all();
    for (std::uint64_t key = 0; key < 10; key += 2) {
        Formed group(all, key);
        EXPECT_EQ(group.form_all(), Answers(2, kNone));
        group.leave();
    }
}

TEST(Groups, leave__the_table_is_used_again_when_all_have_left_it) {
    Processes all(3);
    all.meet_all();
    Formed first(all, 0);
    EXPECT_EQ(first.form_all(), Answers(3, kDone));
    const TableHead* const place = &head_of(first[0]);
    const std::uint64_t name = place->name;
    first.leave(1);
    first.leave(0);
    Formed second(all, 3);
    EXPECT_EQ(second.form_all(), Answers(3, kDone));
    EXPECT_NE(&head_of(second[0]), place) << "one is inside still";
    first.leave(2);
    Formed third(all, 6);
    EXPECT_EQ(third.form_all(), Answers(3, kDone));
    EXPECT_EQ(&head_of(third[0]), place);
    EXPECT_NE(head_of(third[0]).name, name);
    EXPECT_NE(head_of(third[0]).name, head_of(second[0]).name);
}

// The owner leaves last, or a member does that has not answered yet.
TEST(Groups, leave__before_all_have_said_whether_they_join) {
    Processes all(3);
    all.meet_all();
    Formed first(all, 0);
    EXPECT_EQ(first.form(0), kWaits);
    all.settle();
    EXPECT_EQ(first.form(1), kWaits);
    const TableHead* const place = &head_of(first[0]);
    first.leave(0);
    first.leave(1);
    Formed second(all, 3);
    EXPECT_EQ(second.form(0), kWaits);
    EXPECT_NE(&head_of(second[0]), place) << "the third one may join it still";
    EXPECT_EQ(first.form(2), kDone) << "all have come";
    first.leave(2);
    Formed third(all, 6);
    EXPECT_EQ(third.form(0), kWaits);
    EXPECT_EQ(&head_of(third[0]), place);
}

// Those of groups that one who is gone had not joined, and of those that it had.
TEST(Groups, leave__tables_of_the_dead_are_free_when_the_living_have_left_them) {
    Processes all(3, {.mapped = true}, 16 * 4096);
    all.meet_all();
    Formed joined(all, 0);
    EXPECT_EQ(joined.form_all(), Answers(3, kDone));
    Some first(all, {0, 1, 2}, 3);
    EXPECT_EQ(first.form(0), kWaits);
    all.settle();
    EXPECT_EQ(first.form(1), kWaits);
    all.lose(2);
    joined.leave();
    first.leave();
    for (std::uint64_t key = 3; key < 303; key += 3) {
        Some group(all, {0, 1, 2}, key + 3);
        const Answers answers = group.form_all();
        EXPECT_EQ(answers[0], kNone);
        EXPECT_EQ(answers[1], kNone);
        group.leave();
    }
    Some last(all, {0, 1}, 1000), other(all, {0, 1}, 1002);
    EXPECT_EQ(last.form_all()[0], kDone);
    EXPECT_EQ(other.form_all()[0], kDone);
    EXPECT_EQ(last[0].longest(), Entry::kLong);
    EXPECT_EQ(other[0].longest(), Entry::kLong) << "all of the board is there";
}

// --- deaths ---

TEST(Groups, form__without_one_who_has_gone_there_is_none) {
    for (const unsigned victim : {0u, 1u, 2u}) {
        Processes all(3);
        all.meet_all();
        Formed group(all);
        all.lose(victim);
        const Answers answers = group.form_all();
        for (unsigned rank = 0; rank < 3; ++rank) {
            if (rank != victim) {
                EXPECT_EQ(answers[rank], kNone) << rank << " without " << victim;
            }
        }
        group.leave();
    }
}

// One knows of a death first; whether the group comes about is the same at all.
TEST(Groups, form__is_decided_once_for_all) {
    Processes all(3);
    all.meet_all();
    Formed group(all);
    EXPECT_EQ(group.form(0), kWaits);
    all.settle();
    EXPECT_EQ(group.form(1), kWaits);
    EXPECT_EQ(group[0].table->table().decide(FlagTable::lost), FlagTable::lost);
    EXPECT_EQ(group.form(2), kNone) << "though all have come";
    EXPECT_EQ(group.form(0), kNone);
    EXPECT_EQ(group.form(1), kNone);
}

TEST(Groups, leave__of_a_process_whose_peers_are_severed_touches_nothing) {
    Processes all(2);
    all.meet_all();
    Formed group(all);
    EXPECT_EQ(group.form_all(), Answers(2, kDone));
    const TableHead& head = head_of(group[0]);
    all[1].messages->meetings().sever();
    group.leave(1);
    EXPECT_EQ(head.inside, 3u);
    group.leave(0);
    EXPECT_EQ(head.inside, 2u);
}

// --- collectives that are left ---

TEST(Groups, leave__what_is_under_way_by_messages_is_asked_back) {
    Processes all(2, {.per_host = 1, .mapped = true});
    Formed group(all);
    EXPECT_EQ(group.form_all(), Answers(2, kDone));
    Collective barrier{};
    barrier.kind = FCI_ICL_BARRIER;
    EXPECT_EQ(group[0].call(barrier, 1), kWaits);
    EXPECT_TRUE(group[0].is_busy());
    group.leave(0);
    all.settle();
    all[0].groups->clear_away();
    EXPECT_TRUE(all[0].engine().posted.empty());
    group.leave(1);
    Formed next(all, 1);
    EXPECT_EQ(next.form_all(), Answers(2, kDone));
}

TEST(Groups, leave__nothing_of_it_goes_on) {
    Processes all(2);
    all.meet_all();
    Formed group(all);
    EXPECT_EQ(group.form_all(), Answers(2, kDone));
    Collective barrier{};
    barrier.kind = FCI_ICL_BARRIER;
    Outstanding& outstanding = all[0].groups->outstanding();
    EXPECT_EQ(outstanding.start(group[0], barrier), FCI_ICL_OK);
    EXPECT_TRUE(outstanding.any());
    group.leave(0);
    EXPECT_FALSE(outstanding.any());
    EXPECT_EQ(outstanding.advance(3), 3);
}

}  // namespace
}  // namespace fci::group::test
