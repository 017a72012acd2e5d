// SPDX-License-Identifier: BSD-3-Clause
// Hints: early copies, to many processes at once, of bytes that other ways bring or can bring
// anyway (indirect mode, §2.5.2, fig. 2.18; its use, §2.6.11, fig. 2.63; docs/nhi.md).
//
// The sender names an index, and the table of each receiver says where the bytes go there: anywhere
// in its memory. A hint may come once, more often, late or never, and in any order, beside all
// transfers. A listener hears only of hints that a member of the group has sent: any process on the
// network may receive multicast, and send it, so only processes that have the group's key can read
// a hint, or make one.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>

#include "fci_core/base/status.h"

namespace fci::nhi {

/// One member draws the group, and tells the others by transfers, never by hints.
struct HintGroup {
    std::uint64_t name;  // never used again; neither 0 nor all ones
    std::array<std::byte, 16> key;
};
static_assert(std::has_unique_object_representations_v<HintGroup>, "it travels as bytes");

/// A member of such a group, as the member itself knows it.
struct HintMember {
    HintGroup group;
    std::uint16_t rank;                    // of this process; no other member has it
    std::span<const std::uint32_t> hosts;  // by rank, each member's address as in its ddi::Card
};

struct Hint {
    std::uint64_t name;    // of the group that it is for
    std::uint64_t number;  // of the data that it is a part of; the group uses each number once
    std::uint32_t offset;  // of these bytes in the data
    std::uint32_t total;   // bytes of the data
    std::uint16_t rank;    // of the sender; hint() sets it
};

/// The listener is told of each hint in NetworkInterface::poll(). It may call everything of Hints.
class HintListener {
public:
    virtual ~HintListener() = default;
    /// `bytes` of the hint lie where they were expected, perhaps not for the first time.
    virtual void arrived(const Hint& hint, std::size_t bytes) noexcept = 0;
};

class Hints {
public:
    /// So many numbers of a group can be expected at a time: the index is the number modulo this,
    /// and the rest of the number tells one use of the index from the next (a generation).
    static constexpr unsigned kIndices = 16;
    /// A longer hint comes in pieces of that length, the last one shorter; each comes by itself.
    static constexpr std::size_t kPieceMost = 1416;
    static constexpr std::size_t kMost = 44 * kPieceMost;
    /// Hints of no more bytes in total are short: a receiver looks for them all the time, and loses
    /// those that it does not expect. Long hints wait in sockets of their own until one is
    /// expected, if there is room.
    static constexpr std::size_t kShortMost = 1096;

    virtual ~Hints() = default;

    /// Bytes of long hints that a receiver's sockets hold while it does not look, if they are as
    /// large as here. 0: no hint can be sent from here.
    [[nodiscard]] virtual std::size_t window() noexcept = 0;

    /// The name and the key of a group to come. unsupported: no hint of it would be heard, or none
    /// can be kept from strangers.
    virtual Status draw(HintGroup* group) noexcept = 0;
    /// Hints of this group are heard from now on, and can be sent. invalid: it was joined already.
    /// exhausted: no memory. unsupported: none would be heard.
    virtual Status join(const HintMember& member, HintListener& listener) noexcept = 0;
    /// No hint of the group is written any more, and the listener hears of none.
    virtual void leave(std::uint64_t name) noexcept = 0;
    /// Hints with that number go to `to`, each at its offset, until withdraw() or leave(), or until
    /// another number with this index is expected. Hints whose total is longer do not. not_found:
    /// the group was not joined.
    virtual Status expect(std::uint64_t name, std::uint64_t number,
                          std::span<std::byte> to) noexcept = 0;
    virtual void withdraw(std::uint64_t name, std::uint64_t number) noexcept = 0;
    /// How often this process has looked for long hints. One that was sent before a message which
    /// this process has received is here by the next look, or is lost.
    [[nodiscard]] virtual std::uint64_t looks() const noexcept = 0;
    /// The greatest number of a hint of this group that has come, maybe too early or late. 0: none
    /// has come since the group was joined.
    [[nodiscard]] virtual std::uint64_t heard(std::uint64_t name) const noexcept = 0;
    /// Sends to all others that have joined the group; members on this host need not get it. At
    /// most kMost bytes, within the total; the memory is free on return. again: nothing was sent,
    /// as there is no room. invalid: too many bytes. unsupported: no member would hear it.
    /// not_found: the group was not joined.
    virtual Status hint(const Hint& hint, std::span<const std::byte> bytes) noexcept = 0;
};

}  // namespace fci::nhi
