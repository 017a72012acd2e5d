// SPDX-License-Identifier: BSD-3-Clause
// Scheduler: decides how time passes in a simulated world whose processes run as if side by side.
// Without one, time moves on with every poll, and a sleep ends with the next event.
#pragma once

#include <cstdint>

#include "fci_core/base/status.h"

namespace fci::sim {

/// A call of a process to its device or network.
enum class Call : std::uint8_t { now, poll, mask, transfer, copy };

class Scheduler {
public:
    virtual ~Scheduler() = default;
    /// The process (World::open) makes that call. Returns when its time is over; others may run
    /// meanwhile. A call that reads calls this first, a call that changes something calls it last,
    /// and masking an event does both.
    virtual void pass(unsigned process, Call call) noexcept = 0;
    /// Returns when World::is_woken(process), or after the timeout (< 0: none).
    virtual void sleep(unsigned process, Nanoseconds timeout) noexcept = 0;
};

}  // namespace fci::sim
