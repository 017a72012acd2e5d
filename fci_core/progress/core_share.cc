// SPDX-License-Identifier: BSD-3-Clause
#include "fci_core/progress/core_share.h"

#include <algorithm>

#include "fci_core/base/assert.h"

namespace fci::progress {

namespace {
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
}  // namespace

CoreShare::CoreShare(std::string_view mode, unsigned local_ranks, unsigned cores) noexcept
    : mode_(mode == "spin"    ? WaitMode::spin
            : mode == "yield" ? WaitMode::yield
            : mode == "sleep" ? WaitMode::sleep
                              : WaitMode::automatic),
      local_ranks_(std::max(local_ranks, 1u)),
      cores_(std::max(cores, 1u)) {
    choose();
}

void CoreShare::choose() noexcept {
    act_ = mode_ != WaitMode::automatic              ? mode_
           : local_ranks_ <= cores_ && !shares_core_ ? WaitMode::spin
                                                     : WaitMode::sleep;
    FCI_ASSERT(act_ != WaitMode::automatic && (is_automatic() || act_ == mode_));
}

void CoreShare::set_local_ranks(unsigned local_ranks) noexcept {
    if (local_ranks <= local_ranks_) return;
    local_ranks_ = local_ranks;
    choose();
}

bool CoreShare::wants_watch(Nanoseconds now) const noexcept {
    const Nanoseconds since = now - watched_.at;
    return is_automatic() && local_ranks_ <= cores_ && since >= kWatch;
}

void CoreShare::watch(const Losses& losses, Nanoseconds now) noexcept {
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

std::string CoreShare::describe() const {
    const char* const how = act_ == WaitMode::spin    ? "spin"
                            : act_ == WaitMode::yield ? "yield"
                                                      : "yield, then sleep";
    return std::string(how) + " (" + (shares_core_ ? "shares its core, " : "") +
           std::to_string(local_ranks_) + " local rank" +
           (local_ranks_ == 1 ? "" : "s") + " on " + std::to_string(cores_) + " core" +
           (cores_ == 1 ? "" : "s") + (is_automatic() ? ")" : ", FCI_WAIT)");
}

}  // namespace fci::progress
