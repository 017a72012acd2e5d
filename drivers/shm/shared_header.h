// SPDX-License-Identifier: BSD-3-Clause
// SharedHeader: the words that a process shares with every peer (§2.5.2 windows; App. C events).
//
//   words                         | written by | read by
//   identity, window              | owner      | peers
//   wanted_events, counting,      | owner      | peers, after every transfer that raises
//     interrupting                |            |
//   copying                       | owner      | peers that close
//   rung_cycle, count             | peers      | peers; owner (count)
//
// A peer that raises an event reads one word, `wanted_events`; it is 0 in the lower half while the
// owner neither counts nor sleeps. The sleeper pays for that: it makes all other processors pass a
// barrier before it looks for the last time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "fci_core/nhi/types.h"

namespace fci::shm {

inline constexpr std::uint64_t kSharedHeaderMagic = 0x3142554849434600ull;

/// The generation is odd while the window is open and grows with every change.
struct WindowEntry {
    std::uint64_t generation;
    std::uint64_t base, bytes;
    std::uint64_t offset;  // in the communication memory
};

struct SharedHeader {
    // Identity: constant.
    std::uint64_t magic;
    std::uint64_t incarnation;
    std::uint32_t header_bytes;
    std::uint32_t senders_fence;  // the owner has no way to make others pass a barrier

    // The incarnation of the process whose memory the owner copies just now; 0: none (guard.h).
    std::uint64_t copying;

    // Lower half: the events that count or interrupt. Upper half: grows whenever the owner gets
    // ready to sleep and whenever it took notice of being woken.
    alignas(64) std::uint64_t wanted_events;
    std::uint32_t counting;
    std::uint32_t interrupting;

    // The upper half of `wanted_events` for which the owner was woken last; others need not do it.
    alignas(64) std::uint32_t rung_cycle;

    alignas(64) std::uint32_t count[nhi::kEventsMax];
    alignas(64) WindowEntry window[nhi::kWindowsMax];
};
static_assert(sizeof(SharedHeader) % 64 == 0 && sizeof(SharedHeader) <= 4096);
static_assert(offsetof(SharedHeader, wanted_events) / 64 != offsetof(SharedHeader, rung_cycle) / 64,
              "what the owner writes and what its peers write are in lines of their own");
static_assert(std::is_trivially_copyable_v<SharedHeader>, "zeroed memory is one");

/// Where the communication memory starts.
inline constexpr std::size_t kSharedHeaderBytes = 4096;
static_assert(sizeof(SharedHeader) <= kSharedHeaderBytes);

}  // namespace fci::shm
