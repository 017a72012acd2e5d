// SPDX-License-Identifier: BSD-3-Clause
// BulkMember, where there is nothing to come any more.
#include <gtest/gtest.h>

#include "test/unit/group/hints/bulk_member.h"

namespace fci::group {
namespace {

using test::kPiece;
using test::Member;
using test::Words;

constexpr Nanoseconds kMilli = 1'000'000;

TEST(BulkMember, nothing__comes_of_it) {
    Member it;
    it.begin(6 * kPiece);
    for (const std::size_t piece : {0, 2, 4}) EXPECT_TRUE(it.bring(piece));
    it.look_anew();
    it.look_anew();
    EXPECT_EQ(it.said().size(), 2u);
    it.send_nothing(0, 1, it.match());
    it.settle();
    EXPECT_TRUE(it.bring(5));
    it.look_anew();
    it.answer(3 * kPiece, kPiece);
    EXPECT_TRUE(it.member->advance());
    EXPECT_TRUE(it.member->has_lost());
    EXPECT_EQ(it.said(), Words()) << "and nobody is told";
    EXPECT_FALSE(it.bring(1));
}

TEST(BulkMember, nothing__that_came_before_it_asked) {
    Member it;
    it.begin(kPiece);
    it.send_nothing(0, 1, it.match());
    it.settle();
    it.wait(2 * kMilli);
    it.look(2);
    EXPECT_FALSE(it.member->is_busy());
    EXPECT_EQ(it.said(), Words());
    EXPECT_TRUE(it.member->advance());
    EXPECT_TRUE(it.member->has_lost());
}

TEST(BulkMember, root__has_gone) {
    Member it;
    it.begin(3 * kPiece);
    EXPECT_TRUE(it.bring(1));
    it.look();
    it.kill(0);
    EXPECT_TRUE(it.bring(0));
    EXPECT_TRUE(it.member->advance());
    EXPECT_TRUE(it.member->has_lost());
    EXPECT_FALSE(it.bring(2));
}

TEST(BulkMember, root__has_gone_when_all_was_here) {
    Member it;
    it.begin(2 * kPiece);
    it.kill(0);
    it.bring(0, 2);
    it.ends();
}

/// It was late, and its patience had grown.
TEST(BulkMember, root__has_gone_and_another_one_begins_anew) {
    Member it;
    it.begin(8 * kPiece);
    it.member->be_patient(2 * kPiece);
    it.bring(0, 2);
    it.look();
    EXPECT_EQ(it.said(), (Words{{2 * kPiece, 0, 2 * kPiece}}));
    it.wait(2 * kMilli);
    it.look(2);
    EXPECT_TRUE(it.member->is_busy());
    it.answer(2 * kPiece, 0);
    it.look();
    it.wait(4 * kMilli);
    it.look();
    it.kill(0);
    EXPECT_TRUE(it.member->advance());
    EXPECT_TRUE(it.member->has_lost());
    it.begin(8 * kPiece, 0, 2);
    it.member->be_patient(2 * kPiece);
    it.wait(2 * kMilli);
    it.look();
    EXPECT_FALSE(it.member->is_busy()) << "at the first look";
    it.look();
    EXPECT_EQ(it.said(), (Words{{0, 8 * kPiece, 0}}));
    it.bring(0, 2);
    it.look();
    EXPECT_EQ(it.said(), (Words{{2 * kPiece, 0, 2 * kPiece}}));
    it.answer(0, 8 * kPiece);
    it.ends();
}

TEST(BulkMember, root__dies_with_a_message_under_way) {
    Member it;
    it.begin(kPiece);
    it.wait(2 * kMilli);
    it.look(2);
    EXPECT_TRUE(it.member->is_busy());
    it.kill(0);
    it.settle();
    EXPECT_TRUE(it.member->is_over());
    EXPECT_TRUE(it.member->advance());
    EXPECT_TRUE(it.member->has_lost());
}

}  // namespace
}  // namespace fci::group
