// SPDX-License-Identifier: BSD-3-Clause
// BulkRoot, of members that hear no hints, or for which the others wait.
#include <gtest/gtest.h>

#include <vector>

#include "test/unit/group/hints/bulk_root.h"

namespace fci::group {
namespace {

using test::kOne;
using test::kPiece;
using test::Offsets;
using test::Root;

constexpr Nanoseconds kUnheard = 1'000'000, kShut = 20'000'000;

/// One host, which asks for all that is hinted. Whether hints are sent for it in that broadcast.
bool hears(Root& it, std::uint64_t number) {
    it.begin(kOne, number);
    const bool does = !it.look().empty();
    it.has_all(1);
    EXPECT_TRUE(it.root.advance());
    EXPECT_FALSE(it.root.has_lost());
    return does;
}

TEST(BulkRoot, unheard__twice_in_a_row_and_it_is_deaf_for_64) {
    Root it(2, 0);
    it.begin(2 * kOne);
    EXPECT_EQ(it.look(), (Offsets{0}));
    it.wait(kUnheard);
    it.asks(1, 0, kPiece, 0);
    (void)it.look();
    EXPECT_EQ(it.taken(1), it.part(0, kPiece));
    it.asks(1, kOne, 2 * kPiece, 0);
    EXPECT_EQ(it.look(), (Offsets{0})) << "none for the deaf";
    EXPECT_EQ(it.taken(1), it.part(kOne, 2 * kPiece)) << "which need not wait for any";
    it.has_all(1);
    EXPECT_TRUE(it.root.advance());
    EXPECT_FALSE(it.root.has_lost());
    EXPECT_FALSE(hears(it, it.number + 1));
    EXPECT_FALSE(hears(it, 1 + 64));
    EXPECT_TRUE(hears(it, 1 + 65));
}

TEST(BulkRoot, unheard__is_what_may_still_be_on_its_way) {
    Root it(2);
    it.hints(0).answer = Status::again;
    it.begin(kOne);
    (void)it.look();
    it.wait(kUnheard);
    for (unsigned i = 0; i < 3; ++i) it.asks(1, 0, kPiece, 0);
    EXPECT_EQ(it.look(), Offsets{}) << "nothing was sent";
    it.hints(0).answer = Status::ok;
    EXPECT_EQ(it.look(), (Offsets{0}));
    it.wait(kUnheard - 1);
    for (unsigned i = 0; i < 3; ++i) it.asks(1, 0, kPiece, 0);
    it.has_all(1);
    EXPECT_TRUE(it.root.advance());
    EXPECT_FALSE(it.root.has_lost());
    it.hints(0).answer = Status::again;
    it.begin(kOne);
    (void)it.look();
    it.wait(kUnheard);
    for (unsigned i = 0; i < 3; ++i) it.asks(1, 0, kPiece, 0);
    it.hints(0).answer = Status::ok;
    EXPECT_EQ(it.look(), (Offsets{0})) << "the one before counts for nothing";
}

TEST(BulkRoot, unheard__not_in_a_row) {
    Root it(2);
    const auto ask = [&](std::size_t wanted, std::uint64_t heard) {
        it.begin(kOne);
        EXPECT_EQ(it.look(), (Offsets{0})) << it.number;
        it.wait(kUnheard);
        it.asks(1, 0, wanted, heard);
        (void)it.look();
        it.has(1, kOne, 0);
        EXPECT_TRUE(it.root.advance());
        EXPECT_FALSE(it.root.has_lost());
    };
    ask(kPiece, 0);
    ask(kPiece, 1);
    ask(kPiece, 0);
    ask(0, 0);  // it wants nothing
    it.begin(kOne);
    EXPECT_EQ(it.look(), (Offsets{0}));
    it.has(1, kOne, 0);
    it.wait(kUnheard);
    it.asks(1, 0, kPiece, 0);  // it has all
    EXPECT_TRUE(it.root.advance());
    EXPECT_FALSE(it.root.has_lost());
    ask(kPiece, 1);
    ask(kPiece, 0);
    ask(kPiece, 0);
    it.begin(kOne);
    EXPECT_EQ(it.look(), Offsets{});
}

TEST(BulkRoot, late__is_left_behind_at_the_second_look_after_20_ms) {
    Root it(3, kOne);
    it.begin(4 * kOne);
    it.has(2, kOne, kOne);
    EXPECT_EQ(it.look(), (Offsets{0}));
    it.wait(kShut - 1);
    EXPECT_EQ(it.look(), (Offsets{0}));
    EXPECT_EQ(it.look(), (Offsets{0}));
    it.wait(1);
    EXPECT_EQ(it.look(), (Offsets{0})) << "the first look";
    it.has(1, kPiece, kPiece);
    EXPECT_EQ(it.look(), (Offsets{0, kOne}));
    it.has(2, kOne + kPiece, kOne);
    it.wait(kShut);
    EXPECT_EQ(it.look(), (Offsets{0, kOne})) << "another first look";
    EXPECT_EQ(it.look(), (Offsets{0, kOne, 2 * kOne})) << "had + window == end, and was left";
    EXPECT_EQ(it.look().size(), 3u) << "the other one was not";
    it.asks(1, 3 * kOne, kPiece);
    (void)it.look();
    EXPECT_EQ(it.taken(1), it.part(3 * kOne, kPiece));
    it.has(1, it.data.size(), kPiece);
    it.has_all(2);
    EXPECT_TRUE(it.root.advance());
    EXPECT_FALSE(it.root.has_lost());
    it.begin(4 * kOne);
    it.has(2, kOne, kOne);
    EXPECT_EQ(it.look(), (Offsets{0})) << "in that broadcast only";
}

TEST(BulkRoot, late__beside_a_deaf_one_which_stays_deaf) {
    Root it(3, kOne);
    it.begin(3 * kOne);
    (void)it.look();
    it.wait(kShut);
    for (unsigned i = 0; i < 2; ++i) it.asks(1, 0, kPiece, 0);
    (void)it.look();
    EXPECT_EQ(it.look(), (Offsets{0})) << "nobody is left to hear any";
    it.has_all(1);
    it.has_all(2);
    EXPECT_TRUE(it.root.advance());
    EXPECT_FALSE(it.root.has_lost());
    it.begin(3 * kOne);
    it.has(2, kOne, kOne);
    EXPECT_EQ(it.look(), (Offsets{0, kOne}));
}

TEST(BulkRoot, lossy__two_thirds_of_what_a_tree_would_send_in_three_of_four) {
    for (const std::size_t more : {0, 1}) {
        Root it(3);
        it.lose(3000, {1000 - more, 1000});
        it.lose(3000, {1000, 1000});
        EXPECT_FALSE(it.root.is_lossy());
        it.lose(3000, {0, 2000});
        EXPECT_EQ(it.root.is_lossy(), more == 0) << "one byte less was unheard in one of them";
        it.lose(3000, {0, 0});
        EXPECT_EQ(it.root.is_lossy(), more == 0);
        it.lose(3000, {1000, 999});
        EXPECT_FALSE(it.root.is_lossy());
        it.lose(3000, {3000, 3000});
        EXPECT_FALSE(it.root.is_lossy());
    }
    for (const std::size_t more : {0, 1}) {
        Root it(2);
        for (unsigned i = 0; i < 3; ++i) it.lose(3000, {1000 - more});
        EXPECT_EQ(it.root.is_lossy(), more == 0);
    }
}

TEST(BulkRoot, lossy__not_for_one_that_was_late_or_hears_twice) {
    Root it(2, 0);
    for (unsigned i = 0; i < 4; ++i) {
        it.begin(2 * kOne);
        (void)it.look();
        it.wait(kShut);
        (void)it.look();
        (void)it.look();
        it.has(1, kPiece, 0);
        it.has(1, it.data.size(), 0);
        EXPECT_TRUE(it.root.advance());
        EXPECT_FALSE(it.root.has_lost());
        EXPECT_FALSE(it.root.is_lossy());
    }
    for (unsigned i = 0; i < 4; ++i) {
        it.begin(kOne);
        (void)it.look();
        it.has(1, kPiece, 0);
        it.has(1, kOne, kOne + kPiece);
        EXPECT_TRUE(it.root.advance());
        EXPECT_FALSE(it.root.has_lost());
        EXPECT_FALSE(it.root.is_lossy());
    }
}

TEST(BulkRoot, lossy__for_one_that_nobody_had_to_wait_for) {
    Root it(2, 0);
    for (unsigned i = 0; i < 3; ++i) {
        it.begin(kOne);
        (void)it.look();
        it.wait(kShut);
        for (unsigned looks = 0; looks < 3; ++looks) (void)it.look();
        it.has(1, kOne, 0);
        EXPECT_TRUE(it.root.advance());
        EXPECT_FALSE(it.root.has_lost());
    }
    EXPECT_TRUE(it.root.is_lossy()) << "all was sent";
}

}  // namespace
}  // namespace fci::group
