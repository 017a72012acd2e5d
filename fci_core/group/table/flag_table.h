// SPDX-License-Identifier: BSD-3-Clause
// FlagTable: the flags of one group (§2.6.11), in memory of one of its members that all of them
// load and store. A word tells that a member has come to a collective; its data lie beside
// it: the others take one cache line from it, where a message would move two and be matched.
//
//   part      | written by                | read by
//   name      | the owner                 | all that join: it is the table that they were told of
//   members,  | the owner                 | all that join
//     longest |                           |
//   joined    | each member, its own bit  | the owner: all have said whether they join
//   inside    | each member, its own bit  | the owner: nobody uses it any more
//   outcome   | the first that knows it   | all: whether all have joined
//   fenced    | a member whose network    | all, once all are inside: a store needs a fence behind
//             |   orders no stores        |   it
//   asleep    | each member, its own bit  | a member that stores what that one may wait for
//   gathered  | all, one after the other  | themselves: the last one reduces for all (a throng)
//   core      | each member, its own byte | all: a guess, which member needs a core to go on
//   entry     | each member, its own two  | all; by the parity of the meeting's number: a member at
//             |                           |   the second next one has seen all come to the next
//   past      | each member, its own      | the root of a broadcast: whether it may reuse a slot
//   said      | the root of a broadcast   | all; kSlots of them
//   result    | the last of a throng      | all
//
// Numbers only grow. Another process writes the length of an entry, so its reader checks that.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "fci_core/base/assert.h"
#include "fci_core/base/flag.h"
#include "fci_core/mp/copy.h"

namespace fci::group {

inline constexpr unsigned kMembersMost = 64;  // bits of a word
inline constexpr unsigned kSlots = 16;        // broadcasts that a root may be ahead

inline void copy_data(void* to, const void* from, std::size_t bytes) noexcept {
    mp::copy(static_cast<std::byte*>(to), static_cast<const std::byte*>(from), bytes);
}

/// The data of one member, and a word that is stored after them. Few bytes lie in the line of
/// the word, more of it behind that.
struct alignas(64) Entry {
    static constexpr unsigned kLengthBits = 11;
    static constexpr std::size_t kShort = 56;
    static constexpr std::size_t kLong = 1088;  // behind the first line, where the table has that
    // Instead of a length: why there are no data.
    static constexpr std::size_t kNoLength = (1u << kLengthBits) - 1;  // they did not agree
    static constexpr std::size_t kNobody = kNoLength - 1;  // the member that has them is gone

    std::byte line[kShort];
    std::uint64_t word;  // its number, above its length

    [[nodiscard]] static constexpr std::uint64_t word_of(std::uint64_t number,
                                                         std::size_t bytes) noexcept {
        return number << kLengthBits | bytes;
    }
    [[nodiscard]] static constexpr std::uint64_t number_of(std::uint64_t word) noexcept {
        return word >> kLengthBits;
    }
    [[nodiscard]] static constexpr std::size_t length_of(std::uint64_t word) noexcept {
        return word & ((1u << kLengthBits) - 1);
    }

    /// The number of the last collective that this entry was written in.
    [[nodiscard]] std::uint64_t number() const noexcept {
        return number_of(flag::load_acquire(word));
    }
    [[nodiscard]] std::size_t length() const noexcept {
        return length_of(flag::load_relaxed(word));
    }
    /// Where data of this length lie.
    [[nodiscard]] std::byte* data(std::size_t bytes) noexcept {
        return bytes <= kShort ? line : reinterpret_cast<std::byte*>(this + 1);
    }
    [[nodiscard]] const std::byte* data(std::size_t bytes) const noexcept {
        return bytes <= kShort ? line : reinterpret_cast<const std::byte*>(this + 1);
    }
    /// The data are there.
    void publish(std::uint64_t number, std::size_t bytes) noexcept {
        flag::store_release(word, word_of(number, bytes));
    }
    /// Data, or why there are none; the rank of a lost member, an unsigned, lies where data would.
    void say(std::uint64_t number, const void* what, std::size_t bytes) noexcept {
        if (bytes >= kNobody) [[unlikely]] {
            if (bytes == kNobody) std::memcpy(line, what, sizeof(unsigned));
        } else if (bytes != 0) {
            copy_data(data(bytes), what, bytes);
        }
        publish(number, bytes);
    }
    [[nodiscard]] unsigned who_is_gone() const noexcept {
        unsigned rank;
        std::memcpy(&rank, line, sizeof rank);
        return rank;
    }
};
static_assert(sizeof(Entry) == 64 && Entry::kLong < Entry::kNobody);

/// The head of a table, before its entries.
struct TableHead {
    std::uint64_t name;
    std::uint32_t members;
    std::uint32_t longest;  // data of one member: Entry::kShort, or kLong
    std::uint32_t throng;   // more members than a core should read for each of them
    std::uint32_t fenced;
    std::uint64_t inside, joined;
    std::uint32_t outcome;
    alignas(64) std::uint64_t asleep;
    alignas(64) std::uint64_t gathered;
    alignas(64) std::uint8_t core[kMembersMost];  // counted from 1, modulo 256; 0: not known
};
static_assert(sizeof(TableHead) == 256);

/// As one process sees it.
class FlagTable {
public:
    FlagTable() noexcept = default;  // of no group
    FlagTable(std::byte* memory, unsigned members, std::size_t longest) noexcept
        : memory_(memory), members_(members), entry_(entry_bytes(longest)) {
        FCI_ASSERT(members <= kMembersMost);
    }

