// SPDX-License-Identifier: BSD-3-Clause
// WaitStep: what a thread does that found nothing: the advice of Asking and of Blocking.
#pragma once

#include <cstdint>

#include "fci_core/base/status.h"

namespace fci::progress {

enum class WaitAction : std::uint8_t { spin, yield, sleep };

struct WaitStep {
    WaitAction action = WaitAction::spin;
    Nanoseconds sleep_ns = 0;  // at most
};

/// The first sleep of a caller that only asks, and all sleeps of one that asks here by the way:
/// what it waits for may come from elsewhere, and would not wake it.
inline constexpr Nanoseconds kShortSleep = 500'000;

/// Yields after which a caller has waited long enough to sleep, if other signs agree.
inline constexpr unsigned kYieldsBeforeSleep = 64;

}  // namespace fci::progress
