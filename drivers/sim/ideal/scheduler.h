// SPDX-License-Identifier: BSD-3-Clause
// Scheduler: who says how time passes in a simulated world whose processes run as if side by side.
// Without one, time moves on with every poll, and a sleep ends with what happens next.
#pragma once

#include <cstdint>

#include "fci_core/base/status.h"

namespace fci::sim {

/// What a process asks of its device or network.
enum class Call : std::uint8_t { now, poll, mask, transfer, copy };

class Scheduler {
public:
    virtual ~Scheduler() = default;
    /// The process (World::open) makes that call. Returns when its time is over; others may run
    /// meanwhile. What the call reads it reads after that, what it changes it has changed before;
    /// masking an event is called both before and after.
    virtual void pass(unsigned process, Call call) noexcept = 0;
    /// Returns when World::is_woken(process), or after the timeout (< 0: none).
    virtual void sleep(unsigned process, Nanoseconds timeout) noexcept = 0;
};

}  // namespace fci::sim
