// SPDX-License-Identifier: BSD-3-Clause
// Guesses: counts callers that named another process than this one, or a wrong job. It is told the
// time.
#pragma once

#include <utility>

#include "fci_core/base/status.h"

namespace fci::tcp {

class Guesses {
public:
    // In a second. Few of a job's own processes call one that has ended, and not for long.
    static constexpr unsigned kMost = 200;

    /// Counts one more. True the first time that there were too many.
    bool add(Nanoseconds now) noexcept {
        if (count_ == 0 || now - began_ >= kSecond) {
            began_ = now;
            count_ = 0;
        }
        if (++count_ < kMost) return false;
        many_until_ = now + kSecond;
        return !std::exchange(told_, true);
    }
    [[nodiscard]] bool are_many(Nanoseconds now) const noexcept { return now < many_until_; }

private:
    static constexpr Nanoseconds kSecond = 1'000'000'000;

    Nanoseconds began_ = 0;  // the second that is counted
    unsigned count_ = 0;     // guesses in it
    Nanoseconds many_until_ = 0;
    bool told_ = false;
};

}  // namespace fci::tcp
