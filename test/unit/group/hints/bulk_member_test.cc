// SPDX-License-Identifier: BSD-3-Clause
#include "fci_core/group/hints/bulk_member.h"

#include <gtest/gtest.h>

#include "test/unit/group/hints/bulk_member.h"

namespace fci::group {
namespace {

using test::Bytes;
using test::kPiece;
using test::Member;
using test::Words;

constexpr Nanoseconds kMilli = 1'000'000;

TEST(BulkMember, hints__bring_all) {
    Member it;
    ASSERT_EQ(it.hints(1).joined.size(), 1u);
    EXPECT_EQ(it.hints(1).joined[0].rank, 1u);
    it.begin(3 * kPiece + 5);
    EXPECT_EQ(it.member->since(), it.begun);
    for (const std::size_t piece : {3, 0, 2}) EXPECT_TRUE(it.bring(piece));
    EXPECT_TRUE(it.member->is_over());
    it.look();
    EXPECT_FALSE(it.member->is_over());
    EXPECT_TRUE(it.bring(1));
    it.ends();
    EXPECT_EQ(it.said(), (Words{{it.data.size(), 0, it.data.size()}}));
    EXPECT_FALSE(it.bring(1)) << "nothing is written any more";
}

TEST(BulkMember, hint__of_another_number_or_total_brings_nothing) {
    Member it;
    it.begin(2 * kPiece);
    const auto total = static_cast<std::uint32_t>(it.data.size());
    const Bytes piece = test::pattern(kPiece);
    EXPECT_TRUE(it.hints(1).bring({test::kName, it.number, 0, total - 1, 0}, piece));
    EXPECT_TRUE(it.hints(1).bring({test::kName, it.number, 1, total, 0}, piece));
    it.member->arrived({test::kName, it.number + 1, 0, total, 0}, kPiece);
    it.member->arrived({test::kName, it.number - 1, 0, total, 0}, kPiece);
    EXPECT_FALSE(it.member->is_over());
    it.asks_after(it.begun, 2 * kMilli);
    EXPECT_EQ(it.said(), (Words{{0, 2 * kPiece, 0}}));
}

TEST(BulkMember, patience__doubles_while_nothing_comes) {
    Member it;
    it.begin(4 * kPiece);
    it.asks_after(it.begun, 2 * kMilli);
    for (const Nanoseconds patience : {4, 8, 16, 32, 64, 64}) {
        EXPECT_TRUE(it.member->is_busy());
        it.look(2);
        EXPECT_EQ(it.said(), (Words{{0, 4 * kPiece, 0}})) << "once while it is under way";
        it.answer(0, 0);
        EXPECT_FALSE(it.member->is_busy());
        EXPECT_TRUE(it.member->is_over());
        it.world.run_until(it.world.now() + 100 * kMilli);
        const Nanoseconds since = it.world.now();
        it.look();  // from here on it waits
        it.asks_after(since, patience * kMilli);
    }
    it.answer(0, 0);
    EXPECT_TRUE(it.bring(0));
    const Nanoseconds since = it.world.now();
    it.look();
    it.asks_after(since, 2 * kMilli);
}

TEST(BulkMember, patience__since_the_last_hint_was_seen) {
    Member it;
    it.begin(4 * kPiece);
    for (std::size_t piece = 0; piece < 3; ++piece) {
        EXPECT_TRUE(it.bring(piece));
        it.wait(3 * kMilli);
        it.look();
        it.wait(kMilli);
        it.look();
    }
    EXPECT_EQ(it.asked(), 0u);
    it.asks_after(it.world.now() - kMilli, 2 * kMilli);
}

TEST(BulkMember, patience__a_hint_between_two_looks) {
    Member it;
    it.begin(4 * kPiece);
    it.wait(2 * kMilli);
    it.look();
    EXPECT_TRUE(it.bring(0));
    it.look(2);
    EXPECT_EQ(it.asked(), 0u);
}

TEST(BulkMember, patience__begins_when_the_root_does) {
    Member it;
    it.begin(kPiece);
    it.wait(3 * kMilli);
    it.member->be_patient(kPiece);
    EXPECT_EQ(it.member->since(), it.world.now());
    it.asks_after(it.world.now(), 2 * kMilli);
}

TEST(BulkMember, pulls__what_messages_bring_while_no_hint_does) {
    Member it;
    it.begin(300 * kPiece + 7);
    it.asks_after(it.begun, 2 * kMilli);
    EXPECT_EQ(it.said(), (Words{{0, 256 * kPiece, 0}}));
    it.answer(0, 256 * kPiece);
    it.look();
    EXPECT_EQ(it.said(), (Words{{256 * kPiece, 44 * kPiece + 7, 0}})) << "at once";
    it.answer(256 * kPiece, kPiece + 100);
    it.look();
    EXPECT_EQ(it.said(), (Words{{257 * kPiece, 43 * kPiece + 7, 0}})) << "what came as a whole";
    it.answer(257 * kPiece, 10 * kPiece);
    EXPECT_TRUE(it.bring(299));
    it.look();
    EXPECT_TRUE(it.member->is_busy()) << "the next part was decided before";
    EXPECT_EQ(it.said(), (Words{{267 * kPiece, 32 * kPiece, kPiece}}));
    it.answer(267 * kPiece, 10 * kPiece);
    const Nanoseconds since = it.world.now();
    it.look();
    EXPECT_FALSE(it.member->is_busy()) << "now it hears hints";
    it.asks_after(since, 2 * kMilli);
    (void)it.said();
    it.answer(277 * kPiece, 22 * kPiece);
    it.look();
    it.bring(300, 301);
    it.ends();
    EXPECT_EQ(it.said(), (Words{{it.data.size(), 0, kPiece + 7}}));
}

TEST(BulkMember, gap__is_asked_for_when_hints_were_looked_for_again) {
    Member it;
    it.begin(6 * kPiece);
    EXPECT_TRUE(it.bring(0));
    EXPECT_TRUE(it.bring(2));
    it.look_anew();
    it.look();
    EXPECT_EQ(it.said(), Words());
    const std::uint64_t sends = it.messages(1).engine().begun();
    it.look_anew();
    EXPECT_EQ(it.said(), (Words{{kPiece, kPiece, 2 * kPiece}}));
    EXPECT_EQ(it.messages(1).engine().begun(), sends) << "the caller waits, and does not go on";
    it.bring(3, 6);
    it.look_anew();
    it.answer(kPiece, kPiece);
    it.ends();
    EXPECT_EQ(it.asked(), 1u);
}

TEST(BulkMember, gaps__eight_at_a_time) {
    Member it;
    it.begin(30 * kPiece);
    for (std::size_t piece = 0; piece < 24; piece += 2) EXPECT_TRUE(it.bring(piece));
    it.look_anew();
    it.look_anew();
    Words all;
    for (std::size_t piece = 1; piece < 16; piece += 2) {
        all.emplace_back(piece * kPiece, kPiece, 12 * kPiece);
    }
    EXPECT_EQ(it.said(), all);
    it.answer(kPiece, kPiece);
    it.answer(3 * kPiece, kPiece);
    it.look_anew();
    EXPECT_EQ(it.said(),
              (Words{{17 * kPiece, kPiece, 12 * kPiece}, {19 * kPiece, kPiece, 12 * kPiece}}));
    it.bring(24, 30);
    it.look_anew();
    for (std::size_t piece = 5; piece < 24; piece += 2) {
        it.answer(piece * kPiece, kPiece);
        if (piece < 23) it.look_anew();
    }
    it.ends();
    EXPECT_EQ(it.asked(), 12u);
}

TEST(BulkMember, message__under_way_is_waited_for) {
    Member it;
    it.begin(3 * kPiece);
    EXPECT_TRUE(it.bring(0));
    EXPECT_TRUE(it.bring(2));
    it.look_anew();
    it.look_anew();
    EXPECT_TRUE(it.bring(1));
    it.look(2);
    EXPECT_EQ(it.said(), (Words{{kPiece, kPiece, 2 * kPiece}})) << "it is not through yet";
    it.answer(kPiece, kPiece);
    it.ends();
    EXPECT_EQ(it.said(), (Words{{3 * kPiece, 0, 3 * kPiece}}));
}

TEST(BulkMember, message__that_came_before_it_was_asked_for) {
    Member it;
    it.begin(kPiece);
    it.answer(0, kPiece);
    it.wait(2 * kMilli);
    it.look(2);
    EXPECT_FALSE(it.member->is_busy());
    EXPECT_EQ(it.asked(), 0u);
    it.ends();
}

TEST(BulkMember, message__of_more_than_was_asked_for_is_not_believed) {
    Member it;
    it.begin(3 * kPiece);
    EXPECT_TRUE(it.bring(0));
    EXPECT_TRUE(it.bring(2));
    it.look_anew();
    it.look_anew();
    EXPECT_TRUE(it.member->is_busy());
    it.answer(kPiece, kPiece + 1);
    EXPECT_TRUE(it.member->advance());
    EXPECT_TRUE(it.member->has_lost());
}

TEST(BulkMember, tells__what_is_here_while_its_root_may_wait_for_it) {
    Member it;
    it.begin(12 * kPiece);
    it.member->be_patient(4 * kPiece);
    const auto told_at = [&](std::size_t first, std::size_t end) {
        it.bring(first, end);
        it.look();
        return it.said();
    };
    EXPECT_EQ(told_at(0, 2), Words()) << "half of the window";
    EXPECT_EQ(told_at(3, 5), Words()) << "behind a gap";
    EXPECT_EQ(told_at(2, 3), (Words{{5 * kPiece, 0, 5 * kPiece}}));
    EXPECT_EQ(told_at(5, 7), Words());
    EXPECT_EQ(told_at(7, 8), (Words{{8 * kPiece, 0, 8 * kPiece}}));
    EXPECT_EQ(told_at(8, 11), Words()) << "the last ones are under way";
    EXPECT_TRUE(it.bring(11));
    it.ends();
    EXPECT_EQ(it.said(), (Words{{12 * kPiece, 0, 12 * kPiece}}));
}

TEST(BulkMember, tells__nothing_between_where_the_window_takes_all) {
    for (const std::size_t more : {0, 1}) {
        Member it;
        it.begin(4 * kPiece + more);
        it.member->be_patient(4 * kPiece);
        it.bring(0, 3);
        it.look();
        EXPECT_EQ(it.said().size(), more);
    }
}

/// One that messages bring. Whether it was asked for at once.
bool pulls(Member& it, std::uint64_t number) {
    it.begin(kPiece, number);
    it.look();
    const bool asked = it.member->is_busy();
    it.wait(2 * kMilli);
    if (!asked) it.look(2);
    it.answer(0, kPiece);
    it.ends();
    return asked;
}
void hears(Member& it, std::uint64_t number) {
    it.begin(kPiece, number);
    EXPECT_TRUE(it.bring(0));
    it.ends();
}

TEST(BulkMember, deaf__after_two_in_a_row_it_waits_for_no_hint_of_64) {
    Member it;
    EXPECT_FALSE(pulls(it, 1));
    hears(it, 2);
    EXPECT_FALSE(pulls(it, 3));
    EXPECT_FALSE(pulls(it, 4));
    EXPECT_TRUE(pulls(it, 5));
    EXPECT_TRUE(pulls(it, 4 + 64));
    EXPECT_FALSE(pulls(it, 4 + 65)) << "it is tried again";
    EXPECT_TRUE(pulls(it, 4 + 66)) << "once";
    hears(it, 80);
    EXPECT_FALSE(pulls(it, 81));
    EXPECT_FALSE(pulls(it, 82));
    EXPECT_TRUE(pulls(it, 83));
}

TEST(BulkMember, given_up__nothing_is_written_any_more) {
    Member it;
    it.begin(3 * kPiece);
    EXPECT_TRUE(it.bring(0));
    EXPECT_TRUE(it.bring(2));
    it.look_anew();
    it.look_anew();
    EXPECT_TRUE(it.member->is_busy());
    it.member->give_up();
    it.settle();
    EXPECT_FALSE(it.member->is_busy());
    EXPECT_FALSE(it.bring(1));
    it.answer(kPiece, kPiece);
    EXPECT_EQ(it.place[kPiece], std::byte{0});
}

TEST(BulkMember, ended__before_it_was_announced) {
    Member it;
    it.begin(2 * kPiece);
    EXPECT_TRUE(it.member->is_for(1, it.place));
    EXPECT_FALSE(it.member->is_for(2, it.place));
    EXPECT_FALSE(it.member->is_for(1, std::span(it.place).first(kPiece)));
    EXPECT_FALSE(it.member->is_for(1, it.data));
    it.member->end();
    EXPECT_FALSE(it.bring(0));
    EXPECT_FALSE(it.member->is_for(1, it.place));
}

TEST(BulkMember, leaves__its_group) {
    Member it;
    it.begin(2 * kPiece);
    it.member.reset();
    EXPECT_FALSE(it.bring(0));
}

TEST(BulkMember, wait__is_one_for_the_network) {
    Member it;
    EXPECT_TRUE(it.member->needs(0));
    EXPECT_TRUE(it.member->may_be_woken());
    EXPECT_TRUE(it.member->is_for_network());
}

}  // namespace
}  // namespace fci::group
