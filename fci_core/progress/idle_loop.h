// SPDX-License-Identifier: BSD-3-Clause
// IdleLoop: the one loop that waits (§2.6.10, §2.7.4, §2.7.5). A turn that finds nothing, a call
// that blocks and a step of a wait all come here, and spin, yield or sleep by the advice of Asking
// and of Blocking. docs/architecture.md has the table of its states.
#pragma once

#include <cstdint>

#include "fci_core/base/counters.h"
#include "fci_core/ddi/device.h"
#include "fci_core/progress/alert.h"
#include "fci_core/progress/asking.h"
#include "fci_core/progress/busy_polls.h"
#include "fci_core/progress/core_share.h"
#include "fci_core/progress/countdown.h"
#include "fci_core/progress/host.h"
#include "fci_core/progress/sleeper.h"
#include "fci_core/progress/wait.h"
#include "fci_core/progress/worker.h"

namespace fci::progress {

/// How far nonblocking calls may go when nothing happens.
enum class Idle : std::uint8_t { may_sleep, may_yield, keeps_core };

class IdleLoop {
public:
    /// All outlive it. `counters`: where yields and sleeps are counted.
    IdleLoop(ddi::Device& device, Host& host, Worker& worker, const CoreShare& core,
             nhi::EventId wake, Counters& counters);
    ~IdleLoop();
    IdleLoop(const IdleLoop&) = delete;
    IdleLoop& operator=(const IdleLoop&) = delete;

    // --- a turn, whose work its caller does ---

    /// An empty turn: 0, or what the loop found to do, or an error.
    int empty_turn() noexcept { return countdown_.count() ? nothing_found() : 0; }
    /// If there is any, a turn that finds work calls found() first, and look_up_if_due() after it.
    [[nodiscard]] Alert& alert() noexcept { return alert_; }
    /// The turn found work. `goes_on`: Signs::goes_on.
    void found(bool goes_on) noexcept {
        if (!sleeper_.is_awake()) [[unlikely]] wake_up();
        countdown_.found();
        if (goes_on) [[unlikely]] look_at_each_turn();
        if (busy_polls_.count_turn()) alert_.set_look_up();
    }
    void look_up_if_due() noexcept {
        if (alert_.looks_up()) look_up();
    }
    /// There is more to do than to take what has come.
    [[nodiscard]] bool needs_turn() const noexcept {
        return alert_.looks_up() || !sleeper_.is_awake();
    }
    /// Cores are short, so the rows of empty turns are counted.
    [[nodiscard]] bool is_crowded() const noexcept { return is_crowded_; }
    /// Something was begun that only a turn finds to be over.
    void look_at_each_turn() noexcept {
        alert_.set_always();
        countdown_.cut_short();
    }

    // --- waiting ---

    /// Turns until something happened or the time is over (< 0: none).
    int wait(Nanoseconds timeout);
    /// One step of a wait, to be repeated until it is over. Where cores are short it gives the core
    /// to those that are waited for, and after some time sleeps.
    Step step(Wait& wait) noexcept;
    /// A turn that counts as none: it is in no row of empty ones, over which a caller falls asleep.
    int turn_apart();
    /// How it sleeps, and over what.
    [[nodiscard]] Sleeper& sleeper() noexcept { return sleeper_; }

    void set_idle(Idle idle) noexcept { idle_ = idle; }
    /// How often a collective looks for others before it asks for a step.
    [[nodiscard]] unsigned looks() const noexcept { return core_.looks(sleeper_.is_shared()); }
    [[nodiscard]] const CoreShare& core() const noexcept { return core_; }
    /// In a child of fork(): nothing that is shared is touched any more, and all turns that find
    /// nothing end with this error.
    void stop(int error) noexcept;

private:
    int nothing_found() noexcept;
    [[gnu::noinline]] void look_up() noexcept;
    void wake_up() noexcept;
    [[nodiscard]] unsigned poll_network();
    void plan() noexcept;
    void ask(unsigned expected, bool polled) noexcept;
    [[nodiscard]] bool went_on(const Signs& signs) noexcept;
    void follow(const WaitStep& step, Nanoseconds most) noexcept;
    [[nodiscard]] bool give_core_to_others(Wait& wait);

    Countdown countdown_;
    Alert alert_;
    bool is_crowded_ = false;
    Idle idle_ = Idle::may_sleep;
    int stopped_ = 0;            // the error
    ddi::Device& device_;
    Host& host_;
    Worker& worker_;
    Counters& counters_;
    std::uint64_t begun_ = 0;    // as Signs::begun, at the last empty turn that was judged
    BusyPolls busy_polls_;
    CoreShare core_;
    Asking asking_;
    Sleeper sleeper_;
};

}  // namespace fci::progress
