// SPDX-License-Identifier: BSD-3-Clause
// Line: a request as it lies in a slot of a request block, and what goes with it (§2.6.6, §2.6.8).
#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>

#include "fci_core/gcs/layout.h"
#include "fci_core/nhi/types.h"

namespace fci::gcs {

/// A request as it travels: one cache line, its control word last. Set by the peer for which the
/// block is kept, read by the block's owner.
struct alignas(kLineBytes) Line {
    std::uint64_t word[7];  // belong to mp, but kRingWord
    std::uint64_t control;  // sequence in the upper half, by which the owner sees that the line is
                            // here; the lower half belongs to mp
};
static_assert(sizeof(Line) == kLineBytes);
static_assert(offsetof(Line, control) == kLineBytes - sizeof(std::uint64_t), "the last word");

/// How much a process has taken of all that the peer ever sent to it. Set by that process in the
/// block that the peer keeps for it; read by the peer before it sends more.
struct Credit {
    std::uint64_t slots;     // requests
    std::uint64_t ring;      // ring position
    std::uint64_t disposed;  // unexpected memory given free again
};
static_assert(sizeof(Credit) <= static_cast<std::uint64_t>(Layout::returned()),
              "it shares its line with the word of the pool, and no byte");

/// The event that a request raises: it wakes a peer that sleeps.
inline constexpr nhi::EventId kWakeEvent = 0;
static_assert(kWakeEvent < nhi::kEventsMax);

/// A request with data in the ring says here at which position these begin. The writer chooses it,
/// the owner checks it.
inline constexpr unsigned kRingWord = 6;
static_assert(kRingWord < std::size(Line{}.word));

/// How far a writer goes through a ring before it begins again.
enum class Laps : std::uint8_t {
    by_transfers,  // the whole ring: each return of credit is a message of its own
    long_,         // the whole ring: processes take turns on their cores, and a peer is often late
    short_         // a part, while the peer keeps up: it stays in the first cache of both
};

/// Words in a block are whole by themselves where they are aligned.
inline bool is_aligned(const std::byte* block) noexcept {
    return reinterpret_cast<std::uintptr_t>(block) % sizeof(std::uint64_t) == 0;
}

}  // namespace fci::gcs
