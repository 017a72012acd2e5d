// SPDX-License-Identifier: BSD-3-Clause
#include "fci_core/mp/move/claims.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

#include "fci_core/gcs/layout.h"
#include "fci_core/mp/move/claim_table.h"

using fci::mp::ClaimTable;
using fci::mp::ClaimWord;

TEST(claim_word, name__keeps_index_and_generation) {
    for (unsigned index = 0; index < fci::gcs::Layout::kClaims; ++index) {
        for (const std::uint16_t generation : {0, 1, ClaimWord::kGenerations - 1}) {
            const std::uint16_t name = ClaimWord::name(index, generation);
            EXPECT_EQ(ClaimWord::index_of(name), index);
            EXPECT_EQ(ClaimWord::generation_of(name), generation);
        }
    }
}

TEST(claim_word, take__from_both_ends_until_they_meet) {
    std::uint64_t word = 0;
    const std::uint16_t generation = ClaimWord::renew(word);
    EXPECT_EQ(ClaimWord::take(word, generation, 5, true), 0u);
    EXPECT_EQ(ClaimWord::take(word, generation, 5, false), 4u);
    EXPECT_EQ(ClaimWord::take(word, generation, 5, false), 3u);
    EXPECT_EQ(ClaimWord::take(word, generation, 5, true), 1u);
    EXPECT_EQ(ClaimWord::take(word, generation, 5, false), 2u);
    EXPECT_EQ(ClaimWord::take(word, generation, 5, true), ClaimWord::kNone);
    EXPECT_EQ(ClaimWord::take(word, generation, 5, false), ClaimWord::kNone);
}

TEST(claim_word, renew__shuts_late_comers_out) {
    std::uint64_t word = 0;
    const std::uint16_t old = ClaimWord::renew(word);
    EXPECT_EQ(ClaimWord::take(word, old, 3, true), 0u);
    const std::uint16_t fresh = ClaimWord::renew(word);
    EXPECT_NE(old, fresh);
    EXPECT_EQ(ClaimWord::take(word, old, 3, true), ClaimWord::kNone);
    EXPECT_EQ(ClaimWord::take(word, fresh, 3, true), 0u);
}

TEST(claim_word, renew__generation_wraps_within_what_a_name_holds) {
    std::uint64_t word = 0;
    for (unsigned i = 0; i < 3u * ClaimWord::kGenerations; ++i) {
        const std::uint16_t generation = ClaimWord::renew(word);
        ASSERT_LT(generation, ClaimWord::kGenerations);
        ASSERT_EQ(ClaimWord::take(word, generation, 1, false), 0u);
    }
}

TEST(claim_word, take__gives_every_piece_once_under_contention) {
    constexpr unsigned kPieces = 20000;
    alignas(64) std::uint64_t word = 0;
    const std::uint16_t generation = ClaimWord::renew(word);
    std::vector<std::atomic<int>> taken(kPieces);
    const auto work = [&](bool front) {
        for (;;) {
            const std::uint64_t piece = ClaimWord::take(word, generation, kPieces, front);
            if (piece == ClaimWord::kNone) return;
            taken[piece].fetch_add(1);
        }
    };
    std::thread other(work, true);
    work(false);
    other.join();
    for (const auto& count : taken) ASSERT_EQ(count.load(), 1);
}

TEST(claim_table, take__each_word_once_and_again_when_it_is_given_back) {
    const fci::gcs::Layout layout{4, 4096};
    alignas(64) static std::byte block[16 * 1024];
    ASSERT_LE(layout.block_bytes(), sizeof block);
    ClaimTable table;
    EXPECT_EQ(table.take(), -1) << "there is no block";
    table.open(block, layout);
    for (int index = 0; index < static_cast<int>(fci::gcs::Layout::kClaims); ++index) {
        EXPECT_EQ(table.take(), index);
        EXPECT_EQ(table.word(index),
                  reinterpret_cast<std::uint64_t*>(
                      block + static_cast<std::uint64_t>(
                                  layout.claim(static_cast<unsigned>(index)))));
    }
    EXPECT_EQ(table.take(), -1);
    const std::uint16_t generation = ClaimWord::renew(*table.word(5));
    EXPECT_EQ(ClaimWord::take(*table.word(5), generation, 9, true), 0u);
    table.give(5);
    EXPECT_EQ(ClaimWord::take(*table.word(5), generation, 9, true), ClaimWord::kNone)
        << "whoever comes late";
    EXPECT_EQ(table.take(), 5);
    EXPECT_EQ(table.take(), -1);
}
