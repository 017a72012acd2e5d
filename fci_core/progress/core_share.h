// SPDX-License-Identifier: BSD-3-Clause
// CoreShare: whether a thread shares its core (§2.7.4-2.7.6). While there is a core for every
// process of the job on this host, spinning is the fastest; where there are fewer, a process that
// waits must give its core to the one that it waits for. Pure logic: counts and times are
// arguments.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "fci_core/base/status.h"
#include "fci_core/progress/losses.h"

namespace fci::progress {

enum class WaitMode : std::uint8_t { automatic, spin, yield, sleep };

class CoreShare {
public:
    /// `mode` as FCI_WAIT says it. `local_ranks` 0: unknown, then what set_local_ranks() learns.
    CoreShare(std::string_view mode, unsigned local_ranks, unsigned cores) noexcept;

    /// How a thread waits now; never automatic.
    [[nodiscard]] WaitMode act() const noexcept { return act_; }
    /// The user left it to what is known of ranks, cores and losses.
    [[nodiscard]] bool is_automatic() const noexcept { return mode_ == WaitMode::automatic; }
    [[nodiscard]] WaitMode mode() const noexcept { return mode_; }
    /// There is no core for each process of the job on this host, or the user says so.
    [[nodiscard]] bool gives_core_away() const noexcept { return act_ != WaitMode::spin; }

    [[nodiscard]] unsigned cores() const noexcept { return cores_; }
    [[nodiscard]] unsigned ranks_per_core() const noexcept {
        return (local_ranks_ + cores_ - 1) / cores_;
    }
    /// As many processes of this host as are known by now; the number only grows.
    void set_local_ranks(unsigned local_ranks) noexcept;
    /// As many of them sleep just now.
    void set_asleep(unsigned asleep) noexcept { asleep_ = asleep; }
    /// There are cores for those that do not sleep, so there is no need to give one away.
    [[nodiscard]] bool is_enough_for_awake() const noexcept {
        return is_automatic() && local_ranks_ <= cores_ + asleep_ && !shares_core_;
    }

    /// The losses of this thread so far. One that spins and loses much of its time shares its core,
    /// even if there are cores for all ranks; so does one that loses less, but its core at
    /// each tick of the kernel, and goes on to. A short loss, as by any daemon, says nothing. A
    /// thread that yields and still loses its core has rivals: spinning would cost it little and
    /// them their turns. Else spinning is tried again soon, and each time that it turns out too
    /// early, twice as late as before.
    void watch(const Losses& losses, Nanoseconds now) noexcept;
    [[nodiscard]] bool wants_watch(Nanoseconds now) const noexcept;

    /// How often a collective looks for others before it asks for a step; with a pause in each.
    /// `shared`: other threads of this process wait meanwhile.
    [[nodiscard]] unsigned looks(bool shared) const noexcept {
        return gives_core_away() ? 1 : shared ? kLooksAmongThreads : kLooksAlone;
    }
    /// "spin (2 local ranks on 2 cores)"
    [[nodiscard]] std::string describe() const;

private:
    static constexpr unsigned kLooksAlone = 1024, kLooksAmongThreads = 64;

    void choose() noexcept;

    WaitMode mode_;
    WaitMode act_ = WaitMode::spin;
    unsigned local_ranks_;
    unsigned cores_;
    unsigned asleep_ = 0;
    bool shares_core_ = false;
    Nanoseconds sharing_lasts_ = 0;  // before spinning is tried again
    struct {
        Nanoseconds at = 0, shares_until = 0;
        Losses losses{0, 0};
        unsigned in_turns = 0;       // watches in a row that saw it lose its core at each tick
    } watched_;                      // when last, and what was known then
};

}  // namespace fci::progress
