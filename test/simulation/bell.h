// SPDX-License-Identifier: BSD-3-Clause
// Bell: the clock of one process over shared memory, in the time of its simulation.
#pragma once

#include <functional>
#include <utility>

#include "drivers/shm/clock.h"

namespace fci::simulation {

class Bell final : public shm::Clock {
public:
    explicit Bell(std::function<Nanoseconds()> time) : time_(std::move(time)) {}

    [[nodiscard]] Nanoseconds now() noexcept override { return time_() + paused_; }
    /// For this process alone: nobody gets on meanwhile.
    void pause(Nanoseconds time) noexcept override { paused_ += time; }
    void ring_at(Nanoseconds when) noexcept override { rings_at_ = when; }
    [[nodiscard]] int fd() const noexcept override { return -1; }
    [[nodiscard]] Nanoseconds rings_at() const noexcept { return rings_at_; }

private:
    std::function<Nanoseconds()> time_;
    Nanoseconds paused_ = 0, rings_at_ = kNever;
};

}  // namespace fci::simulation
