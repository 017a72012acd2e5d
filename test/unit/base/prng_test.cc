// SPDX-License-Identifier: BSD-3-Clause
#include "fci_core/base/prng.h"

#include <gtest/gtest.h>

namespace fci {
namespace {

TEST(prng, next__the_published_sequence) {
    // SplitMix64 from state 1234567, as its reference implementation prints it.
    Prng prng(1234567);
    EXPECT_EQ(prng.next(), 6457827717110365317ull);
    EXPECT_EQ(prng.next(), 3203168211198807973ull);
    EXPECT_EQ(prng.next(), 9817491932198370423ull);
}

TEST(prng, below__all_values_and_none_beyond) {
    Prng prng(3);
    unsigned seen[7] = {};
    for (int i = 0; i < 7000; ++i) ++seen[prng.below(7)];
    for (const unsigned count : seen) {
        EXPECT_GT(count, 800u);
        EXPECT_LT(count, 1200u);
    }
    EXPECT_EQ(prng.below(1), 0u);
    EXPECT_EQ(prng.below(0), 0u);
}

TEST(prng, between__both_ends_included) {
    Prng prng(4);
    bool low = false, high = false;
    for (int i = 0; i < 200; ++i) {
        const std::uint64_t value = prng.between(5, 8);
        ASSERT_GE(value, 5u);
        ASSERT_LE(value, 8u);
        low = low || value == 5;
        high = high || value == 8;
    }
    EXPECT_TRUE(low && high);
}

TEST(prng, fork__leaves_the_parent_where_one_draw_does) {
    Prng one(9), other(9);
    Prng child = one.fork();
    for (int i = 0; i < 10; ++i) child.next();
    (void)other.next();
    EXPECT_EQ(one.next(), other.next());
}

}  // namespace
}  // namespace fci
