// SPDX-License-Identifier: BSD-3-Clause
#include "fci_core/group/hints/bulk_root.h"

#include <gtest/gtest.h>

#include <optional>
#include <vector>

#include "test/unit/group/hints/bulk_root.h"

namespace fci::group {
namespace {

using test::Bytes;
using test::kOne;
using test::kPiece;
using test::Offsets;
using test::Root;

TEST(BulkRoot, hints__in_order_and_no_more_than_all_have_room_for) {
    Root it(3);
    it.begin(3 * kOne + 100);
    EXPECT_EQ(it.root.since(), it.world.now());
    EXPECT_TRUE(it.root.is_over());
    EXPECT_EQ(it.look(), (Offsets{0, kOne}));
    EXPECT_FALSE(it.root.is_over());
    it.has(1, kPiece, kPiece);
    EXPECT_TRUE(it.root.is_over());
    EXPECT_EQ(it.look(), (Offsets{0, kOne})) << "the other one has no room";
    it.has(2, kPiece, kPiece);
    EXPECT_EQ(it.look(), (Offsets{0, kOne, 2 * kOne}));
    it.has(1, kOne + 1, kOne);
    it.has(2, kOne, kOne);
    EXPECT_EQ(it.look().size(), 3u);
    it.has(2, kOne + 1, kOne);
    EXPECT_EQ(it.look(), (Offsets{0, kOne, 2 * kOne, 3 * kOne}));
    Bytes whole;
    for (const auto& [hint, bytes] : it.hints(0).hinted) {
        EXPECT_EQ(hint.name, test::kName);
        EXPECT_EQ(hint.number, it.number);
        EXPECT_EQ(hint.total, it.data.size());
        whole.insert(whole.end(), bytes.begin(), bytes.end());
    }
    EXPECT_EQ(whole, it.data);
}

TEST(BulkRoot, window__of_one_hint_at_least) {
    Root it(2, 0);
    it.begin(kOne + 1);
    EXPECT_EQ(it.look(), (Offsets{0}));
    it.has(1, 1, 1);
    EXPECT_EQ(it.look(), (Offsets{0, kOne}));
    it.hints(0).room = 2 * kOne;
    it.has_all(1);
    EXPECT_TRUE(it.root.advance());
    EXPECT_FALSE(it.root.has_lost());
    it.begin(3 * kOne);
    EXPECT_EQ(it.look(), (Offsets{0, kOne})) << "as it is when one begins";
}

TEST(BulkRoot, no_room__the_same_hint_again_in_the_next_turn) {
    Root it(2);
    it.begin(2 * kOne);
    it.hints(0).answer = Status::again;
    EXPECT_EQ(it.look(), Offsets{});
    EXPECT_FALSE(it.root.is_over()) << "it is not to be looked at all the time";
    it.asks(1, 0, kPiece);
    it.hints(0).answer = Status::ok;
    EXPECT_EQ(it.look(), (Offsets{0, kOne}));
    EXPECT_EQ(it.taken(1), Bytes()) << "what was not sent may come by hints";
}

TEST(BulkRoot, nobody_hears_a_hint__what_it_had_is_asked_for) {
    Root it(2);
    it.begin(3 * kPiece);
    it.hints(0).answer = Status::unsupported;
    EXPECT_EQ(it.look(), Offsets{});
    it.asks(1, kPiece, 8 * kPiece);
    EXPECT_EQ(it.look(), Offsets{});
    EXPECT_EQ(it.taken(1), it.part(kPiece, 2 * kPiece));
}

TEST(BulkRoot, ends__when_all_have_all) {
    Root it(3);
    it.begin(kOne);
    EXPECT_EQ(it.look(), (Offsets{0}));
    it.has_all(1);
    it.has(2, kOne + 1, kOne);
    EXPECT_FALSE(it.root.advance()) << "there is not so much";
    it.has(2, kOne - 1, kOne);
    EXPECT_FALSE(it.root.advance());
    it.has_all(2);
    EXPECT_TRUE(it.root.advance());
    EXPECT_FALSE(it.root.has_lost());
    it.begin(kOne);
    EXPECT_EQ(it.look(), (Offsets{0})) << "nobody has any of the next one";
}

TEST(BulkRoot, said__of_another_number_moves_nothing) {
    Root it(2, 0);
    it.begin(3 * kOne, 5);
    EXPECT_EQ(it.look(), (Offsets{0}));
    const auto all = static_cast<std::uint32_t>(it.data.size());
    it.report(1, 4, all, 0, all);
    EXPECT_FALSE(it.root.is_over()) << "an older note is none";
    it.root.on_progress(nhi::kNoPeer - 1, {test::kGroupKey, 5, all, 0, all});
    EXPECT_FALSE(it.root.is_over()) << "nor is one of a stranger";
    it.report(1, 6, all, 0, all);
    EXPECT_EQ(it.look(), (Offsets{0}));
    it.has(1, kOne, kOne);
    EXPECT_EQ(it.look(), (Offsets{0, kOne}));
    it.has(1, kPiece, kOne);
    it.has(1, kOne + 1, kOne);
    it.has(1, kPiece, kOne);
    EXPECT_EQ(it.look(), (Offsets{0, kOne, 2 * kOne})) << "nobody has less than before";
}

TEST(BulkRoot, asked__what_went_by_hints_goes_as_a_message) {
    Root it(3, kOne);
    it.begin(2 * kOne);
    it.asks(1, 0, kPiece);
    EXPECT_EQ(it.look(), (Offsets{0}));
    EXPECT_EQ(it.taken(1), Bytes()) << "before it went";
    EXPECT_EQ(it.counters(0).hints_repaired, 0u);
    it.asks(1, kPiece, 2 * kPiece);
    it.asks(1, kOne - kPiece, 3 * kPiece);
    it.asks(2, 2 * kOne + 1, kPiece);
    (void)it.look();
    EXPECT_EQ(it.taken(1), it.part(kPiece, 2 * kPiece));
    EXPECT_EQ(it.taken(1), it.part(kOne - kPiece, kPiece));
    EXPECT_EQ(it.taken(1), std::nullopt);
    EXPECT_EQ(it.taken(2), Bytes());
    EXPECT_EQ(it.counters(0).hints_repaired, 3 * kPiece);
    it.has_all(2);
    it.asks(2, 0, kPiece);
    (void)it.look();
    EXPECT_EQ(it.taken(2), std::nullopt) << "it has all";
}

TEST(BulkRoot, asked_early__is_answered_in_its_own_broadcast) {
    Root it(2);
    it.begin(kOne);
    (void)it.look();
    it.has_all(1);
    it.report(1, it.number + 1, 0, kPiece, 0);
    it.report(1, it.number + 2, 0, kPiece, 0);
    EXPECT_TRUE(it.root.advance());
    EXPECT_FALSE(it.root.has_lost());
    EXPECT_EQ(it.taken(1), std::nullopt);
    for (const bool is_asked : {true, false}) {
        it.begin(kOne);
        (void)it.look();
        EXPECT_EQ(it.taken(1).has_value(), is_asked) << "who asks is in the next one at most";
        it.has_all(1);
        EXPECT_TRUE(it.root.advance());
        EXPECT_FALSE(it.root.has_lost());
    }
}

TEST(BulkRoot, message__is_waited_for_before_the_end) {
    Root it(2);
    it.begin(kOne);
    (void)it.look();
    it.asks(1, 0, kOne);
    (void)it.look();
    EXPECT_TRUE(it.root.is_busy());
    it.settle();
    it.has_all(1);
    EXPECT_FALSE(it.root.advance()) << "its memory is read";
    EXPECT_FALSE(it.root.is_over());
    EXPECT_EQ(it.taken(1), it.data);
    EXPECT_FALSE(it.root.is_busy());
    EXPECT_TRUE(it.root.is_over());
    EXPECT_TRUE(it.root.advance());
    EXPECT_FALSE(it.root.has_lost());
}

TEST(BulkRoot, death__of_members_is_told_when_the_others_have_all) {
    Root it(4);
    it.begin(kOne);
    (void)it.look();
    it.kill(3);
    EXPECT_FALSE(it.root.advance());
    it.kill(1);
    EXPECT_FALSE(it.root.advance());
    it.has_all(2);
    EXPECT_TRUE(it.root.advance());
    EXPECT_TRUE(it.root.has_lost());
    EXPECT_EQ(it.root.lost(), 3u) << "the first that was missed";
    it.begin(kOne);
    (void)it.look();
    it.has_all(2);
    EXPECT_TRUE(it.root.advance());
    EXPECT_TRUE(it.root.has_lost());
    EXPECT_EQ(it.root.lost(), 1u);
}

TEST(BulkRoot, death__of_one_that_has_all_is_none) {
    Root it(3);
    it.begin(kOne);
    (void)it.look();
    it.has_all(1);
    it.kill(1);
    EXPECT_FALSE(it.root.advance());
    it.has_all(2);
    EXPECT_TRUE(it.root.advance());
    EXPECT_FALSE(it.root.has_lost());
}

TEST(BulkRoot, death__of_one_that_has_asked) {
    Root it(2);
    it.begin(kOne);
    (void)it.look();
    it.asks(1, 0, kPiece);
    it.kill(1);
    EXPECT_TRUE(it.root.advance());
    EXPECT_TRUE(it.root.has_lost());
    EXPECT_EQ(it.counters(0).hints_repaired, 0u);
}

TEST(BulkRoot, refused__by_one_is_not_waited_for) {
    Root it(3);
    it.begin(2 * kOne);
    (void)it.look();
    it.send_nothing(1, 0, match_of(test::kGroupKey, it.number + 1, true));
    it.settle();
    EXPECT_FALSE(it.root.is_over()) << "of another one";
    it.send_nothing(1, 0, it.match());
    it.settle();
    EXPECT_TRUE(it.root.is_over());
    (void)it.look();
    EXPECT_FALSE(it.root.is_over()) << "it is taken";
    it.has_all(2);
    EXPECT_TRUE(it.root.advance());
    EXPECT_FALSE(it.root.has_lost());
}

TEST(BulkRoot, refused__by_one_that_has_gone_since) {
    Root it(3);
    it.begin(2 * kOne);
    (void)it.look();
    it.send_nothing(1, 0, it.match());
    it.settle();
    it.kill(1);
    it.has_all(2);
    EXPECT_TRUE(it.root.advance());
    EXPECT_FALSE(it.root.has_lost());
}

TEST(BulkRoot, wait__is_one_for_the_network) {
    Root it(2);
    EXPECT_TRUE(it.root.needs(0));
    EXPECT_TRUE(it.root.may_be_woken());
    EXPECT_TRUE(it.root.is_for_network());
}

}  // namespace
}  // namespace fci::group
