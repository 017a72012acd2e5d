// SPDX-License-Identifier: BSD-3-Clause
#include "fci_core/progress/placement.h"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

#include "test/unit/progress/scheduler.h"

namespace fci::progress {
namespace {

TEST(Placement, take_place__each_rank_on_its_core_and_free_to_leave) {
    const std::vector<int> before = allowed_cores();
    const auto cores = static_cast<unsigned>(before.size());
    if (cores < 2) GTEST_SKIP() << "needs two cores";
    for (unsigned rank = 0; rank < 3 * cores; ++rank) {
        // The scheduler may move it at once; not every time.
        bool there = false;
        for (int attempt = 0; attempt < 50 && !there; ++attempt) {
            take_place(static_cast<int>(rank), 3 * cores, cores);
            there = sched_getcpu() == before[rank % cores];
        }
        EXPECT_TRUE(there) << rank;
        EXPECT_EQ(allowed_cores(), before);
    }
}

TEST(Placement, take_place__leaves_alone_who_is_bound) {
    const std::vector<int> before = allowed_cores();
    const auto cores = static_cast<unsigned>(before.size());
    if (cores < 2) GTEST_SKIP() << "needs two cores";
    std::thread([&] {
        if (!bind_to(before.back())) return;
        take_place(0, 3 * cores, cores);
        EXPECT_EQ(allowed_cores(), std::vector<int>{before.back()});
        EXPECT_EQ(sched_getcpu(), before.back());
    }).join();
}

TEST(Placement, take_place__of_one_that_knows_no_place) {
    const std::vector<int> before = allowed_cores();
    take_place(-1, 8, static_cast<unsigned>(before.size()));
    EXPECT_EQ(allowed_cores(), before);
}

}  // namespace
}  // namespace fci::progress
