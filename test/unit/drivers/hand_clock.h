// SPDX-License-Identifier: BSD-3-Clause
// HandClock: a clock that goes on only where its test sets it.
#pragma once

#include "drivers/shm/clock.h"

namespace fci::shm {

class HandClock : public Clock {
public:
    [[nodiscard]] Nanoseconds now() noexcept override { return time; }
    void pause(Nanoseconds pause) noexcept override { time += pause; }
    void ring_at(Nanoseconds) noexcept override {}
    [[nodiscard]] int fd() const noexcept override { return -1; }

    Nanoseconds time = 1;
};

}  // namespace fci::shm
