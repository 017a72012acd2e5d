// SPDX-License-Identifier: BSD-3-Clause
// Datagram: a hint, or a piece of one, as it goes over the wire. Numbers are in the processor's
// byte order; TCP's hello refuses a job whose processors differ in that.
//
//   word     | from the beginning | read by
//   cookie   |  0                 | the kernel's filter, which drops those of other jobs first
//   version  |  4                 | every version: the place of this stays magic    |  5
//   | a dissector, which looks for FCI in a capture rank     |  6                 | the check of
//   the sender's address; a part of the nonce name     |  8                 | the index table, and
//   the choice of the key serial   | 16                 | a part of the nonce: counts the sender's
//   datagrams of this group number   | 24                 | the index table offset,  | 32
//   | the index table total  |                    | tag      | 40                 | the check of
//   the data and of all words before it (AES-128-GCM)
//   data     | 56                 | encrypted; at most Hints::kPieceMost
//
// All words are written by the sender, and each of them may be anything until the tag was found
// right (seal.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "drivers/host/aead.h"
#include "fci_core/nhi/hints.h"

namespace fci::multicast {

struct Heading {
    static constexpr std::uint8_t kVersion = 2;
    static constexpr std::uint8_t kMagic = 0xfc;

    std::uint32_t cookie;
    std::uint8_t version, magic;
    std::uint16_t rank;
    std::uint64_t name, serial, number;
    std::uint32_t offset, total;
    host::Aead::Tag tag;

    [[nodiscard]] nhi::Hint hint() const noexcept { return {name, number, offset, total, rank}; }
    /// All but the tag.
    [[nodiscard]] std::span<const std::byte> words() const noexcept {
        return std::as_bytes(std::span(this, 1)).first(offsetof(Heading, tag));
    }
};
static_assert(sizeof(Heading) == 56 && offsetof(Heading, tag) == 40);
inline constexpr std::size_t kDatagramMost = sizeof(Heading) + nhi::Hints::kPieceMost;
static_assert(kDatagramMost == 1500 - 28, "it fits into a frame of Ethernet, with UDP and IP");

/// The heading of a piece of the hint, without a tag. `offset`: the piece's.
[[nodiscard]] Heading heading_of(std::uint32_t cookie, const nhi::Hint& hint, std::uint64_t serial,
                                 std::uint32_t offset) noexcept;

struct Datagram {
    Heading heading;
    std::span<std::byte> data;
};
/// Nothing: the datagram is of another job or version. Its sender is not proven yet (seal.h).
[[nodiscard]] std::optional<Datagram> read_datagram(std::uint32_t cookie,
                                                    std::span<std::byte> bytes) noexcept;

}  // namespace fci::multicast
