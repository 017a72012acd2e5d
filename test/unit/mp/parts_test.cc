// SPDX-License-Identifier: BSD-3-Clause
// The small objects of the room, each alone: what a turn has to do, the credit of a peer, the
// limits of a pair, and how pieces of a message are shared.
#include <gtest/gtest.h>

#include "fci_core/mp/limits.h"
#include "fci_core/mp/move/shared_copies.h"
#include "fci_core/mp/unexpected_credit.h"
#include "fci_core/mp/work.h"

namespace fci::mp {
namespace {

constexpr std::uint64_t kKiB = 1024;

TEST(work, busy__until_all_that_waits_was_gone_through) {
    Work work;
    EXPECT_FALSE(work.any() || work.busy() || work.end_starved());
    work.set_busy();
    EXPECT_TRUE(work.any() && work.busy());
    EXPECT_FALSE(work.end_starved());
    work.begin();
    EXPECT_FALSE(work.any() || work.busy());
}

TEST(work, starved__is_told_once_and_keeps_the_next_turn_busy) {
    Work work;
    work.set_starved();
    EXPECT_TRUE(work.any() && work.busy());
    work.begin();
    EXPECT_FALSE(work.busy());
    EXPECT_TRUE(work.end_starved());
    EXPECT_FALSE(work.end_starved());
    EXPECT_FALSE(work.any());
    work.set_starved();
    EXPECT_TRUE(work.end_starved());
    EXPECT_TRUE(work.busy()) << "what waits is tried again";
}

TEST(work, several__stays_whatever_else_comes_and_goes) {
    Work work;
    work.set_several(true);
    EXPECT_TRUE(work.any());
    EXPECT_FALSE(work.busy());
    work.set_busy();
    work.begin();
    EXPECT_TRUE(work.any());
    EXPECT_FALSE(work.busy());
    work.set_starved();
    work.set_several(false);
    EXPECT_TRUE(work.busy());
    work.begin();
    EXPECT_TRUE(work.end_starved());
    EXPECT_FALSE(work.any());
    work.set_several(true);
    work.set_several(true);
    work.set_several(false);
    EXPECT_FALSE(work.any());
}

TEST(unexpected_credit, take__to_the_last_byte) {
    UnexpectedCredit credit;
    EXPECT_FALSE(credit.has(1));
    EXPECT_TRUE(credit.has(0));
    credit.open(1000);
    EXPECT_TRUE(credit.has(1000));
    EXPECT_FALSE(credit.has(1001));
    credit.take(400);
    EXPECT_TRUE(credit.has(600));
    EXPECT_FALSE(credit.has(601));
    credit.take(600);
    EXPECT_FALSE(credit.has(1));
}

TEST(unexpected_credit, give__what_was_disposed_of_in_all) {
    UnexpectedCredit credit;
    credit.open(1000);
    credit.take(900);
    credit.give(0);
    EXPECT_FALSE(credit.has(101));
    credit.give(300);
    EXPECT_TRUE(credit.has(400));
    EXPECT_FALSE(credit.has(401));
    credit.give(300);
    EXPECT_FALSE(credit.has(401)) << "said twice";
    credit.give(900);
    EXPECT_TRUE(credit.has(1000));
    EXPECT_FALSE(credit.has(1001)) << "no more than there ever is";
}

TEST(unexpected_credit, eager_bytes__are_set_when_the_pair_is_known) {
    UnexpectedCredit credit;
    EXPECT_EQ(credit.eager_bytes(), 0u);
    credit.set_eager_bytes(4096);
    EXPECT_EQ(credit.eager_bytes(), 4096u);
    credit.open(10);
    EXPECT_EQ(credit.eager_bytes(), 4096u);
}

TEST(limits, eager_bytes_of__a_pair) {
    Limits limits;
    limits.eager_bytes = 4 * kKiB;
    limits.far_eager_bytes = 32 * kKiB;
    EXPECT_EQ(limits.eager_most(), 32 * kKiB);
    EXPECT_EQ(limits.eager_bytes_of({32, 256 * kKiB}, true), 4 * kKiB);
    EXPECT_EQ(limits.eager_bytes_of({32, 256 * kKiB}, false), 32 * kKiB);
    EXPECT_EQ(limits.eager_bytes_of({32, 64 * kKiB}, false), 16 * kKiB - kHeaderMost)
        << "a quarter of the ring, with a header";
    EXPECT_EQ(limits.eager_bytes_of({32, 16 * kKiB}, false), 4 * kKiB) << "never less";
    limits.far_eager_bytes = 0;
    EXPECT_EQ(limits.eager_most(), 4 * kKiB);
    EXPECT_EQ(limits.eager_bytes_of({32, 256 * kKiB}, false), 4 * kKiB);
}

TEST(shared_copies, pieces__of_each_length) {
    EXPECT_FALSE(SharedCopies::is_worth_sharing(32 * kKiB));
    EXPECT_TRUE(SharedCopies::is_worth_sharing(32 * kKiB + 1));
    EXPECT_EQ(SharedCopies::shared_piece(64 * kKiB), 32 * kKiB) << "two of them";
    EXPECT_EQ(SharedCopies::shared_piece(64 * kKiB + 1), 64 * kKiB);
    EXPECT_EQ(SharedCopies::shared_piece(1024 * kKiB - 16), 64 * kKiB);
    EXPECT_EQ(SharedCopies::shared_piece(1024 * kKiB), 128 * kKiB);
    EXPECT_EQ(SharedCopies::shared_piece(1ull << 30), 256 * kKiB);
    EXPECT_EQ(SharedCopies::pulled_piece(1), 1u);
    EXPECT_EQ(SharedCopies::pulled_piece(1024 * kKiB), 1024 * kKiB);
    EXPECT_EQ(SharedCopies::pulled_piece(1024 * kKiB + 1), 1024 * kKiB);
}

// There are as many as a claim word counts; of the longest message there could be, too.
TEST(shared_copies, pieces__are_never_more_than_a_word_counts) {
    for (unsigned log = 16; log <= 54; ++log) {
        const std::uint64_t bytes = std::uint64_t{1} << log;
        const std::uint64_t piece = SharedCopies::shared_piece(bytes);
        EXPECT_LE((bytes + piece - 1) / piece, ClaimWord::kPiecesMost) << log;
    }
}

}  // namespace
}  // namespace fci::mp