    [[nodiscard]] static constexpr std::size_t bytes(unsigned members,
                                                     std::size_t longest) noexcept {
        const std::size_t entry = entry_bytes(longest);
        return sizeof(TableHead) + members * (2 * entry + kPast) + (kSlots + 1) * entry;
    }

    [[nodiscard]] bool is_there() const noexcept { return memory_ != nullptr; }
    [[nodiscard]] const std::byte* memory() const noexcept { return memory_; }
    [[nodiscard]] TableHead& head() const noexcept {
        return *reinterpret_cast<TableHead*>(memory_);
    }
    /// Whether the group comes about is decided once, for all its members.
    enum Outcome : std::uint32_t { open, formed, refused, lost };  // lost: one went before
    [[nodiscard]] Outcome outcome() const noexcept {
        return static_cast<Outcome>(flag::load_acquire(head().outcome));
    }
    [[nodiscard]] bool is_refused() const noexcept { return outcome() > formed; }
    /// Decides it, unless it was decided before; the outcome that holds.
    Outcome decide(Outcome outcome) const noexcept {
        std::uint32_t before = open, wanted = outcome;
        const bool is_first = flag::compare_exchange(head().outcome, before, wanted);
        return is_first ? outcome : static_cast<Outcome>(before);
    }
    [[nodiscard]] std::size_t longest() const noexcept {
        return entry_ == sizeof(Entry) ? Entry::kShort : Entry::kLong;
    }
    [[nodiscard]] Entry& entry(unsigned rank, std::uint64_t number) const noexcept {
        return at(member(rank) + (number & 1) * entry_);
    }
    [[nodiscard]] std::uint64_t& past(unsigned rank) const noexcept {
        return at(member(rank) + 2 * entry_).word;
    }
    [[nodiscard]] Entry& said(unsigned slot) const noexcept {
        FCI_ASSERT(slot < kSlots);
        return at(member(members_) + slot * entry_);
    }
    [[nodiscard]] Entry& result() const noexcept { return at(member(members_) + kSlots * entry_); }

    /// Nothing was said here so far.
    void clear() const noexcept {
        head() = {};
        for (unsigned rank = 0; rank < members_; ++rank) {
            entry(rank, 0).word = entry(rank, 1).word = past(rank) = 0;
        }
        for (unsigned slot = 0; slot < kSlots; ++slot) said(slot).word = 0;
        result().word = 0;
    }

private:
    static constexpr std::size_t kPast = sizeof(Entry);

    [[nodiscard]] static constexpr std::size_t entry_bytes(std::size_t longest) noexcept {
        return longest <= Entry::kShort ? sizeof(Entry) : sizeof(Entry) + Entry::kLong;
    }
    [[nodiscard]] std::size_t member(unsigned rank) const noexcept {
        return sizeof(TableHead) + rank * (2 * entry_ + kPast);
    }
    [[nodiscard]] Entry& at(std::size_t offset) const noexcept {
        return *reinterpret_cast<Entry*>(memory_ + offset);
    }

    std::byte* memory_ = nullptr;
    unsigned members_ = 0;
    std::size_t entry_ = 0;
};

}  // namespace fci::group
