// Datagram: a hint, or a piece of one, as it goes over the wire. Numbers are as the processor has
// them; a job whose processors differ in that is refused by TCP's hello.
//
//   word     | from the beginning | read by
//   cookie   |  0                 | the kernel's filter, before all else: of another job
//   version  |  4                 | every version: the place of this stays
//   flags    |  5                 | what the sum covers
//   rank     |  6                 | who sends
//   name     |  8                 | the index table
//   number   | 16                 | the index table; the lower half
//   offset,  | 20                 | the index table
//     total  |                    |
//   sum      | 28                 | CRC32C of all words before it, and of the data if flags say so
//   data     | 32                 | at most Hints::kPieceMost
//
// All words are written by the sender, and each of them may be anything.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "fci_core/nhi/hints.h"

namespace fci::multicast {

struct Heading {
    static constexpr std::uint8_t kVersion = 1;
    static constexpr std::uint8_t kCoversData = 1;

    std::uint32_t cookie;
    std::uint8_t version, flags;
    std::uint16_t rank;
    std::uint64_t name;
    std::uint32_t number, offset, total, sum;
};
static_assert(sizeof(Heading) == 32 && offsetof(Heading, sum) == 28);
inline constexpr std::size_t kDatagramMost = sizeof(Heading) + nhi::Hints::kPieceMost;
static_assert(kDatagramMost == 1500 - 28, "it fits into a frame of Ethernet, with UDP and IP");

/// Of a piece of the hint: `offset` is the piece's. The sum covers what is short as a whole; of
/// the rest UDP's own sum has to do, as that of TCP would.
[[nodiscard]] Heading heading_of(std::uint32_t cookie, const nhi::Hint& hint, std::uint32_t offset,
                                 std::span<const std::byte> data) noexcept;

struct Datagram {
    nhi::Hint hint;
    std::span<const std::byte> data;
};
/// Nothing: it is none of this job and version, or was changed on its way.
[[nodiscard]] std::optional<Datagram> read_datagram(std::uint32_t cookie,
                                                    std::span<const std::byte> bytes) noexcept;

}  // namespace fci::multicast
