// What goes over a connection: a hello each way (hello.h), then frames. All numbers are as the
// processor has them; the hello's magic differs on one that has them the other way round.
//
//   hello    80 bytes      who, and what both ends must agree on; the answer says how it went
//   frame    8 bytes, then
//            16 for each part of a transfer, then the bytes of all parts; or
//            24 for data, then these
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "fci_core/nhi/data.h"
#include "fci_core/nhi/transfer.h"

namespace fci::tcp {

enum class FrameKind : std::uint8_t {
    transfer = 1,
    goodbye,  // the writer closes in order; nothing follows
    data,     // into a buffer of the reader
};

struct FrameHead {
    FrameKind kind;
    std::uint8_t parts;
    std::uint16_t unused;  // 0
    std::uint32_t events;
};
static_assert(sizeof(FrameHead) == 8);
inline constexpr FrameHead kGoodbye{FrameKind::goodbye, 0, 0, 0};

struct PartHead {
    static constexpr std::uint64_t kIndirect = 1ull << 63;

    std::uint64_t address;         // LcsAddress, or Index
    std::uint64_t bytes_and_kind;  // kIndirect, or not

    [[nodiscard]] std::uint64_t bytes() const noexcept { return bytes_and_kind & ~kIndirect; }
    [[nodiscard]] bool indirect() const noexcept { return (bytes_and_kind & kIndirect) != 0; }
};
static_assert(sizeof(PartHead) == 16);

static_assert(sizeof(nhi::Data) == 24);
/// Of data, without their bytes.
inline constexpr std::size_t kDataHeads = sizeof(FrameHead) + sizeof(nhi::Data);

/// Of a transfer, without the bytes of its parts.
inline constexpr std::size_t kHeadsMost =
    sizeof(FrameHead) + nhi::Transfer::kPartsMax * sizeof(PartHead);

}  // namespace fci::tcp
