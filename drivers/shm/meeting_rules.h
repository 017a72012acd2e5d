// SPDX-License-Identifier: BSD-3-Clause
// What two processes that meet have to decide alike, or fairly: arithmetic, without sockets or
// clocks.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "drivers/shm/handshake.h"
#include "fci_core/base/status.h"

namespace fci::shm {

/// Before one that does not go on makes room for others that wait. It grows with each try: where so
/// many share a core that nobody comes back in time, all would turn each other away for ever.
[[nodiscard]] constexpr Nanoseconds patience_with(std::uint64_t tries) noexcept {
    constexpr Nanoseconds kFirst = 20'000'000;
    constexpr unsigned kDoubles = 6;
    static_assert(kFirst << kDoubles < 2'000'000'000, "a guest has its turn");
    return kFirst << std::min<std::uint64_t>(tries, kDoubles);
}

/// How many may send descriptors to this process at a time, of those who came in and of those whom
/// it wants to meet: so few that `processes` together stay below `limit` descriptors.
struct MeetingShare {
    std::size_t guests, awaited;
};
[[nodiscard]] constexpr MeetingShare share_of(std::size_t limit, std::size_t processes) noexcept {
    constexpr std::size_t kMost = 32;
    const std::size_t all = limit / (kHelloFiles * std::max<std::size_t>(processes, 1));
    const std::size_t mine = std::clamp<std::size_t>(all, 2, kMost);
    return {mine - mine / 2, mine / 2};
}

}  // namespace fci::shm
