// SPDX-License-Identifier: BSD-3-Clause
// Losses: what a thread has lost of its core to others, by which it finds out that it shares one.
#pragma once

#include <cstdint>

#include "fci_core/base/status.h"

namespace fci::progress {

struct Losses {
    Nanoseconds time;     // for which it was ready to run while others had its core; < 0: not known
    std::uint64_t times;  // that its core was taken from it, or that it gave it away
};

/// Of the calling thread, so far. `time` is not known without CONFIG_SCHED_INFO in the kernel, or
/// where a descriptor to ask it is not to be had.
[[nodiscard]] Losses losses() noexcept;

}  // namespace fci::progress
