// SPDX-License-Identifier: BSD-3-Clause
#include "fci_core/progress/countdown.h"

#include <gtest/gtest.h>

namespace fci::progress {
namespace {

/// So many empty turns until the planned ones are over.
unsigned turns_of(Countdown& countdown) {
    unsigned turns = 1;
    while (!countdown.count()) ++turns;
    return turns;
}

TEST(Countdown, count__the_first_turn_ends_it) {
    Countdown countdown(16);
    EXPECT_EQ(countdown.left(), 1u);
    EXPECT_TRUE(countdown.count());
}

TEST(Countdown, plan__until_the_network_wants_to_be_polled) {
    Countdown countdown(16);
    countdown.plan(Countdown::kNever, false);
    EXPECT_EQ(countdown.left(), 16u);
    EXPECT_EQ(turns_of(countdown), 16u);
    EXPECT_EQ(countdown.passed(), 16u);
    EXPECT_FALSE(countdown.is_poll_due()) << "nobody has added them up";
    countdown.end();
    EXPECT_TRUE(countdown.is_poll_due());
    EXPECT_EQ(countdown.row(), 16u);
    countdown.polled(5);
    countdown.plan(Countdown::kNever, false);
    EXPECT_EQ(turns_of(countdown), 5u);
    countdown.end();
    EXPECT_EQ(countdown.row(), 21u);
}

TEST(Countdown, plan__until_the_row_is_long_enough) {
    Countdown countdown(16);
    countdown.plan(3, false);
    EXPECT_EQ(turns_of(countdown), 3u);
    EXPECT_FALSE(countdown.is_row_due());
    countdown.end();
    EXPECT_TRUE(countdown.is_row_due());
    EXPECT_FALSE(countdown.is_poll_due());
    countdown.plan(3, false);
    EXPECT_EQ(turns_of(countdown), 1u) << "each turn from there on";
    countdown.end();
    EXPECT_EQ(countdown.row(), 4u);
    countdown.plan(10, false);
    EXPECT_EQ(turns_of(countdown), 6u) << "the rest of a longer row";
    countdown.end();
    countdown.break_row();
    EXPECT_FALSE(countdown.is_row_due());
    countdown.plan(10, false);
    EXPECT_EQ(turns_of(countdown), 6u) << "the poll comes first: 3 + 1 + 6 of 16 have passed";
    countdown.end();
    EXPECT_TRUE(countdown.is_poll_due());
}

TEST(Countdown, plan__at_once) {
    Countdown countdown(16);
    countdown.plan(8, true);
    EXPECT_EQ(turns_of(countdown), 1u);
}

TEST(Countdown, found__breaks_the_row_and_keeps_the_poll) {
    Countdown countdown(16);
    countdown.plan(7, false);
    for (int turn = 0; turn < 4; ++turn) EXPECT_FALSE(countdown.count());
    EXPECT_EQ(countdown.passed(), 4u);
    countdown.found();
    EXPECT_EQ(countdown.passed(), 0u);
    EXPECT_EQ(turns_of(countdown), 7u) << "a new row";
    countdown.end();
    EXPECT_EQ(countdown.row(), 7u);
    countdown.plan(Countdown::kNever, false);
    EXPECT_EQ(turns_of(countdown), 5u) << "of 16";
}

// All turns but the last one of the sixteen passed, and those that find work ask for no poll.
TEST(Countdown, found__leaves_one_turn_at_least) {
    Countdown countdown(1);
    countdown.plan(Countdown::kNever, false);
    countdown.found();
    EXPECT_EQ(turns_of(countdown), 1u);
    countdown.end();
    countdown.polled(2);
    countdown.plan(Countdown::kNever, false);
    EXPECT_FALSE(countdown.count());
    countdown.found();
    EXPECT_EQ(turns_of(countdown), 1u);
}

TEST(Countdown, cut_short__the_next_turn_is_the_last_and_what_has_passed_counts) {
    Countdown countdown(16);
    countdown.plan(Countdown::kNever, false);
    for (int turn = 0; turn < 4; ++turn) EXPECT_FALSE(countdown.count());
    countdown.cut_short();
    EXPECT_EQ(turns_of(countdown), 1u);
    countdown.end();
    EXPECT_EQ(countdown.row(), 5u);
    countdown.plan(Countdown::kNever, false);
    EXPECT_EQ(turns_of(countdown), 11u);
}

TEST(Countdown, count_to_poll__of_turns_in_no_row) {
    Countdown countdown(3);
    EXPECT_FALSE(countdown.count_to_poll());
    EXPECT_FALSE(countdown.count_to_poll());
    EXPECT_TRUE(countdown.count_to_poll());
    countdown.polled(3);
    countdown.poll_next();
    EXPECT_TRUE(countdown.count_to_poll());
    EXPECT_EQ(countdown.row(), 0u);
}

}  // namespace
}  // namespace fci::progress
