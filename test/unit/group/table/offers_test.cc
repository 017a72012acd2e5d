// SPDX-License-Identifier: BSD-3-Clause
#include "fci_core/group/table/offers.h"

#include <gtest/gtest.h>

namespace fci::group {
namespace {

TEST(Offers, add__is_found_by_its_owner_and_its_key_alone) {
    Offers offers;
    EXPECT_FALSE(offers.has(3, 7));
    offers.add(3, 7, {11, 4096});
    EXPECT_TRUE(offers.has(3, 7));
    EXPECT_FALSE(offers.has(7, 3));
    EXPECT_FALSE(offers.has(3, 8));
    EXPECT_FALSE(offers.has(4, 7));
}

TEST(Offers, take__once_and_of_that_group_only) {
    Offers offers;
    offers.add(3, 7, {11, 4096});
    offers.add(3, 8, {12, 8192});
    offers.add(4, 7, {13, 0});
    const Table table = offers.take(3, 8);
    EXPECT_EQ(table.name, 12u);
    EXPECT_EQ(table.at, 8192u);
    EXPECT_FALSE(offers.has(3, 8));
    EXPECT_EQ(offers.take(4, 7).name, 13u);
    EXPECT_EQ(offers.take(3, 7).name, 11u);
    EXPECT_FALSE(offers.has(3, 7));
}

TEST(Offers, add__the_last_one_of_a_group_counts) {
    Offers offers;
    offers.add(3, 7, {11, 4096});
    offers.add(3, 7, {12, 8192});
    EXPECT_EQ(offers.take(3, 7).name, 12u);
    EXPECT_FALSE(offers.has(3, 7));
}

TEST(Offers, add__a_peer_that_tells_of_too_many_is_not_heard_until_some_were_taken) {
    constexpr std::uint64_t kMost = 16384;
    Offers offers;
    for (std::uint64_t key = 0; key < kMost; ++key) offers.add(1, key, {key + 1, 0});
    EXPECT_TRUE(offers.has(1, kMost - 1));
    offers.add(1, kMost, {kMost + 1, 0});
    EXPECT_FALSE(offers.has(1, kMost));
    offers.add(1, 5, {99, 0});
    EXPECT_EQ(offers.take(1, 5).name, 6u) << "nor of one that is there";
    offers.add(1, kMost, {kMost + 1, 0});
    EXPECT_TRUE(offers.has(1, kMost));
}

}  // namespace
}  // namespace fci::group
