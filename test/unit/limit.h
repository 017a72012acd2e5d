// SPDX-License-Identifier: BSD-3-Clause
// The end of a test's patience. What a test asks must not depend on what else runs on the machine:
// it counts, or takes processor time, or has a clock of its own.
#pragma once

#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <ctime>

#include "fci_core/base/status.h"

namespace fci {

/// Processor time of this process, all its threads together.
inline Nanoseconds own_time() noexcept {
    timespec time{};
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return Nanoseconds{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

/// How many times slower than usual the processor is where it is emulated (test/rdma/inside).
inline unsigned slowness() noexcept {
    const char* const told = std::getenv("FCI_TEST_SLOWNESS");
    const int number = told != nullptr ? std::atoi(told) : 1;
    return number > 1 ? static_cast<unsigned>(number) : 1;
}

/// Longer than anything takes that ends: a sleep with this timeout ends in time, or hangs.
inline constexpr Nanoseconds kForEver = 100'000'000'000;

/// For a loop that turns until something comes; one that sleeps for ever is ended by
/// test/harness/run.
inline const Nanoseconds kHang = 30'000'000'000 * slowness();

/// Such a loop goes on while `holds()`: after kHang of this process's own time that is false,
/// and the test has failed with a sentence that says what did not come. Threads may share one.
class Limit {
public:
    explicit Limit(const char* awaited) : awaited_(awaited) {}
    [[nodiscard]] bool holds() {
        if (own_time() < end_) return true;
        if (!over_.exchange(true)) {
            ADD_FAILURE() << kHang / 1'000'000'000
                          << " seconds of processor time have gone by without " << awaited_;
        }
        return false;
    }

private:
    const char* awaited_;
    Nanoseconds end_ = own_time() + kHang;
    std::atomic<bool> over_{false};
};

}  // namespace fci
