// SPDX-License-Identifier: BSD-3-Clause
#include "drivers/shm/clock.h"

#include <sys/timerfd.h>
#include <time.h>

#include "fci_core/base/assert.h"
#include "fci_core/base/clock.h"

namespace fci::shm {

namespace {

constexpr Nanoseconds kSecond = 1'000'000'000;

timespec time_of(Nanoseconds time) noexcept { return {time / kSecond, time % kSecond}; }

}  // namespace

KernelClock::KernelClock() noexcept
    : timer_(timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK)) {}

Nanoseconds KernelClock::now() noexcept { return monotonic_now(); }

void KernelClock::pause(Nanoseconds time) noexcept {
    const timespec told = time_of(time);
    (void)nanosleep(&told, nullptr);
}

void KernelClock::ring_at(Nanoseconds when) noexcept {
    FCI_ASSERT(when > 0);  // 0 would be never
    itimerspec told{};
    if (when != kNever) told.it_value = time_of(when);
    (void)timerfd_settime(timer_.get(), TFD_TIMER_ABSTIME, &told, nullptr);
}

}  // namespace fci::shm
