// SPDX-License-Identifier: BSD-3-Clause
// Blocking: what a call does that waits until something happens, and a step of a wait for flags
// (§2.7.4, §2.7.5). Pure logic: counts and times are arguments.
#pragma once

#include "fci_core/progress/core_share.h"
#include "fci_core/progress/wait_step.h"

namespace fci::progress {

class Blocking {
public:
    /// A blocking call found nothing, for the `empty_turns`-th time, since `waited`.
    [[nodiscard]] static WaitStep wait(const CoreShare& core, unsigned empty_turns,
                                       Nanoseconds waited) noexcept;

    /// Of a step of a wait (IdleLoop::step): so often it looks while nobody that is waited for
    /// needs the core. A look takes as long as a message, a change of process ten times that.
    static constexpr unsigned kLooksOfStep = 60;
    /// In one step, where no other thread waits.
    static constexpr unsigned kYieldsOfStep = 16;
    /// In one step of a process with a core of its own.
    static constexpr unsigned kTurnsOfStep = 64;

    /// A wait that has yielded kYieldsBeforeSleep times may sleep, as it has taken so long.
    [[nodiscard]] static bool is_long(Nanoseconds waited) noexcept { return waited >= kWaitYields; }
    /// A sixteenth of what it has waited.
    [[nodiscard]] static Nanoseconds sleep_of_wait(Nanoseconds waited) noexcept;
    static constexpr Nanoseconds kWaitSleepMost = 50'000'000;
    /// Of a sleep over what nobody may be able to end by an event: the sleeper looks by itself.
    static constexpr Nanoseconds kStrangerSleepMost = 2'000'000;
    static_assert(kShortSleep < kStrangerSleepMost && kStrangerSleepMost < kWaitSleepMost);

private:
    // So many yields are over in a moment where others wait, too. Then nobody profits from a sleep:
    // the last one to come would wake all, one by one.
    static constexpr Nanoseconds kWaitYields = 1'000'000;
};

}  // namespace fci::progress
