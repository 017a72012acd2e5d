// SPDX-License-Identifier: BSD-3-Clause
// The wire of a connection: a hello each way (hello.h), then frames. All numbers are in the
// processor's byte order; with the other order the hello's magic differs.
//
//   hello    88 bytes      names the writer and the settings of both; the answer has the verdict
//   frame    8 bytes, then
//            16 for each part of a transfer, then the bytes of all parts; or
//            for a request, which is a transfer as well, its difference from the request before it
//            (last_request.h), then its data; or
//            24 for data, then these
//
// A transfer that data follow (Transfer::let_wait()) is never a request. So the reader knows how
// far it may read the stream without taking bytes of data.
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
    request,  // a transfer, sent as its difference from the request before
    loss,     // the writer has lost a rank, in case that it ends now without a goodbye
};

struct FrameHead {
    FrameKind kind;
    std::uint8_t parts;
    std::uint16_t unused;  // 0
    std::uint32_t events;  // of a loss: the rank, or -1; its reader believes no more than its range
};
static_assert(sizeof(FrameHead) == 8);
inline constexpr FrameHead kGoodbye{FrameKind::goodbye, 0, 0, 0};
constexpr FrameHead loss_of(int rank) noexcept {
    return {FrameKind::loss, 0, 0, static_cast<std::uint32_t>(rank)};
}

struct PartHead {
    std::uint64_t address;  // LcsAddress
    std::uint64_t bytes;
};
static_assert(sizeof(PartHead) == 16);

inline constexpr std::size_t kLineBytes = 64;  // of a request

struct RequestHead {
    static constexpr std::uint8_t kDataMove = 1, kLineMoves = 2;

    FrameKind kind;
    std::uint8_t words;   // a bit for each word of the line that follows; the others are as before
    std::uint8_t moves;   // which addresses follow; the others begin where the last request ended
    std::uint8_t events;  // the first eight
    std::uint32_t bytes;  // of data; 0: there are none, and their address does not follow
};
static_assert(sizeof(RequestHead) == sizeof(FrameHead));
inline constexpr std::size_t kRequestHeadsMost =
    sizeof(RequestHead) + 2 * sizeof(std::uint64_t) + kLineBytes;

static_assert(sizeof(nhi::Data) == 24);
/// Bytes of the heads of data.
inline constexpr std::size_t kDataHeads = sizeof(FrameHead) + sizeof(nhi::Data);

/// Bytes of the heads of a transfer, at most.
inline constexpr std::size_t kHeadsMost =
    sizeof(FrameHead) + nhi::Transfer::kPartsMax * sizeof(PartHead);

}  // namespace fci::tcp
