// SPDX-License-Identifier: BSD-3-Clause
// WaitPolicy: what an empty turn does (§2.7.4-2.7.6). While there is a core for every process of
// the job on this host, spinning is the fastest; where there are fewer, a process that waits must
// give its core to the one that it waits for: it yields, and soon sleeps until a message wakes it.
// Pure logic: counts and times are arguments.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "fci_core/base/status.h"
#include "fci_core/progress/losses.h"
#include "fci_core/progress/surroundings.h"

namespace fci::progress {

enum class WaitMode : std::uint8_t { automatic, spin, yield, sleep };
enum class WaitAction : std::uint8_t { spin, yield, sleep };

struct WaitStep {
    WaitAction action = WaitAction::spin;
    Nanoseconds sleep_ns = 0;  // at most
};

/// The first sleep of a caller that only asks, and all sleeps of one that asks here by the way:
/// what it waits for may come from elsewhere, and would not wake it.
inline constexpr Nanoseconds kShortSleep = 500'000;

class WaitPolicy {
public:
    /// `mode` as FCI_WAIT says it. `local_ranks` 0: unknown, then what set_local_ranks() learns.
    WaitPolicy(std::string_view mode, unsigned local_ranks, unsigned cores) noexcept;

    /// A nonblocking call found nothing, for the `empty_turns`-th time in a row. Sleeps are for
    /// callers that do nothing but ask: one that computes between two calls does not lose its core.
    /// They grow as it goes on asking, and begin again short whenever something happened. After
    /// each it may ask on for a share of that time: it may do a little between two calls all the
    /// same, and what the others wait for may be at the end of many such. `polled`: this one
    /// has asked a network.
    WaitStep turn(unsigned empty_turns, Nanoseconds now, bool polled) noexcept;
    /// turn() wants to be told first how much processor time this thread has used so far: whoever
    /// computes between two calls uses it, and who gives the core away there as well does not.
    [[nodiscard]] bool wants_used_time() const noexcept;
    void used_time(Nanoseconds used) noexcept;
    /// The caller is back from what turn() advised.
    void resumed(Nanoseconds now) noexcept;
    /// After `empty_turns` calls in a row that found nothing, the caller went on by itself: it sent
    /// something. So it did not wait, but looks between its own steps, and neither loses its core
    /// nor sleeps before it has looked in vain for longer than that.
    void went_on(unsigned empty_turns) noexcept;

    /// A blocking call found nothing, for the `empty_turns`-th time, since `waited_ns`.
    [[nodiscard]] WaitStep wait(unsigned empty_turns, Nanoseconds waited_ns) const noexcept;

    /// Of a step of a wait (Process::step): so often it looks while nobody that is waited for needs
    /// the core. A look takes as long as a message, a change of process ten times that.
    static constexpr unsigned kLooksOfStep = 60;
    /// How often a collective looks for others before it asks for a step; with a pause in each.
    /// `shared`: other threads of this process wait meanwhile.
    [[nodiscard]] unsigned looks(bool shared) const noexcept {
        return gives_core_away() ? 1 : shared ? kLooksAmongThreads : kLooksAlone;
    }
    /// After so many yields of a wait it may be like any other, if it has taken long.
    static constexpr unsigned kYieldsOfWait = 64;
    [[nodiscard]] static bool is_long(Nanoseconds waited) noexcept { return waited >= kWaitYields; }
    /// Of who may not be woken: it looks by itself.
    static constexpr Nanoseconds kStrangerSleepMost = 2'000'000;
    static constexpr Nanoseconds kWaitSleepMost = 50'000'000;
    [[nodiscard]] static Nanoseconds sleep_of_wait(Nanoseconds waited) noexcept {
        return waited / 16 < kShortSleep ? kShortSleep : waited / 16;
    }

    /// There is no core for each process of the job on this host, or the user says so.
    [[nodiscard]] bool gives_core_away() const noexcept { return act_ != WaitMode::spin; }
    /// Empty turns in a row for which turn() has no other advice than to spin, and need not be
    /// asked.
    [[nodiscard]] unsigned spins() const noexcept {
        return gives_core_away() ? spins_ : ~0u;
    }
    /// As many processes of this host as are known by now; the number only grows.
    void set_local_ranks(unsigned local_ranks) noexcept;
    [[nodiscard]] unsigned cores() const noexcept { return cores_; }
    /// As many of them sleep just now: while there are cores for those that do not, there is no
    /// need to give one away.
    void set_asleep(unsigned asleep) noexcept { asleep_ = asleep; }
    /// As many peers were asked for and not met so far. Where cores are short each of them needs
    /// one for its next step, and each step wakes who sleeps: so turn() soon sleeps for a moment. A
    /// few times only while their number stays as it is: they may compute.
    void set_expected(unsigned peers) noexcept {
        if (peers != expected_.peers) expected_ = {peers, 0};
    }
    /// What this thread has lost so far. One that spins and loses much of its time shares its core,
    /// whatever the numbers of ranks and cores say; so does one that loses less, but its core at
    /// each tick of the kernel, and goes on to. A short loss, as by any daemon, says nothing. While
    /// it gives its core away and loses as much all the same, others want it: one that spun among
    /// those would lose little, and they their turns. Else spinning is tried again soon, and each
    /// time that it turns out too early, twice as late as before.
    void watch(const Losses& losses, Nanoseconds now) noexcept;
    [[nodiscard]] bool wants_watch(Nanoseconds now) const noexcept;
    /// "spin (2 local ranks on 2 cores)"
    [[nodiscard]] std::string describe() const;

private:
    // So many yields are over in a moment where others wait, too. Then nobody profits from a sleep:
    // whoever comes last would wake all, one by one.
    static constexpr Nanoseconds kWaitYields = 1'000'000;
    static constexpr unsigned kLooksAlone = 1024, kLooksAmongThreads = 64;

    void choose() noexcept;
    void set_patience(unsigned empty_turns) noexcept;

    WaitMode mode_;
    WaitMode act_ = WaitMode::spin;  // never automatic
    unsigned spins_ = 0;
    unsigned local_ranks_;
    unsigned cores_;
    unsigned asleep_ = 0;
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
    bool shares_core_ = false;
    Nanoseconds sharing_lasts_ = 0;  // before spinning is tried again
    struct {
        Nanoseconds at = 0, shares_until = 0;
        Losses losses{0, 0};
        unsigned in_turns = 0;       // watches in a row that saw it lose its core at each tick
    } watched_;                      // when last, and what was known then
};

void give_core_away() noexcept;
/// Processor time of this thread.
Nanoseconds used_time() noexcept;

}  // namespace fci::progress
