// SPDX-License-Identifier: BSD-3-Clause
// The rules of a meeting that both processes must decide alike, or fairly: arithmetic, without
// sockets or clocks.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "drivers/shm/handshake.h"
#include "fci_core/base/status.h"

namespace fci::shm {

/// How long a peer that does not go on keeps its place while others wait. It grows with each try:
/// where so many processes share a core that none comes back in time, they would otherwise turn
/// each other away for ever.
[[nodiscard]] constexpr Nanoseconds patience_with(std::uint64_t tries) noexcept {
    constexpr Nanoseconds kFirst = 20'000'000;
    constexpr unsigned kDoubles = 6;
    static_assert(kFirst << kDoubles < 2'000'000'000, "a guest has its turn");
    return kFirst << std::min<std::uint64_t>(tries, kDoubles);
}

/// How many peers may send descriptors to this process at a time: callers (`guests`) and peers that
/// it calls (`awaited`). They are so few that `processes` together stay below `limit` descriptors.
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
