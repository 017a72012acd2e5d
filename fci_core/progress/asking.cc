// SPDX-License-Identifier: BSD-3-Clause
#include "fci_core/progress/asking.h"

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
// One that was away for still longer did give it away, and somebody took it; or it computes. A call
// that has asked the network has spent as much as a yield costs, so it yields at once.
constexpr Nanoseconds kPausingCaller = 130;
constexpr Nanoseconds kAwayCaller = 1'000;
static_assert(kSpinBeforeYield > kPausingCaller && kPausingCaller < kAwayCaller);
constexpr unsigned kPausesBeforeYield = 32;
constexpr unsigned kPausesForYield = 16;
constexpr unsigned kSpinsBeforeClock = 2;   // of turn(), before it asks for the time
// While the others sleep there are cores enough; but two that wait for a sleeper must not spin on,
// and one that was just woken looks asleep until it has got a core.
constexpr unsigned kSpinsAmongSleepers = 20'000;
constexpr unsigned kYieldAmongSleepersEvery = 16;
// A caller that was seen to go on by itself after n looks gets so many times n before it sleeps, or
// gives its core away. The most: if it waits after all, it costs a tenth of a second of its core's
// time until it sleeps, and three slices (progress/slice.h) until it yields.
constexpr unsigned kPatience = 2;
constexpr unsigned kPatienceMost = 100'000;
constexpr unsigned kPatienceBeforeYield = 4'000;
static_assert(kPatienceBeforeYield < kPatienceMost && kPatienceMost % kPatience == 0);
// A caller that yields among others that wait has done so 64 times within half a millisecond. A
// virtual machine may lose a core for longer, and nobody profits from the sleep: the one for which
// all wait must then wake them one by one.
constexpr Nanoseconds kYieldsLast = 4'000'000;
// A caller that always uses more processor time than this from one empty turn to the next has
// something else to do. Of so many, the least counts: switches cost time, too, caches may be cold,
// and an MPI does more now and then.
constexpr Nanoseconds kBusyCaller = 5'000;
constexpr unsigned kAsksJudged = 4;
// Some things do not wake a sleeper: another thread that completes what the caller waits for too,
// events of the MPI above (a spawned job, a file), a flag in memory. A caller that has asked for so
// long in vain can stand to hear of them later by a sixteenth; and not by more than the most, which
// is also how often the report page is to be written. Messages, connections, deaths and timers wake
// it at once.
constexpr Nanoseconds kShareOfWait = 16;
constexpr Nanoseconds kTurnSleepMost = 50'000'000;
static_assert(kShortSleep < kTurnSleepMost);
// All that share a core may use this part of it between their sleeps. A caller that does not wait
// but looks by the way, with less work between two looks than kBusyCaller, is then slowed down by
// that factor and not by sleep over look: HPCC's RandomAccess looks before each of its updates, and
// sends after a thousand of them.
constexpr Nanoseconds kShareAwake = 32;
constexpr Nanoseconds kSleepCounted = 100'000'000;  // a longer one gives no larger share
// At most, where FCI_WAIT says sleep: a caller that sleeps so long has asked in vain for a second,
// and was told not to mind what that costs one that looks by the way.
constexpr Nanoseconds kAwakeMost = 300'000;
static_assert(kAwakeMost > kShortSleep / kShareAwake && kAwakeMost < kTurnSleepMost / kShareAwake);
constexpr Nanoseconds kAsk = 100;  // what asking here takes, beside the caller's time
constexpr unsigned kNapsMost = 8;
constexpr Nanoseconds kNap = 2'000'000;
}  // namespace

Asking::Asking(const CoreShare& core) noexcept : core_(core) { set_patience(0); }

void Asking::went_on(unsigned empty_turns) noexcept {
    const unsigned looks = std::min(empty_turns, kPatienceMost / kPatience);
    set_patience(std::max(patience_, kPatience * looks));
}

