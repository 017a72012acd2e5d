// SPDX-License-Identifier: BSD-3-Clause
// Sizes that a process opens with: by its options, the job and the host.
#include <gtest/gtest.h>

#include "fci_core/api/process.h"

namespace fci::api {
namespace {

constexpr std::uint64_t kKiB = 1024, kMiB = 1024 * kKiB;

std::uint64_t pool_bytes(std::uint32_t local_ranks, const progress::Caches& caches) {
    return limits_for({}, mp::kEnhancedMixed, local_ranks, {8, caches}).layout.pool_bytes;
}

TEST(limits_for, pool_bytes__four_spans_of_more_than_an_L2_for_few_ranks) {
    EXPECT_EQ(pool_bytes(2, {}), 4 * kMiB) << "of a host that does not tell";
    EXPECT_EQ(pool_bytes(2, {256 * kKiB, 8 * kMiB}), 4 * kMiB);
    EXPECT_EQ(pool_bytes(4, {kMiB, 32 * kMiB}), 8 * kMiB);
    EXPECT_EQ(pool_bytes(4, {1280 * kKiB, 48 * kMiB}), 16 * kMiB) << "rounded up";
    EXPECT_EQ(pool_bytes(2, {2 * kMiB, 8 * kMiB}), 8 * kMiB) << "a quarter of the L3";
    EXPECT_EQ(pool_bytes(2, {2 * kMiB, 0}), 4 * kMiB) << "no L3";
}

TEST(limits_for, pool_bytes__many_ranks_share_what_is_there) {
    const progress::Caches large{2 * kMiB, 256 * kMiB};
    EXPECT_EQ(pool_bytes(5, large), 4 * kMiB);
    EXPECT_EQ(pool_bytes(17, large), 2 * kMiB);
    EXPECT_EQ(pool_bytes(65, large), kMiB);
}

TEST(limits_for, lend_after__no_cells_among_ranks_that_take_turns) {
    const auto lend_after = [](std::uint32_t local_ranks) {
        return limits_for({}, mp::kEnhancedMixed, local_ranks, {4, {}}).lend_after;
    };
    for (const std::uint64_t bytes : lend_after(4)) EXPECT_LT(bytes, 1u << 20);
    for (const std::uint64_t bytes : lend_after(5)) EXPECT_EQ(bytes, mp::Limits::kNever);
}

}  // namespace
}  // namespace fci::api
