// SPDX-License-Identifier: BSD-3-Clause
// Hints: an early copy of bytes, to many processes at once, of what other ways bring or can bring
// anyway (indirect mode, §2.5.2, fig. 2.18; its use, §2.6.11, fig. 2.63; docs/nhi.md).
//
// The sender names an index, and the table of each receiver says where the bytes go there: anywhere
// in its memory. A hint may come once, more often, late or never, and in any order, beside all that
// transfers bring. What is told of has come as a member of the group sent it: everybody on a
// network may hear what reaches many at once, and send there, so only those who have the group's
// key can read a hint, or make one.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>

#include "fci_core/base/status.h"

namespace fci::nhi {

/// One member draws it, and the others hear of it from that member by transfers, never by hints.
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
    std::uint64_t number;  // of what its bytes belong to; nothing else of the group ever has it
    std::uint32_t offset;  // of these bytes there
    std::uint32_t total;   // of all that belongs to the number
    std::uint16_t rank;    // of the sender; hint() puts it in
};

/// Who is told of what has come, in NetworkInterface::poll(). It may call everything of Hints.
class HintListener {
public:
    virtual ~HintListener() = default;
    /// `bytes` of the hint lie where they were expected. Maybe not for the first time.
    virtual void arrived(const Hint& hint, std::size_t bytes) noexcept = 0;
};

class Hints {
public:
    /// So many numbers of a group can be expected at a time: its index is the number modulo this,
    /// and what is left of the number tells one use of the index from the next (a generation).
    static constexpr unsigned kIndices = 16;
    /// Bytes of one hint come in pieces of that length, and what is left; each by itself.
    static constexpr std::size_t kPieceMost = 1416;
    static constexpr std::size_t kMost = 44 * kPieceMost;
    /// Hints of no more bytes in total are short: these are looked for all the time, and lost for
    /// who does not expect them. Longer ones wait elsewhere until such are expected, if there is
    /// room.
    static constexpr std::size_t kShortMost = 1096;

    virtual ~Hints() = default;

    /// So many bytes of hints that are not short wait for a receiver that does not look for them,
    /// or is slow, if all receivers are as this process. 0: none can be sent from here.
    [[nodiscard]] virtual std::size_t window() noexcept = 0;

    /// The name and the key of a group to come. unsupported: no hint of it would be heard, or none
    /// can be kept from strangers.
    virtual Status draw(HintGroup* group) noexcept = 0;
    /// Hints of this group are heard from now on, and can be sent. invalid: it was joined already.
    /// exhausted: no memory. unsupported: none would be heard.
    virtual Status join(const HintMember& member, HintListener& listener) noexcept = 0;
    /// Nothing of it is written any more, nor told.
    virtual void leave(std::uint64_t name) noexcept = 0;
    /// Bytes of the number go to `to`, from their offset on, until withdraw() or leave(), or until
    /// another number with this index is expected. Whose total is longer do not. not_found: the
    /// group was not joined.
    virtual Status expect(std::uint64_t name, std::uint64_t number,
                          std::span<std::byte> to) noexcept = 0;
    virtual void withdraw(std::uint64_t name, std::uint64_t number) noexcept = 0;
    /// So often this process has looked for all that is not short. What was sent before something
    /// that it has heard was here by the next time, or is lost.
    [[nodiscard]] virtual std::uint64_t looks() const noexcept = 0;
    /// The greatest number of this group of which anything has come, though maybe too early, or
    /// late. 0: nothing has, since it was joined.
    [[nodiscard]] virtual std::uint64_t heard(std::uint64_t name) const noexcept = 0;
    /// To all others that have joined the group, if they hear it; those on this host need not. At
    /// most kMost bytes, within the total; they may be used for anything on return. again: nothing
    /// was sent, as there is no room. invalid: too many bytes. unsupported: nobody would hear it.
    /// not_found: the group was not joined.
    virtual Status hint(const Hint& hint, std::span<const std::byte> bytes) noexcept = 0;
};

}  // namespace fci::nhi
