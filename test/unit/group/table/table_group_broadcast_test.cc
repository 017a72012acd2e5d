// SPDX-License-Identifier: BSD-3-Clause
// Broadcasts by the slots of a table.
#include "fci_core/group/table/table_group.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <vector>

#include "test/unit/group/members.h"

namespace fci::group::test {
namespace {

constexpr unsigned kPastEvery = kSlots / 2;

TEST(TableGroup, broadcast__a_root_is_so_many_ahead_and_no_more) {
    Processes all(2);
    Tabled group(all);
    for (unsigned i = 1; i <= kSlots; ++i) ASSERT_EQ(group.say(0, i), kDone);
    ASSERT_EQ(group.say(0, 17), kWaits);
    std::uint64_t word = 0;
    for (unsigned i = 1; i < kPastEvery; ++i) {
        ASSERT_EQ(group.hear(1, 0, &word), kDone);
        ASSERT_EQ(word, i);
    }
    EXPECT_EQ(group.say(0, 17), kWaits);
    ASSERT_EQ(group.hear(1, 0, &word), kDone);
    EXPECT_EQ(word, kPastEvery);
    for (unsigned i = kSlots + 1; i <= kSlots + kPastEvery; ++i) ASSERT_EQ(group.say(0, i), kDone);
    EXPECT_EQ(group.say(0, kSlots + kPastEvery + 1), kWaits);
    for (unsigned i = kPastEvery + 1; i <= kSlots + kPastEvery; ++i) {
        ASSERT_EQ(group.hear(1, 0, &word), kDone);
        ASSERT_EQ(word, i);
    }
    EXPECT_EQ(group.hear(1, 0, &word), kWaits);
}

// It waits for room once, and hears of it; then it goes on until it would overwrite what the
// slowest of all has not read.
TEST(TableGroup, broadcast__a_root_overwrites_nothing_that_somebody_has_not_read) {
    for (const unsigned slow : {1u, 2u}) {
        Processes all(3);
        Tabled group(all);
        std::uint64_t word = 0;
        for (unsigned i = 1; i <= kSlots; ++i) ASSERT_EQ(group.say(0, i), kDone);
        for (unsigned i = 0; i < kSlots; ++i) ASSERT_EQ(group.hear(3 - slow, 0, &word), kDone);
        ASSERT_EQ(group.say(0, kSlots + 1), kWaits);
        for (unsigned i = 0; i < kPastEvery; ++i) ASSERT_EQ(group.hear(slow, 0, &word), kDone);
        unsigned said = kSlots;
        while (said < 4 * kSlots && group.say(0, said + 1) == kDone) ++said;
        EXPECT_EQ(said, kSlots + kPastEvery);
        for (unsigned i = kPastEvery + 1; i <= said; ++i) {
            ASSERT_EQ(group.hear(slow, 0, &word), kDone);
            ASSERT_EQ(word, i) << "at " << slow;
        }
    }
}

TEST(TableGroup, broadcast__whoever_comes_to_a_meeting_of_all_has_heard_those_before) {
    Processes all(3);
    Tabled group(all);
    std::uint64_t word = 0;
    for (unsigned i = 0; i < 12; ++i) {
        ASSERT_EQ(group.say(0, i), kDone);
        for (const unsigned rank : {1u, 2u}) ASSERT_EQ(group.hear(rank, 0, &word), kDone);
    }
    EXPECT_EQ(group.barrier(1), kWaits);
    EXPECT_EQ(group.barrier(2), kWaits);
    EXPECT_EQ(group.barrier(0), kDone);
    for (unsigned i = 0; i < kSlots; ++i) ASSERT_EQ(group.say(0, i), kDone) << i;
    EXPECT_EQ(group.say(0, kSlots), kWaits);
}

// The line of two that answer each other is one; where a third one listens it is not.
TEST(TableGroup, broadcast__by_turns) {
    for (const unsigned size : {2u, 3u}) {
        Processes all(size);
        Tabled group(all);
        std::uint64_t word = 0;
        unsigned heard = 0;
        for (unsigned i = 0; i < 40; ++i) {
            const unsigned root = i / 3 % 2;  // three by each
            ASSERT_EQ(group.say(root, 100 + i), kDone);
            ASSERT_EQ(group.hear(1 - root, root, &word), kDone);
            ASSERT_EQ(word, 100 + i);
            if (size == 2 || i % 5 != 4) continue;
            for (; heard <= i; ++heard) {
                ASSERT_EQ(group.hear(2, heard / 3 % 2, &word), kDone);
                ASSERT_EQ(word, 100 + heard);
            }
        }
    }
}

TEST(TableGroup, broadcast__by_one_of_two_that_the_other_reads_late) {
    Processes all(2);
    Tabled group(all);
    std::uint64_t word = 0;
    ASSERT_EQ(group.say(1, 7), kDone);
    ASSERT_EQ(group.hear(0, 1, &word), kDone);
    for (unsigned i = 0; i < 5; ++i) ASSERT_EQ(group.say(0, i), kDone);
    for (unsigned i = 0; i < 5; ++i) {
        ASSERT_EQ(group.hear(1, 0, &word), kDone);
        EXPECT_EQ(word, i);
    }
}

TEST(TableGroup, broadcast__what_there_is_no_room_for_is_not_copied) {
    for (const std::size_t longest : {Entry::kShort, Entry::kLong}) {
        for (const std::size_t less : {0u, 1u}) {
            Processes all(2);
            Tabled group(all, longest);
            std::vector<std::byte> said(longest, std::byte{5}), heard(longest + 1);
            std::size_t bytes = longest;
            ASSERT_EQ(group[0].broadcast(0, said.data(), &bytes, 1), kDone);
            bytes = longest - less;
            ASSERT_EQ(group[1].broadcast(0, heard.data(), &bytes, 1), kDone);
            EXPECT_EQ(bytes, longest);
            EXPECT_EQ(std::ranges::count(heard, std::byte{5}),
                      less == 0 ? static_cast<long>(longest) : 0);
            EXPECT_EQ(heard[longest], std::byte{}) << "not one more";
        }
    }
}

// Words that a member has scribbled over.
TEST(TableGroup, broadcast__of_more_than_the_table_has_is_not_copied) {
    for (const std::size_t longest : {Entry::kShort, Entry::kLong}) {
        for (const std::size_t more : {1ul, Entry::kNobody - longest, Entry::kNoLength - longest}) {
            Processes all(2);
            Tabled group(all, longest);
            std::vector<std::byte> heard(4096);
            std::size_t bytes = 1;
            std::byte one{9};
            ASSERT_EQ(group[0].broadcast(0, &one, &bytes, 1), kDone);
            group.table.said(1).word = Entry::word_of(1, longest + more);
            bytes = heard.size();
            ASSERT_EQ(group[1].broadcast(0, heard.data(), &bytes, 1), kDone);
            EXPECT_EQ(bytes, longest + more);
            EXPECT_EQ(heard, std::vector<std::byte>(4096));
        }
    }
}

TEST(TableGroup, broadcast__why_there_is_nothing) {
    Processes all(2);
    Tabled group(all);
    unsigned gone = 12;
    std::uint64_t word = 5;
    std::size_t bytes = Entry::kNobody;
    ASSERT_EQ(group[0].broadcast(0, &gone, &bytes, 1), kDone);
    bytes = sizeof word;
    ASSERT_EQ(group[1].broadcast(0, &word, &bytes, 1), kDone);
    EXPECT_EQ(bytes, Entry::kNobody);
    EXPECT_EQ(group[1].lost(), 12u);
    bytes = Entry::kNoLength;
    gone = 13;
    ASSERT_EQ(group[0].broadcast(0, &gone, &bytes, 1), kDone);
    bytes = sizeof word;
    ASSERT_EQ(group[1].broadcast(0, &word, &bytes, 1), kDone);
    EXPECT_EQ(bytes, Entry::kNoLength);
    EXPECT_EQ(group[1].lost(), 12u) << "nobody new";
    EXPECT_EQ(word, 5u);
    EXPECT_EQ(all[1].counters().table_collectives, 2u);
}

}  // namespace
}  // namespace fci::group::test
