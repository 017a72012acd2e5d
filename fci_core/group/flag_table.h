// FlagTable: the flags of one group (§2.6.11), in memory of one of its members that all of them
// load and store. Who comes to a collective says so in one word of a line that all share; a message
// to each of the others would do the same at ten times the cost.
//
//   part    | written by                | read by
//   at      | each member, its own word | all: the last collective that it has come to, by number
//   core    | each member, its own byte | all: a hint, who need not give the core away
//   asleep  | each member, its own byte | whoever stores what that one may wait for
//   said    | the root of a broadcast   | all; kKept broadcasts, and none is overwritten before all
//           |                           | are known to be past it
//   brought | each member, its own two  | all, in a gather; two, since who comes to the second next
//           |                           | one has seen all come to the next
//
// Numbers only grow, also when the table is given to another group.
#pragma once

#include <cstddef>
#include <cstdint>

#include "fci_core/gcs/layout.h"

namespace fci::group {

inline constexpr unsigned kMembersMost = 16;
inline constexpr std::size_t kBytesMost = 56;  // of one member's data
inline constexpr unsigned kKept = 16;          // broadcasts

/// What one member says: data, and a word that is stored after it.
struct alignas(64) Entry {
    static constexpr unsigned kLengthBits = 6;

    std::byte data[kBytesMost];
    std::uint64_t word;  // of a broadcast: its number, above its length; of a gather: the length

    [[nodiscard]] static constexpr std::uint64_t broadcast(std::uint64_t number,
                                                           std::size_t bytes) noexcept {
        return number << kLengthBits | bytes;
    }
    [[nodiscard]] static constexpr std::uint64_t number_of(std::uint64_t word) noexcept {
        return word >> kLengthBits;
    }
    [[nodiscard]] static constexpr std::size_t length_of(std::uint64_t word) noexcept {
        return word & ((1u << kLengthBits) - 1);
    }
};
static_assert(sizeof(Entry) == 64 && kBytesMost < 1u << Entry::kLengthBits);

struct FlagTable {
    alignas(64) std::uint64_t at[kMembersMost];
    alignas(64) std::uint32_t sleepers;  // of those in `asleep`; more only costs a look
    std::uint8_t asleep[kMembersMost];
    std::uint8_t core[kMembersMost];  // counted from 1, modulo 256; 0: not known
    Entry said[kKept];
    Entry brought[kMembersMost][2];
};

/// On the board of one process.
inline constexpr unsigned kTablesMost = 5;
static_assert(kTablesMost * sizeof(FlagTable) <= gcs::Layout::kBoardBytes);

}  // namespace fci::group
