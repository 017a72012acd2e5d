// SPDX-License-Identifier: BSD-3-Clause
// Clock: the time by which a device acts, and what wakes its process at one. The kernel has one;
// a test has another, which goes on only where the test says so. Nothing else in this driver reads
// a clock.
#pragma once

#include <limits>

#include "drivers/host/descriptor.h"
#include "fci_core/base/status.h"

namespace fci::shm {

class Clock {
public:
    static constexpr Nanoseconds kNever = std::numeric_limits<Nanoseconds>::max();

    virtual ~Clock() = default;
    [[nodiscard]] virtual Nanoseconds now() noexcept = 0;
    virtual void pause(Nanoseconds time) noexcept = 0;
    /// A sleeping process must come back at that time: fd() is readable from then on, until this is
    /// called again. kNever: no more.
    virtual void ring_at(Nanoseconds when) noexcept = 0;
    /// -1: this clock wakes no process that sleeps in the kernel.
    [[nodiscard]] virtual int fd() const noexcept = 0;
};

class KernelClock final : public Clock {
public:
    /// Without a descriptor left nobody is woken by time.
    KernelClock() noexcept;

    [[nodiscard]] Nanoseconds now() noexcept override;
    void pause(Nanoseconds time) noexcept override;
    void ring_at(Nanoseconds when) noexcept override;
    [[nodiscard]] int fd() const noexcept override { return timer_.get(); }

private:
    host::Descriptor timer_;
};

}  // namespace fci::shm
