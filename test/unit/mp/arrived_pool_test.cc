// SPDX-License-Identifier: BSD-3-Clause
#include "fci_core/mp/arrived_pool.h"

#include <gtest/gtest.h>

#include <cstring>
#include <vector>

namespace fci::mp {
namespace {

constexpr std::size_t kShortest = 56, kShort = 192;

TEST(arrived_pool, take__room_for_what_was_asked_for) {
    for (const std::uint32_t bytes : {0u, 1u, 56u, 57u, 192u, 193u, 8192u}) {
        ArrivedPool pool;
        Arrived* const message = pool.take(bytes);
        ASSERT_NE(message, nullptr);
        EXPECT_GE(message->capacity, bytes);
        EXPECT_EQ(message->capacity, bytes <= kShortest ? kShortest
                                     : bytes <= kShort  ? kShort
                                                        : bytes);
        EXPECT_EQ(pool.memory(), sizeof(Arrived) + message->capacity);
        std::memset(message->data(), 0xff, bytes);
        message->length = message->charge = 7;
        message->announced = message->claimed = true;
        const std::size_t memory = pool.memory();
        pool.give_back(*message);
        // The short ones are kept; of them, the next one is made.
        EXPECT_EQ(pool.memory(), bytes <= kShort ? memory : 0u);
        if (bytes > kShort) continue;
        EXPECT_EQ(pool.take(bytes), message);
        EXPECT_EQ(pool.memory(), memory);
        EXPECT_EQ(message->length, 0u);
        EXPECT_EQ(message->charge, 0u);
        EXPECT_FALSE(message->announced || message->claimed || message->linked());
        pool.give_back(*message);
    }
}

TEST(arrived_pool, take__one_that_is_kept_has_capacity_enough) {
    ArrivedPool pool;
    Arrived* const small = pool.take(8);
    pool.give_back(*small);
    Arrived* const larger = pool.take(100);
    EXPECT_NE(larger, small);
    EXPECT_EQ(larger->capacity, kShort);
    pool.give_back(*larger);
    EXPECT_EQ(pool.take(8), small);
    EXPECT_EQ(pool.take(100), larger);
    pool.give_back(*small);
    pool.give_back(*larger);
}

TEST(arrived_pool, give_back__keeps_so_many_and_no_more) {
    ArrivedPool pool;
    std::vector<Arrived*> all;
    for (int i = 0; i < 5000; ++i) all.push_back(pool.take(i % 2 == 0 ? 8 : 100));
    const std::size_t most = pool.memory();
    EXPECT_EQ(most, 2500 * (2 * sizeof(Arrived) + kShortest + kShort));
    for (Arrived* each : all) pool.give_back(*each);
    const std::size_t kept = pool.memory();
    EXPECT_LT(kept, most / 4);
    EXPECT_GT(kept, 0u);
    // As many again, and no memory besides what is kept.
    for (Arrived*& each : all) each = pool.take(8);
    EXPECT_LE(pool.memory(), kept + 5000 * (sizeof(Arrived) + kShortest));
    for (Arrived* each : all) pool.give_back(*each);
    EXPECT_LT(pool.memory(), most / 4);
}

}  // namespace
}  // namespace fci::mp
