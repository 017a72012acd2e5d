// SPDX-License-Identifier: BSD-3-Clause
// Shortage: a lack of descriptors or memory, which may pass. What it stops is tried again; only one
// that lasts is told, and ends what would wait for ever otherwise.
#pragma once

#include <utility>

#include "fci_core/base/assert.h"
#include "fci_core/base/status.h"

namespace fci::shm {

class Shortage {
public:
    explicit Shortage(Nanoseconds limit) noexcept : limit_(limit) {}

    /// It is felt, again or for the first time. True: it has been for longer than the limit. Who is
    /// stopped by it comes again in less than a second, so after a second without it is over.
    bool lasts(Nanoseconds now) noexcept {
        constexpr Nanoseconds kOverAfter = 1'000'000'000;
        FCI_ASSERT(now >= felt_);
        if (felt_ == 0 || now - felt_ > kOverAfter) since_ = now;
        felt_ = now;
        return now - since_ > limit_;
    }

    /// The user has not been told of it: asked once.
    bool is_news() noexcept { return !std::exchange(told_, true); }

private:
    Nanoseconds limit_;
    bool told_ = false;
    Nanoseconds since_ = 0, felt_ = 0;  // 0: never
};

}  // namespace fci::shm
