// SPDX-License-Identifier: BSD-3-Clause
#include "fci_core/mp/move/landing.h"

#include <gtest/gtest.h>

#include <array>
#include <vector>

namespace fci::mp {
namespace {

constexpr std::uint64_t kMiB = 1 << 20;

TEST(warm_buffers, take__warm_until_much_else_was_received) {
    std::vector<std::byte> memory(2 * kMiB);
    std::byte* const a = memory.data();
    std::byte* const b = a + kMiB;
    WarmBuffers warm;
    EXPECT_FALSE(warm.take(a, kMiB)) << "never seen";
    EXPECT_TRUE(warm.take(a, kMiB));
    EXPECT_FALSE(warm.take(b, WarmBuffers::kReach - kMiB - 1));
    EXPECT_TRUE(warm.take(a, kMiB + 1));
    EXPECT_FALSE(warm.take(b, kMiB)) << "too much was";
}

TEST(warm_buffers, take__a_message_longer_than_that_is_cold_where_it_begins) {
    std::byte a{};
    WarmBuffers warm;
    EXPECT_FALSE(warm.take(&a, WarmBuffers::kReach));
    EXPECT_FALSE(warm.take(&a, WarmBuffers::kReach - 1));
    EXPECT_TRUE(warm.take(&a, 1));
}

/// The cost of a message of 1 MiB by each landing, and how often each was chosen.
using Costs = std::array<Nanoseconds, 3>;
std::array<unsigned, 3> land(ColdLanding& choice, unsigned messages, const Costs& costs) {
    std::array<unsigned, 3> chosen{};
    for (unsigned i = 0; i < messages; ++i) {
        const auto [landing, is_timed] = choice.choose();
        ++chosen[static_cast<unsigned>(landing)];
        if (is_timed) choice.learn(landing, kMiB, costs[static_cast<unsigned>(landing)]);
    }
    return chosen;
}
constexpr Costs kNear{100'000, 90'000, 50'000}, kFar{100'000, 90'000, 200'000},
    kUnaligned{100'000, 800'000, 120'000};

TEST(cold_landing, choose__the_cheapest) {
    ColdLanding near, far, unaligned;
    EXPECT_GT(land(near, 1024, kNear)[2], 990u);
    EXPECT_GT(land(far, 1024, kFar)[1], 990u);
    EXPECT_GT(land(unaligned, 1024, kUnaligned)[0], 990u);
}

TEST(cold_landing, choose__follows_a_machine_that_changes) {
    ColdLanding choice;
    land(choice, 1024, kNear);
    land(choice, 384, kFar);
    EXPECT_GT(land(choice, 1024, kFar)[1], 990u);
    land(choice, 384, kNear);
    EXPECT_GT(land(choice, 1024, kNear)[2], 990u);
}

TEST(cold_landing, learn__one_late_message_changes_nothing) {
    ColdLanding choice;
    for (int i = 0; i < 12; ++i) {
        const auto [landing, is_timed] = choice.choose();
        ASSERT_TRUE(is_timed);
        const Nanoseconds cost = kNear[static_cast<unsigned>(landing)];
        choice.learn(landing, kMiB, i % 4 == 1 ? 50'000'000 : cost);
    }
    EXPECT_EQ(land(choice, 100, kNear)[2], 100u);
}

}  // namespace
}  // namespace fci::mp
