// SPDX-License-Identifier: BSD-3-Clause
#include "fci_core/progress/slice.h"

#include <gtest/gtest.h>

#include <thread>

#include "test/unit/progress/scheduler.h"

namespace fci::progress {
namespace {

TEST(slice, set_slice__of_this_thread_and_back) {
    const Nanoseconds before = slice_of_thread();
    if (before < 0) GTEST_SKIP() << "the kernel does not tell slices";
    set_slice(kShortSlice);
    const Nanoseconds after = slice_of_thread();
    if (after == before) GTEST_SKIP() << "the kernel has no slices of threads";
    EXPECT_EQ(after, kShortSlice);
    set_slice(kShortSlice);
    EXPECT_EQ(slice_of_thread(), kShortSlice);
    set_slice(0);
    EXPECT_EQ(slice_of_thread(), before);
    set_slice(0);
    EXPECT_EQ(slice_of_thread(), before);
}

TEST(slice, set_slice__of_no_other_thread) {
    const Nanoseconds before = slice_of_thread();
    std::thread([] { set_slice(kShortSlice); }).join();
    EXPECT_EQ(slice_of_thread(), before);
}

}  // namespace
}  // namespace fci::progress
