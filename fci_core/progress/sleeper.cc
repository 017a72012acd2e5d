// SPDX-License-Identifier: BSD-3-Clause
#include "fci_core/progress/sleeper.h"

#include <algorithm>

#include "fci_core/base/assert.h"
#include "fci_core/progress/blocking.h"

namespace fci::progress {

Sleeper::Sleeper(ddi::Device& device, nhi::EventId wake, Counters& counters, Countdown& countdown,
                 Alert& alert) noexcept
    : device_(device), counters_(counters), countdown_(countdown), alert_(alert), event_(wake) {
    FCI_ASSERT(wake < nhi::kEventsMax);
    // Failing here would only mean that a sleeper is not woken at once; sleeps are bounded.
    (void)device_.network().configure_event(event_, {false, true});
    (void)device_.network().mask_event_interrupt(event_, true);
}

/// False: there is something to do. A sleep that was prepared before has made nobody pass a barrier
/// since a new wait has said that its flags are to wake this process.
bool Sleeper::begin(Wait* over) noexcept {
    if (is_stopped_) return false;
    const bool is_on = wake_ != Wake::off || is_held_;
    if (waits_.prepare(over) && is_on) {
        (void)device_.network().configure_event(event_, {false, true});
    }
    wake_ = Wake::armed;
    (void)device_.network().mask_event_interrupt(event_, false);
    if (waits_.any_over()) {
        end();
        return false;
    }
    // The next turn, with or without work, ends it.
    alert_.set_always();
    countdown_.cut_short();
    return true;
}

bool Sleeper::sleep(Nanoseconds timeout, Wait* over) noexcept {
    FCI_ASSERT(timeout > 0);
    if (!begin(over)) return false;
    ++counters_.sleeps;
    const bool is_woken = waits_.may_be_woken();
    device_.sleep(is_woken ? timeout : std::min(timeout, Blocking::kStrangerSleepMost));
    wake_ = Wake::left_on;
    countdown_.poll_next();  // it may have been an arrival or a departure that woke us
    return true;
}

bool Sleeper::arm() noexcept {
    if (!begin(nullptr)) return false;
    is_held_ = is_shared_;
    return true;
}

void Sleeper::end() noexcept {
    FCI_ASSERT(!is_stopped_);
    wake_ = Wake::off;
    if (!is_held_) (void)device_.network().mask_event_interrupt(event_, true);
}

void Sleeper::stop() noexcept {
    is_stopped_ = true;
    wake_ = Wake::off;
    is_held_ = false;
    waits_.forget();
}

}  // namespace fci::progress
