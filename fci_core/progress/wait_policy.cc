// SPDX-License-Identifier: BSD-3-Clause
#include "fci_core/progress/wait_policy.h"

#include <sched.h>
#include <time.h>

#include <algorithm>

#include "fci_core/base/assert.h"

namespace fci::progress {

namespace {
// A message from the other core may be just arriving, and a switch to another process costs about
// a microsecond; but while this one spins, none of those runs that it may wait for.
constexpr Nanoseconds kSpinBeforeYield = 200;
// MPICH comes back after 50-100 ns. A caller that takes longer gives the core away by itself (Open
// MPI: 150 to 350 ns, where nobody wants it), or computes. To do that for it, too, would double
// what each of its looks costs; but it may also be slow and not yield, so it is done now and then.
// Who was away for still longer did give it away, and somebody took it; or it computes. A call that
// has asked the network has spent as much as a yield costs, so it yields at once.
constexpr Nanoseconds kPausingCaller = 130;
constexpr Nanoseconds kAwayCaller = 1'000;
static_assert(kSpinBeforeYield > kPausingCaller && kPausingCaller < kAwayCaller);
constexpr unsigned kPausesBeforeYield = 32;
constexpr unsigned kPausesForYield = 16;
constexpr unsigned kSpinsBeforeClock = 2;   // of turn(), before it asks for the time
constexpr unsigned kSpinsBeforeYield = 16;  // of wait(), which does nothing else in between
// While the others sleep there are cores enough; but two that wait for a sleeper must not spin on,
// and one that was just woken looks asleep until it has got a core.
constexpr unsigned kSpinsAmongSleepers = 20'000;
constexpr unsigned kYieldAmongSleepersEvery = 16;
// Two that spin on one core lose half of their time, and a third where the kernel moves a third one
// to and fro between two cores; a daemon takes less.
constexpr Nanoseconds kWatch = 20'000'000;
constexpr Nanoseconds kLostThatTells = 4;  // one part in so many
// One that spins among others that yield loses a seventh where there are three: each of them gives
// the core back at once, but the kernel asks them in turn, at each of its ticks, 4 ms or less, as
// long as they wait. A daemon that comes as often takes less each time, and others do not stay.
constexpr Nanoseconds kTurnOfOthers = 5'500'000;
constexpr Nanoseconds kLossOfTurn = 150'000;
constexpr Nanoseconds kLostInTurns = 12;  // one part in so many
constexpr unsigned kWatchesInTurns = 3;  // in a row
static_assert(kWatch / kTurnOfOthers == 3, "a core of its own was taken so often in 20 ms");
constexpr Nanoseconds kSharingLastsFirst = 50'000'000;  // then spinning is tried again
constexpr Nanoseconds kSharingLastsMost = 2'000'000'000;
static_assert(kSharingLastsFirst > kWatch && kSharingLastsFirst < kSharingLastsMost);
constexpr unsigned kYieldsBeforeSleep = 64;
static_assert(kYieldsBeforeSleep / 16 != 0, "wait() yields before it sleeps");
// A caller that was seen to go on by itself after n looks gets so many times n before it sleeps, or
// gives its core away. The most: if it waits after all, it costs a tenth of a second of its core's
// time until it sleeps, and three slices (progress/slice.h) until it yields.
constexpr unsigned kPatience = 2;
constexpr unsigned kPatienceMost = 100'000;
constexpr unsigned kPatienceBeforeYield = 4'000;
static_assert(kPatienceBeforeYield < kPatienceMost && kPatienceMost % kPatience == 0);
// Who yields among others that wait has done so 64 times within half a millisecond. A virtual
// machine may lose a core for longer, and nobody profits from the sleep: whom all wait for must
// then wake them one by one.
constexpr Nanoseconds kYieldsLast = 4'000'000;
// Whoever always uses more processor time than this from one empty turn to the next has something
// else to do. Of so many, the least counts: switches cost time, too, caches may be cold, and an MPI
// does more now and then.
constexpr Nanoseconds kBusyCaller = 5'000;
constexpr unsigned kAsksJudged = 4;
// What does not wake a sleeper: another thread that completes what the caller waits for too, events
// of the MPI above (a spawned job, a file), a flag in memory. Whoever has asked for so long in vain
// can stand to hear of that later by a sixteenth; and not by more than the most, which is also how
// often the report page is to be written. Messages, connections, deaths and timers wake it at once.
constexpr Nanoseconds kShareOfWait = 16;
constexpr Nanoseconds kTurnSleepMost = 50'000'000;
static_assert(kShortSleep < kTurnSleepMost);
// All that share a core may use this part of it between their sleeps. A caller that does not wait
// but looks by the way, with less work between two looks than kBusyCaller, is then slowed down by
// that factor and not by sleep over look: HPCC's RandomAccess looks before each of its updates, and
// sends after a thousand of them.
constexpr Nanoseconds kShareAwake = 32;
// At most, where FCI_WAIT says sleep: who sleeps so long has asked in vain for a second, and was
// told not to mind what that costs one who looks by the way.
constexpr Nanoseconds kAwakeMost = 300'000;
static_assert(kAwakeMost > kShortSleep / kShareAwake && kAwakeMost < kTurnSleepMost / kShareAwake);
constexpr Nanoseconds kAsk = 100;  // what asking here takes, beside the caller's time
constexpr Nanoseconds kWaitSleep = 100'000'000;
constexpr unsigned kNapsMost = 8;
constexpr Nanoseconds kNap = 2'000'000;
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
    spins_ = kSpinsBeforeClock + std::min(patience_, kPatienceBeforeYield);
    FCI_ASSERT(act_ != WaitMode::automatic && (mode_ == WaitMode::automatic || act_ == mode_));
    FCI_ASSERT(spins_ >= kSpinsBeforeClock);
}

bool WaitPolicy::wants_watch(Nanoseconds now) const noexcept {
    const Nanoseconds since = now - watched_.at;
    return mode_ == WaitMode::automatic && local_ranks_ <= cores_ && since >= kWatch;
}

void WaitPolicy::watch(const Losses& losses, Nanoseconds now) noexcept {
    const Nanoseconds since = now - watched_.at, lost = losses.time - watched_.losses.time;
    const std::uint64_t times = losses.times - watched_.losses.times;
    // Other threads have losses of their own, so what is counted may jump; and a long gap means
    // that the process did something else.
    const bool says_something =
        losses.time >= 0 && lost >= 0 && lost <= since && since < 4 * kWatch;
    watched_.losses = losses;
    watched_.at = now;
    const auto turns = static_cast<Nanoseconds>(times);
    const bool in_turns = turns > since / kTurnOfOthers && lost > turns * kLossOfTurn &&
                          lost > since / kLostInTurns;
    watched_.in_turns = says_something && in_turns ? watched_.in_turns + 1 : 0;
    const bool takes_turns = !shares_core_ && watched_.in_turns >= kWatchesInTurns;
    const bool shares = says_something && (takes_turns || lost > since / kLostThatTells);
    if (shares_core_) {
        shares_core_ = shares || now < watched_.shares_until;
    } else if (shares) {
        shares_core_ = true;
        sharing_lasts_ = std::clamp(2 * sharing_lasts_, kSharingLastsFirst, kSharingLastsMost);
        watched_.shares_until = now + sharing_lasts_;
    } else if (says_something) {
        sharing_lasts_ = 0;
    }
    choose();
}

void WaitPolicy::went_on(unsigned empty_turns) noexcept {
    const unsigned looks = std::min(empty_turns, kPatienceMost / kPatience);
    set_patience(std::max(patience_, kPatience * looks));
}

void WaitPolicy::set_patience(unsigned empty_turns) noexcept {
    FCI_ASSERT(empty_turns <= kPatienceMost);
    patience_ = empty_turns;
    choose();
}

void WaitPolicy::set_local_ranks(unsigned local_ranks) noexcept {
    if (local_ranks <= local_ranks_) return;
    local_ranks_ = local_ranks;
    choose();
}

WaitStep WaitPolicy::turn(unsigned empty_turns, Nanoseconds now, bool polled) noexcept {
    if (act_ == WaitMode::spin || empty_turns <= spins_) return {};
    if (empty_turns == spins_ + 1) {
        spun_ = 0;
        asks_ = 0;
        awake_ = 0;
    }
    if (mode_ == WaitMode::automatic && local_ranks_ <= cores_ + asleep_ && !shares_core_ &&
        empty_turns <= kSpinsAmongSleepers) {
        const bool yields = empty_turns % kYieldAmongSleepersEvery == 0;
        return {yields ? WaitAction::yield : WaitAction::spin, 0};
    }
    if (act_ == WaitMode::sleep && expected_.peers != 0 && expected_.naps < kNapsMost) {
        ++expected_.naps;
        return {WaitAction::sleep, kNap};
    }
    const Nanoseconds pause = now - resumed_;
    if (empty_turns > spins_ + 1 && pause < kPausingCaller) {
        spun_ += pause;
    }
    if (awake_ > 0) {
        // Whoever was away for longer had lost the core.
        awake_ -= std::min(pause, kBusyCaller) + kAsk;
        return {};
    }
    const bool spins = spun_ < kSpinBeforeYield && empty_turns <= spins_ + kPausesBeforeYield;
    if (spins && !polled) return {};
    if (asks_++ == 0) asks_since_ = now;
    const bool is_early = mode_ == WaitMode::automatic &&
                          (now - asks_since_ < kYieldsLast || empty_turns < patience_);
    if (asks_ == kYieldsBeforeSleep && is_early) --asks_;
    if (act_ != WaitMode::sleep || asks_ <= kYieldsBeforeSleep) {
        const bool now_and_then = empty_turns % kPausesForYield == 0 && pause < kAwayCaller;
        if (pause >= kPausingCaller && !now_and_then && !polled) return {};
        return {WaitAction::yield, 0};
    }
    if (asks_ <= kYieldsBeforeSleep + kAsksJudged) return {};
    if (least_used_ > kBusyCaller) {
        asks_ = 0;
        return {WaitAction::yield, 0};
    }
    asks_ = kYieldsBeforeSleep;
    set_patience(patience_ - patience_ / 8);  // it may have become one that waits
    sleeps_since_ = now;
    const Nanoseconds asked = now - asks_since_;
    return {WaitAction::sleep, std::clamp(asked / kShareOfWait, kShortSleep, kTurnSleepMost)};
}

void WaitPolicy::resumed(Nanoseconds now) noexcept {
    resumed_ = now;
    if (sleeps_since_ == 0) return;
    const Nanoseconds slept = now - sleeps_since_, ranks = (local_ranks_ + cores_ - 1) / cores_;
    sleeps_since_ = 0;
    awake_ = std::min(slept, kWaitSleep) / (kShareAwake * ranks);
    if (mode_ == WaitMode::sleep) awake_ = std::min(awake_, kAwakeMost);
}

bool WaitPolicy::wants_used_time() const noexcept {
    return act_ == WaitMode::sleep && asks_ >= kYieldsBeforeSleep && awake_ <= 0;
}

void WaitPolicy::used_time(Nanoseconds used) noexcept {
    const bool first = asks_ == kYieldsBeforeSleep;
    least_used_ = first ? kBusyCaller + 1 : std::min(least_used_, used - used_);
    used_ = used;
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

Nanoseconds used_time() noexcept {
    timespec used{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
    return Nanoseconds{used.tv_sec} * 1'000'000'000 + used.tv_nsec;
}

}  // namespace fci::progress
