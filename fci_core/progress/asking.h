// SPDX-License-Identifier: BSD-3-Clause
// Asking: what the empty turns of a caller do that asks again and again, by calls that do not block
// (§2.7.4-2.7.6). Where cores are short it yields, and soon sleeps until a message wakes it. Pure
// logic: counts and times are arguments.
#pragma once

#include "fci_core/progress/core_share.h"
#include "fci_core/progress/wait_step.h"

namespace fci::progress {

class Asking {
public:
    /// `core` outlives it.
    explicit Asking(const CoreShare& core) noexcept;

    /// A nonblocking call found nothing, for the `empty_turns`-th time in a row. Sleeps are for
    /// callers that do nothing but ask: one that computes between two calls does not lose its core.
    /// They grow as it goes on asking, and begin again short whenever something happened. After
    /// each it may ask on for a share of that time: it may do a little between two calls all the
    /// same, and what the others wait for may be at the end of many such. `polled`: this one
    /// has asked a network.
    WaitStep turn(unsigned empty_turns, Nanoseconds now, bool polled) noexcept;
    /// turn() wants to be told first how much processor time this thread has used so far: a caller
    /// that computes between two calls uses it, and one that gives the core away there does not.
    [[nodiscard]] bool wants_used_time() const noexcept;
    void used_time(Nanoseconds used) noexcept;
    /// The caller is back from what turn() advised.
    void resumed(Nanoseconds now) noexcept;
    /// After `empty_turns` calls in a row that found nothing, the caller went on by itself: it sent
    /// something. So it did not wait, but looks between its own steps, and neither loses its core
    /// nor sleeps before it has looked in vain for longer than that.
    void went_on(unsigned empty_turns) noexcept;

    /// Empty turns in a row for which turn() has no other advice than to spin, and need not be
    /// asked.
    [[nodiscard]] unsigned spins() const noexcept {
        return core_.gives_core_away() ? spins_ : ~0u;
    }
    /// As many peers were asked for and not met so far. Where cores are short each of them needs
    /// one for its next step, and each step wakes a sleeper: so turn() soon sleeps for a moment. A
    /// few times only while their number stays as it is: they may compute.
    void set_expected(unsigned peers) noexcept {
        if (peers != expected_.peers) expected_ = {peers, 0};
    }

private:
    [[nodiscard]] bool takes_nap() noexcept;
    [[nodiscard]] WaitStep sleep(Nanoseconds now) noexcept;
    void set_patience(unsigned empty_turns) noexcept;

    const CoreShare& core_;
    unsigned spins_ = 0;
    struct {
        unsigned peers = 0;
        unsigned naps = 0;           // while these were so many
    } expected_;
    unsigned asks_ = 0;              // in a row, and back for some more after each sleep
    Nanoseconds asks_since_ = 0;
    Nanoseconds used_ = 0;           // when it was last asked for
    Nanoseconds least_used_ = 0;     // from one ask to the next
    Nanoseconds spun_ = 0;           // in this row, by callers that did nothing else
    Nanoseconds resumed_ = 0;
    Nanoseconds sleeps_since_ = 0;   // 0: turn() advised something else
    Nanoseconds awake_ = 0;          // that it may go on asking before the next sleep
    unsigned patience_ = 0;          // empty turns in a row of a caller that does not wait
};

}  // namespace fci::progress
