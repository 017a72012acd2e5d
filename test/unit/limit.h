// The end of a test's patience.
#pragma once

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>

namespace fci {

/// A loop that waits for something goes on while `holds()`: after twenty seconds that is false, and
/// the test has failed with a sentence that says what did not come. Threads may share one.
class Limit {
public:
    explicit Limit(const char* awaited) : awaited_(awaited) {}
    [[nodiscard]] bool holds() {
        if (std::chrono::steady_clock::now() < end_) return true;
        if (!over_.exchange(true)) ADD_FAILURE() << "20 seconds have gone by without " << awaited_;
        return false;
    }

private:
    const char* awaited_;
    std::chrono::steady_clock::time_point end_ =
        std::chrono::steady_clock::now() + std::chrono::seconds(20);
    std::atomic<bool> over_{false};
};

}  // namespace fci
