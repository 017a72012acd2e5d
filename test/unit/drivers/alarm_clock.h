// SPDX-License-Identifier: BSD-3-Clause
// AlarmClock: a HandClock that remembers when it is to ring, and rings where its test says so.
#pragma once

#include <sys/eventfd.h>

#include "drivers/host/descriptor.h"
#include "test/unit/drivers/hand_clock.h"

namespace fci::shm {

class AlarmClock final : public HandClock {
public:
    void ring_at(Nanoseconds when) noexcept override {
        eventfd_t rung = 0;
        (void)eventfd_read(bell_.get(), &rung);
        rings_at = when;
        ++told;
    }
    [[nodiscard]] int fd() const noexcept override { return bell_.get(); }

    /// fd() is readable from here on, until the next ring_at().
    void ring() noexcept { (void)eventfd_write(bell_.get(), 1); }

    Nanoseconds rings_at = kNever;
    unsigned told = 0;  // how often it was told a time

private:
    host::Descriptor bell_{eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)};
};

}  // namespace fci::shm
