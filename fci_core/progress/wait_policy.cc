#include "fci_core/progress/wait_policy.h"

#include <sched.h>

#include <algorithm>

namespace fci::progress {

namespace {
// An empty turn costs 10-50 ns, a switch to another process about a microsecond.
constexpr unsigned kSpinsBeforeYield = 16;
// Who shares a core that should be its own has it most of the time.
constexpr unsigned kSpinsWhereShared = 256;
// While the others sleep there are cores enough; but two that wait for a sleeper must not spin on.
constexpr unsigned kSpinsAmongSleepers = 20'000;
// Two that spin on one core lose it every 4 ms or so; with a core of one's own it is rare.
constexpr Nanoseconds kWatch = 20'000'000;
constexpr long kSwitchesThatTell = 3;
constexpr Nanoseconds kSharingLasts = 2'000'000'000;  // then spinning is tried again
constexpr unsigned kYieldsBeforeSleep = 64;
// Whoever comes back later than this after an empty turn had something else to do.
constexpr Nanoseconds kBusyCaller = 5'000;
constexpr Nanoseconds kTurnSleep = 500'000;
constexpr Nanoseconds kWaitSleep = 100'000'000;
constexpr Nanoseconds kSpinBeforeSleep = 1'000'000;  // of a blocking call with a core of its own
}  // namespace

WaitPolicy::WaitPolicy(std::string_view mode, unsigned local_ranks, unsigned cores) noexcept
    : mode_(mode == "spin"    ? WaitMode::spin
            : mode == "yield" ? WaitMode::yield
            : mode == "sleep" ? WaitMode::sleep
                              : WaitMode::automatic),
      local_ranks_(std::max(local_ranks, 1u)),
      cores_(std::max(cores, 1u)) {
    choose();
}

void WaitPolicy::choose() noexcept {
    act_ = mode_ != WaitMode::automatic              ? mode_
           : local_ranks_ <= cores_ && !shares_core_ ? WaitMode::spin
                                                     : WaitMode::sleep;
    spins_ = mode_ == WaitMode::automatic && local_ranks_ <= cores_ ? kSpinsWhereShared
                                                                    : kSpinsBeforeYield;
}

bool WaitPolicy::wants_watch(Nanoseconds now) const noexcept {
    const Nanoseconds since = now - watched_;
    return mode_ == WaitMode::automatic && since >= (shares_core_ ? kSharingLasts : kWatch);
}

void WaitPolicy::watch(long switches, Nanoseconds now) noexcept {
    // A long gap means that the process did something else; its switches say nothing then.
    const bool in_time = now - watched_ < 4 * kWatch;
    shares_core_ = !shares_core_ && in_time && switches - switches_ >= kSwitchesThatTell;
    switches_ = switches;
    watched_ = now;
    choose();
}

void WaitPolicy::set_local_ranks(unsigned local_ranks) noexcept {
    if (local_ranks <= local_ranks_) return;
    local_ranks_ = local_ranks;
    choose();
}

WaitStep WaitPolicy::turn(unsigned empty_turns, Nanoseconds now) noexcept {
    if (act_ == WaitMode::spin || empty_turns <= spins_) return {};
    if (mode_ == WaitMode::automatic && local_ranks_ <= cores_ + asleep_ &&
        empty_turns <= kSpinsAmongSleepers) {
        return {};
    }
    eager_askers_ = now - resumed_ < kBusyCaller ? eager_askers_ + 1 : 0;
    if (empty_turns == spins_ + 1) eager_askers_ = 0;
    if (act_ == WaitMode::sleep && eager_askers_ > kYieldsBeforeSleep) {
        return {WaitAction::sleep, kTurnSleep};
    }
    return {WaitAction::yield, 0};
}

WaitStep WaitPolicy::wait(unsigned empty_turns, Nanoseconds waited_ns) const noexcept {
    if (mode_ == WaitMode::spin) return {};
    if (act_ == WaitMode::spin) {
        // A core of its own: spin first, but nobody profits from a whole core spent on a long wait.
        return waited_ns < kSpinBeforeSleep ? WaitStep{} : WaitStep{WaitAction::sleep, kWaitSleep};
    }
    if (empty_turns <= kSpinsBeforeYield) return {};
    if (act_ == WaitMode::yield || empty_turns <= kSpinsBeforeYield + kYieldsBeforeSleep / 16) {
        return {WaitAction::yield, 0};
    }
    return {WaitAction::sleep, kWaitSleep};
}

std::string WaitPolicy::describe() const {
    const char* const how = act_ == WaitMode::spin    ? "spin"
                            : act_ == WaitMode::yield ? "yield"
                                                      : "yield, then sleep";
    return std::string(how) + " (" + (shares_core_ ? "shares its core, " : "") +
           std::to_string(local_ranks_) + " local rank" +
           (local_ranks_ == 1 ? "" : "s") + " on " + std::to_string(cores_) + " core" +
           (cores_ == 1 ? "" : "s") + (mode_ == WaitMode::automatic ? ")" : ", FCI_WAIT)");
}

void give_core_away() noexcept { sched_yield(); }

}  // namespace fci::progress