void Asking::set_patience(unsigned empty_turns) noexcept {
    FCI_ASSERT(empty_turns <= kPatienceMost);
    patience_ = empty_turns;
    spins_ = kSpinsBeforeClock + std::min(patience_, kPatienceBeforeYield);
    FCI_ASSERT(spins_ >= kSpinsBeforeClock);
}

WaitStep Asking::turn(unsigned empty_turns, Nanoseconds now, bool polled) noexcept {
    if (!core_.gives_core_away() || empty_turns <= spins_) return {};
    if (empty_turns == spins_ + 1) {
        spun_ = 0;
        asks_ = 0;
        awake_ = 0;
    }
    if (core_.is_enough_for_awake() && empty_turns <= kSpinsAmongSleepers) {
        const bool yields = empty_turns % kYieldAmongSleepersEvery == 0;
        return {yields ? WaitAction::yield : WaitAction::spin, 0};
    }
    if (takes_nap()) return {WaitAction::sleep, kNap};
    const Nanoseconds pause = now - resumed_;
    if (empty_turns > spins_ + 1 && pause < kPausingCaller) spun_ += pause;
    if (awake_ > 0) {
        // A caller that was away for longer had lost the core.
        awake_ -= std::min(pause, kBusyCaller) + kAsk;
        return {};
    }
    const bool spins = spun_ < kSpinBeforeYield && empty_turns <= spins_ + kPausesBeforeYield;
    if (spins && !polled) return {};
    if (asks_++ == 0) asks_since_ = now;
    const bool is_early =
        core_.is_automatic() && (now - asks_since_ < kYieldsLast || empty_turns < patience_);
    if (asks_ == kYieldsBeforeSleep && is_early) --asks_;
    if (core_.act() != WaitMode::sleep || asks_ <= kYieldsBeforeSleep) {
        const bool now_and_then = empty_turns % kPausesForYield == 0 && pause < kAwayCaller;
        if (pause >= kPausingCaller && !now_and_then && !polled) return {};
        return {WaitAction::yield, 0};
    }
    if (asks_ <= kYieldsBeforeSleep + kAsksJudged) return {};
    if (least_used_ > kBusyCaller) {
        asks_ = 0;
        return {WaitAction::yield, 0};
    }
    return sleep(now);
}

bool Asking::takes_nap() noexcept {
    if (core_.act() != WaitMode::sleep || expected_.peers == 0 || expected_.naps >= kNapsMost) {
        return false;
    }
    ++expected_.naps;
    return true;
}

WaitStep Asking::sleep(Nanoseconds now) noexcept {
    asks_ = kYieldsBeforeSleep;
    set_patience(patience_ - patience_ / 8);  // it may have become one that waits
    sleeps_since_ = now;
    const Nanoseconds asked = now - asks_since_;
    return {WaitAction::sleep, std::clamp(asked / kShareOfWait, kShortSleep, kTurnSleepMost)};
}

void Asking::resumed(Nanoseconds now) noexcept {
    resumed_ = now;
    if (sleeps_since_ == 0) return;
    const Nanoseconds slept = now - sleeps_since_, ranks = core_.ranks_per_core();
    FCI_ASSERT(ranks != 0);
    sleeps_since_ = 0;
    awake_ = std::min(slept, kSleepCounted) / (kShareAwake * ranks);
    if (core_.mode() == WaitMode::sleep) awake_ = std::min(awake_, kAwakeMost);
}

bool Asking::wants_used_time() const noexcept {
    return core_.act() == WaitMode::sleep && asks_ >= kYieldsBeforeSleep && awake_ <= 0;
}

void Asking::used_time(Nanoseconds used) noexcept {
    const bool first = asks_ == kYieldsBeforeSleep;
    least_used_ = first ? kBusyCaller + 1 : std::min(least_used_, used - used_);
    used_ = used;
}

}  // namespace fci::progress
