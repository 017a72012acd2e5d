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

TEST(monotonic_now, counts_nanoseconds) {
    const Nanoseconds begin = monotonic_now();
    timespec pause{0, 20'000'000};
    nanosleep(&pause, nullptr);
    const Nanoseconds slept = monotonic_now() - begin;
    EXPECT_GE(slept, 20'000'000);
    EXPECT_LT(slept, 20'000'000'000);
}

}  // namespace
}  // namespace fci
