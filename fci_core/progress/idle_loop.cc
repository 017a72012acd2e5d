// SPDX-License-Identifier: BSD-3-Clause
#include "fci_core/progress/idle_loop.h"

#include <algorithm>
#include <new>
#include <utility>

#include "fci_core/base/assert.h"
#include "fci_core/base/flag.h"
#include "fci_core/base/result.h"
#include "fci_core/progress/blocking.h"
#include "fci_core/progress/slice.h"

namespace fci::progress {

namespace {

constexpr unsigned kLookForSleepersEvery = 16;
constexpr unsigned kRowBegins = 8;  // empty turns

/// Data wait for what the last turn has looked at.
bool has_early_data(nhi::NetworkInterface& network) noexcept {
    const nhi::DataWay* const data = network.data();
    return data != nullptr && data->waits();
}

}  // namespace

IdleLoop::IdleLoop(ddi::Device& device, Host& host, Worker& worker, const CoreShare& core,
                   nhi::EventId wake, Counters& counters)
    : countdown_(device.network().idle_poll_every()),
      device_(device),
      host_(host),
      worker_(worker),
      counters_(counters),
      core_(core),
      asking_(core_),
      sleeper_(device, wake, counters, countdown_, alert_) {}

IdleLoop::~IdleLoop() {
    if (is_crowded_) host_.set_slice(0);
}

// --- turns ---

/// Between two turns that both had work: credit went back, or the clock is asked every few turns.
void IdleLoop::look_up() noexcept try {
    alert_.looked_up();
    if (busy_polls_.is_due(device_.now())) (void)poll_network();
} catch (const std::bad_alloc&) {  // it comes back
}

/// The network's own work: arrivals, departures. Not in every turn where that costs a system call.
unsigned IdleLoop::poll_network() {
    const Nanoseconds now = device_.now();
    nhi::NetworkInterface& network = device_.network();
    const unsigned work = network.poll(now);
    countdown_.polled(network.idle_poll_every());
    busy_polls_.polled(now, network.busy_poll_every());
    if (busy_polls_.by_time()) alert_.set_always();
    if (core_.wants_watch(now)) core_.watch(host_.losses(), now);
    const unsigned met = worker_.polled(now, work);
    if (work != 0) core_.set_local_ranks(met);
    return work;
}

/// As many empty turns as nobody need be asked for.
void IdleLoop::plan() noexcept {
    const Signs signs = worker_.signs();
    const unsigned spins = asking_.spins();
    const bool is_crowded = spins != Countdown::kNever && (is_crowded_ || signs.is_in_use);
    if (is_crowded != is_crowded_) {
        countdown_.break_row();
        // All ranks of the job do so: one with a longer slice than the others would come last.
        host_.set_slice(is_crowded ? kShortSlice : 0);
    }
    is_crowded_ = is_crowded;
    const bool is_alert = !sleeper_.is_awake() || is_crowded_ || busy_polls_.by_time();
    alert_.reset(is_alert || signs.goes_on);
    const bool has_row = is_crowded_ && idle_ != Idle::keeps_core;
    countdown_.plan(has_row ? spins + 1 : Countdown::kNever,
                    sleeper_.is_armed() || signs.goes_on);
}

/// Something has come: requests need not wake this process any more.
void IdleLoop::wake_up() noexcept {
    FCI_ASSERT(stopped_ == 0);
    sleeper_.end();
    plan();
}

/// Now and then the network's own work, and the advice for a caller that asks.
int IdleLoop::nothing_found() noexcept try {
    if (stopped_ != 0) [[unlikely]] {
        countdown_.plan(Countdown::kNever, true);
        return stopped_;
    }
    if (sleeper_.is_armed()) sleeper_.end();
    countdown_.end();
    const bool polls = countdown_.is_poll_due();
    unsigned work = polls ? poll_network() : 0;
    work += static_cast<unsigned>(worker_.advance(0));
    if (work != 0) {
        countdown_.break_row();
    } else if (is_crowded_) {
        const Signs signs = worker_.signs();
        if (went_on(signs)) {
            asking_.went_on(countdown_.row());
            countdown_.break_row();
        } else if (countdown_.is_row_due()) {
            ask(signs.expected, polls);
        }
    }
    plan();
    if (work == 0) return 0;
    int taken = worker_.turn();  // what came by the network waits for no other call
    if (taken >= 0 && has_early_data(device_.network())) {
        (void)poll_network();
        taken = worker_.turn();
    }
    return taken < 0 ? taken : static_cast<int>(work) + taken;
} catch (const std::bad_alloc&) {
    plan();
    return FCI_ICL_ENOMEM;
}

/// The caller has sent something in a row of empty turns; not at its begin: that is waited for.
bool IdleLoop::went_on(const Signs& signs) noexcept {
    const std::uint64_t before = std::exchange(begun_, signs.begun);
    return begun_ != before && countdown_.row() > kRowBegins;
}

/// The row is so long that the caller seems to wait.
void IdleLoop::ask(unsigned expected, bool polled) noexcept {
    FCI_ASSERT(is_crowded_ && countdown_.row() != 0);
    if (countdown_.row() % kLookForSleepersEvery == 0) core_.set_asleep(worker_.sleeping());
    asking_.set_expected(expected);
    if (asking_.wants_used_time()) asking_.used_time(host_.used_time());
    WaitStep step = asking_.turn(countdown_.row(), device_.now(), polled);
    if (step.action == WaitAction::sleep) {
        // A caller that waits for what is not known here, a lock in shared memory say, is not
        // woken. Asked only now: the answer counts what was probed for since it was asked before.
        const bool is_woken = sleeper_.is_shared() || sleeper_.waits().any_wanted();
        if (idle_ != Idle::may_sleep || !is_woken) step.action = WaitAction::yield;
    }
    follow(step, sleeper_.is_shared() ? kShortSleep : -1);
    asking_.resumed(device_.now());
}

int IdleLoop::turn_apart() {
    int work = worker_.turn();
    if (work == 0 && stopped_ != 0) [[unlikely]] return stopped_;
    work = worker_.advance(work);
    if (work == 0 && countdown_.count_to_poll()) work = static_cast<int>(poll_network());
    if (work != 0) {
        found(worker_.signs().goes_on);
        look_up_if_due();
    }
    return work;
}

// --- waiting ---

int IdleLoop::wait(Nanoseconds timeout) {
    const Nanoseconds begin = device_.now();
    for (unsigned empty = 1;; ++empty) {
        if (const int work = turn_apart(); work != 0) return work;
        const Nanoseconds waited = device_.now() - begin;
        if (timeout >= 0 && waited >= timeout) return 0;
        follow(Blocking::wait(core_, empty, waited), timeout < 0 ? -1 : timeout - waited);
    }
}

/// With a core for each, the caller has looked on for long, and progress is due. Else one that is
/// waited for and was last seen on this core gets it at once: each such change is what a collective
/// costs. If there is none the others are at work; but what is known of cores may be out of date.
Step IdleLoop::step(Wait& wait) noexcept try {
    const auto may_sleep = [&] {
        return idle_ == Idle::may_sleep && wait.yields() >= kYieldsBeforeSleep &&
               Blocking::is_long(device_.now() - wait.since());
    };
    bool is_over = wait.is_over();
    if (!core_.gives_core_away()) {
        for (unsigned left = Blocking::kTurnsOfStep; left != 0 && turn_apart() > 0; --left) {
        }
        is_over = wait.is_over();
    } else if (!is_over && may_sleep()) {
        FCI_ASSERT(wait.since() != 0);
        const Nanoseconds most = sleeper_.is_shared() ? kShortSleep : Blocking::kWaitSleepMost;
        const Nanoseconds waited = device_.now() - wait.since();
        (void)sleeper_.sleep(std::min(Blocking::sleep_of_wait(waited), most), &wait);
        (void)turn_apart();
        is_over = wait.is_over();
    } else if (!is_over) {
        is_over = give_core_to_others(wait);
        const bool turn_is_due = wait.yields() % Blocking::kYieldsOfStep == 0;
        if (!is_over && !turn_is_due) return Step::again;
    }
    if (!is_over) return Step::turn;
    if (wait.linked()) found(worker_.signs().goes_on);
    Waits::remove(wait);
    return Step::over;
} catch (const std::bad_alloc&) {  // what had arrived needs more memory, and comes back
    return Step::turn;
}

/// Whether it is over then.
bool IdleLoop::give_core_to_others(Wait& wait) {
    FCI_ASSERT(core_.gives_core_away());
    for (unsigned left = sleeper_.is_shared() ? 1 : Blocking::kYieldsOfStep; left != 0; --left) {
        for (unsigned looks = 0; looks < Blocking::kLooksOfStep; ++looks) {
            if (wait.is_over()) return true;
            if (wait.needs(host_.core())) break;
            flag::pause();
        }
        follow({WaitAction::yield, 0}, 0);
        wait.count_yield();
        if (wait.is_over()) return true;
        if (wait.is_for_network()) countdown_.poll_next();
        (void)turn_apart();
    }
    return wait.is_over();
}

// --- spin, yield, sleep ---

/// `most`: of a sleep; < 0: as the advice says.
void IdleLoop::follow(const WaitStep& step, Nanoseconds most) noexcept {
    switch (step.action) {
        case WaitAction::spin:
            flag::pause();
            break;
        case WaitAction::sleep:
            if (sleeper_.sleep(most >= 0 ? std::min(most, step.sleep_ns) : step.sleep_ns)) break;
            [[fallthrough]];  // it waits for room, say, and the process that makes some may need
                              // this core
        case WaitAction::yield:
            ++counters_.yields;
            host_.give_core_away();
            break;
    }
}

void IdleLoop::stop(int error) noexcept {
    FCI_ASSERT(error < 0);
    stopped_ = error;
    countdown_.plan(Countdown::kNever, true);
    sleeper_.stop();
}

}  // namespace fci::progress
