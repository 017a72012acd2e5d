// SPDX-License-Identifier: BSD-3-Clause
// The step of a process that waits for flags (§2.7.4, §2.7.5).
#include <algorithm>
#include <new>

#include "fci_core/api/process.h"
#include "fci_core/base/assert.h"
#include "fci_core/base/flag.h"

namespace fci::api {

namespace {

constexpr unsigned kTurnsOfStep = 64;
constexpr unsigned kYieldsOfStep = 16;

}  // namespace

/// With a core for each, the caller has looked on for long, and progress is due. Else one that is
/// waited for and was last seen on this core gets it at once: each such change is what a collective
/// costs. If there is none the others are at work; but what is known of cores may be out of date.
progress::Step Process::step(progress::Wait& wait) noexcept try {
    using progress::Step;
    const auto is_long = [&] {
        return wait.yields() >= policy_.kYieldsOfWait &&
               policy_.is_long(device_->now() - wait.since());
    };
    bool is_over = wait.is_over();
    if (!policy_.gives_core_away()) {
        for (unsigned turns = 0; turns < kTurnsOfStep && turn_apart() > 0; ++turns) {
        }
        is_over = wait.is_over();
    } else if (!is_over && idle_ == FCI_ICL_MAY_SLEEP && is_long()) {
        sleep_over(wait);
        (void)turn_apart();
        is_over = wait.is_over();
    } else if (!is_over) {
        is_over = give_core_to_others(wait);
        const bool turn_is_due = wait.yields() % kYieldsOfStep == 0;
        if (!is_over && !turn_is_due) return Step::again;
    }
    if (!is_over) return Step::turn;
    if (wait.linked()) worked();
    waits_.remove(wait);
    return Step::over;
} catch (const std::bad_alloc&) {  // what had arrived needs more memory, and comes back
    return progress::Step::turn;
}

/// Whether it is over then.
bool Process::give_core_to_others(progress::Wait& wait) {
    FCI_ASSERT(policy_.gives_core_away());
    for (unsigned left = shared_ ? 1 : kYieldsOfStep; left != 0; --left) {
        for (unsigned looks = 0; looks < policy_.kLooksOfStep; ++looks) {
            if (wait.is_over()) return true;
            if (wait.needs(host_.core())) break;
            flag::pause();
        }
        follow({progress::WaitAction::yield, 0}, 0);
        wait.count_yield();
        if (wait.is_over()) return true;
        if (wait.is_for_network()) until_poll_ = 1;
        (void)turn_apart();
    }
    return wait.is_over();
}

void Process::sleep_over(progress::Wait& wait) {
    FCI_ASSERT(wait.since() != 0 && !in_fork_child_);
    const Nanoseconds most = shared_                ? progress::kShortSleep
                             : wait.may_be_woken() ? policy_.kWaitSleepMost
                                                   : policy_.kStrangerSleepMost;
    (void)sleep(std::min(policy_.sleep_of_wait(device_->now() - wait.since()), most), &wait);
}

}  // namespace fci::api
