// SPDX-License-Identifier: BSD-3-Clause
// Names of things on the network (§2.5.2, App. C).
#pragma once

#include <cstdint>

namespace fci::nhi {

/// A process as this interface numbers it: 0, 1, ... in the order in which peers became known.
/// Numbers are local to a process, unlike the ranks of MPI; 0 is the process itself.
using PeerId = std::uint32_t;
inline constexpr PeerId kSelf = 0;
inline constexpr PeerId kNoPeer = 0xffffffffu;

using WindowNumber = std::uint16_t;
using EventId = std::uint8_t;

inline constexpr WindowNumber kWindowsMax = 16;
inline constexpr EventId kEventsMax = 32;
static_assert(kEventsMax <= 32, "sets of events are 32-bit words");

/// An address of the logical communication space (LCS, §2.5.2). Addresses below kPairLimit name
/// the block that the destination keeps for the writer (§2.6.6: one request block for each pair);
/// a window that is opened by number lies at or above kPairLimit.
enum class LcsAddress : std::uint64_t {};
inline constexpr std::uint64_t kPairLimit = 1ull << 32;

constexpr LcsAddress operator+(LcsAddress base, std::uint64_t bytes) noexcept {
    return LcsAddress{static_cast<std::uint64_t>(base) + bytes};
}

/// How the arrival of an event shows (App. C, NHI_ConfigureEvent).
struct EventSignal {
    bool flag = false;       // a word in process memory counts arrivals
    bool interrupt = false;  // a sleeping process is woken
};

}  // namespace fci::nhi
