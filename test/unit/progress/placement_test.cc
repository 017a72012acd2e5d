#include "fci_core/progress/placement.h"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

#include "fci_core/progress/cpu_set.h"

namespace fci::progress {
namespace {

std::vector<int> allowed() {
    std::size_t bytes = 0;
    const CpuSet set = cores_of(0, &bytes);
    std::vector<int> found;
    for (int cpu = 0; cpu < static_cast<int>(8 * bytes); ++cpu) {
        if (CPU_ISSET_S(cpu, bytes, set.get())) found.push_back(cpu);
    }
    return found;
}

TEST(Placement, take_place__each_rank_on_its_core_and_free_to_leave) {
    const std::vector<int> before = allowed();
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
        EXPECT_EQ(allowed(), before);
    }
}

TEST(Placement, take_place__leaves_alone_who_is_bound) {
    const std::vector<int> before = allowed();
    const auto cores = static_cast<unsigned>(before.size());
    if (cores < 2) GTEST_SKIP() << "needs two cores";
    std::thread([&] {
        cpu_set_t one;
        CPU_ZERO(&one);
        CPU_SET(before.back(), &one);
        if (sched_setaffinity(0, sizeof one, &one) != 0) return;
        take_place(0, 3 * cores, cores);
        EXPECT_EQ(allowed(), std::vector<int>{before.back()});
        EXPECT_EQ(sched_getcpu(), before.back());
    }).join();
}

TEST(Placement, take_place__of_one_that_knows_no_place) {
    const std::vector<int> before = allowed();
    take_place(-1, 8, static_cast<unsigned>(before.size()));
    EXPECT_EQ(allowed(), before);
}

}  // namespace
}  // namespace fci::progress
