// SPDX-License-Identifier: BSD-3-Clause
#include "fci_core/base/clock.h"

#include <gtest/gtest.h>

namespace fci {
namespace {

TEST(monotonic_now, never_goes_back_and_does_advance) {
    const Nanoseconds begin = monotonic_now();
    Nanoseconds last = begin;
    while (last - begin < 1'000'000) {
        const Nanoseconds now = monotonic_now();
        ASSERT_GE(now, last);
        last = now;
    }
}

/// By a clock that differs from the other one only while the machine is suspended.
Nanoseconds since_boot() {
    timespec time{};
    clock_gettime(CLOCK_BOOTTIME, &time);
    return Nanoseconds{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

TEST(monotonic_now, counts_nanoseconds) {
    const Nanoseconds before = since_boot(), begin = monotonic_now();
    timespec pause{0, 20'000'000};
    nanosleep(&pause, nullptr);
    const Nanoseconds slept = monotonic_now() - begin, most = since_boot() - before;
    EXPECT_GE(slept, 20'000'000);
    EXPECT_LE(slept, most);
}

}  // namespace
}  // namespace fci
