// SPDX-License-Identifier: BSD-3-Clause
#include "fci_core/progress/blocking.h"

#include <algorithm>

#include "fci_core/base/assert.h"

namespace fci::progress {

namespace {
constexpr unsigned kSpinsBeforeYield = 16;  // of a call that does nothing else in between
constexpr unsigned kYieldsOfCall = kYieldsBeforeSleep / 16;
static_assert(kYieldsOfCall != 0, "a call yields before it sleeps");
constexpr Nanoseconds kWaitSleep = 100'000'000;
constexpr Nanoseconds kSpinBeforeSleep = 1'000'000;  // of a call with a core of its own
constexpr Nanoseconds kShareOfWait = 16;
}  // namespace

WaitStep Blocking::wait(const CoreShare& core, unsigned empty_turns,
                        Nanoseconds waited) noexcept {
    FCI_ASSERT(core.act() != WaitMode::automatic);
    if (core.mode() == WaitMode::spin) return {};
    if (!core.gives_core_away()) {
        // A core of its own: spin first, but nobody profits from a whole core spent on a long wait.
        return waited < kSpinBeforeSleep ? WaitStep{} : WaitStep{WaitAction::sleep, kWaitSleep};
    }
    if (empty_turns <= kSpinsBeforeYield) return {};
    if (core.act() == WaitMode::yield || empty_turns <= kSpinsBeforeYield + kYieldsOfCall) {
        return {WaitAction::yield, 0};
    }
    return {WaitAction::sleep, kWaitSleep};
}

Nanoseconds Blocking::sleep_of_wait(Nanoseconds waited) noexcept {
    return std::max(waited / kShareOfWait, kShortSleep);
}

}  // namespace fci::progress
