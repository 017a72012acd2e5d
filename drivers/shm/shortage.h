// SPDX-License-Identifier: BSD-3-Clause
// Shortage: a lack of descriptors or memory, which may pass. A step that it stops is tried again;
// only a shortage that lasts is told to the user, and ends a step that would wait for ever.
#pragma once

#include <utility>

#include "fci_core/base/assert.h"
#include "fci_core/base/status.h"

namespace fci::shm {

class Shortage {
public:
    explicit Shortage(Nanoseconds limit) noexcept : limit_(limit) {}

    /// A step failed for the shortage. True: it has lasted for longer than the limit. A step that
    /// failed is tried again in less than a second, so after a second without a failure it is over.
    bool lasts(Nanoseconds now) noexcept {
        constexpr Nanoseconds kOverAfter = 1'000'000'000;
        FCI_ASSERT(now >= felt_);
        if (felt_ == 0 || now - felt_ > kOverAfter) since_ = now;
        felt_ = now;
        return now - since_ > limit_;
    }

    /// True the first time only: the user has not been told of it.
    bool is_news() noexcept { return !std::exchange(told_, true); }

private:
    Nanoseconds limit_;
    bool told_ = false;
    Nanoseconds since_ = 0, felt_ = 0;  // 0: never
};

}  // namespace fci::shm
