// SPDX-License-Identifier: BSD-3-Clause
// Layout: where things lie in a request block, the memory that a process keeps for each peer
// (§2.6.6, fig. 2.41), and in its pool of pieces, which all of its peers read. Both sides compute
// it from the same numbers, which they tell each other when they meet: a pair uses as many slots
// and as much of the ring as the smaller block has. The digest of all else is compared.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "fci_core/base/assert.h"
#include "fci_core/nhi/types.h"

namespace fci::gcs {

inline constexpr std::size_t kLineBytes = 64;

/// Of a cell (cells.h): small ones are for messages up to Layout::kSmallCellBytes.
enum class CellSize : std::uint8_t { small, large };

struct Layout {
    std::uint32_t slots = 0;       // requests that may be under way to the owner; a power of two
    std::uint64_t ring_bytes = 0;  // data that may be under way to the owner; a power of two
    std::uint64_t pool_bytes = 0;  // of whole pieces; 0: there is no pool

    // Long messages that both sides copy at the same time. The credit, 128 slots and these words
    // fill three pages.
    static constexpr unsigned kClaims = 63;

    static constexpr std::uint64_t kPieceBytes = 16384;  // of the pool
    static constexpr std::uint64_t kPiecesOfRequest = 2;  // at most, that lie side by side
    static constexpr std::uint64_t kPoolPiecesMost = 1 << 20;
    static_assert(kPieceBytes % 4096 == 0, "the pool grows by whole pages");
    // The pool is a window of its owner.
    static constexpr nhi::WindowNumber kPoolWindow = 0;
    static constexpr nhi::LcsAddress kPool{nhi::kPairLimit};

    // Memory of a process that it and its peers read and write as they agree (the group data of
    // §2.6.11 lie in such). It follows the pool, and is a window of its own.
    static constexpr std::uint64_t kBoardLeast = 65536;
    static constexpr std::uint64_t kBoardMost = 4 << 20;  // where it comes as it is needed
    static constexpr nhi::WindowNumber kBoardWindow = 1;
    static constexpr nhi::LcsAddress kBoard{nhi::kPairLimit + kPoolPiecesMost * kPieceBytes};
    static_assert(kPoolWindow != kBoardWindow && kBoardWindow < nhi::kWindowsMax);
    static_assert(kBoardLeast % 4096 == 0 && kBoardMost % 4096 == 0, "it has whole pages");

    // The writer tells here what it has taken of the requests that the owner sent to it.
    [[nodiscard]] static constexpr nhi::LcsAddress credit() noexcept { return at(0); }
    // In the same line: how many pieces of the owner's pool it has given back.
    [[nodiscard]] static constexpr nhi::LcsAddress returned() noexcept {
        return at(kLineBytes / 2);
    }
    [[nodiscard]] static constexpr nhi::LcsAddress slot(std::uint64_t i) noexcept {
        return at(kLineBytes * (1 + i));
    }
    // Words from which both sides claim pieces of a long message. Most pairs never touch them.
    [[nodiscard]] constexpr nhi::LcsAddress claim(unsigned i) const noexcept {
        return at(kLineBytes * (1 + std::uint64_t{slots} + i));
    }
    [[nodiscard]] constexpr nhi::LcsAddress ring(std::uint64_t offset) const noexcept {
        FCI_ASSERT(offset <= ring_bytes);
        return at(ring_at() + offset);
    }
    [[nodiscard]] constexpr std::size_t block_bytes() const noexcept {
        return ring_at() + ring_bytes;
    }
    // Most pairs exchange a few short messages in their life, and most others take them as they
    // come: the writer asks for more of the ring when it needs that.
    [[nodiscard]] constexpr std::uint64_t ring_first_bytes() const noexcept {
        return ring_bytes < kRingFirst ? ring_bytes : kRingFirst;
    }
    static constexpr std::uint64_t kRingFirst = 4096;
    [[nodiscard]] constexpr std::size_t block_first_bytes() const noexcept {
        return ring_at() + ring_first_bytes();
    }
    /// Pieces of one pool that one peer may hold.
    [[nodiscard]] constexpr std::uint64_t pool_share() const noexcept {
        const std::uint64_t pieces = pool_bytes / kPieceBytes;
        return pieces < 8 ? 1 : pieces / 4;
    }
    /// Pieces of its pool in which a process that has one peer goes round: more than an L2, so that
    /// what was written is in the L3 when it is read, and no more than stays there.
    [[nodiscard]] constexpr std::uint64_t pool_span() const noexcept {
        const std::uint64_t pieces = pool_bytes / kPieceBytes;
        return std::min(pieces, std::max(pieces / 4, kSpanLeast));
    }
    static constexpr std::uint64_t kSpanLeast = 64;
    /// Of the cells that a process with this pool lends to its peers; 0: it lends none.
    [[nodiscard]] constexpr std::uint64_t cell_bytes(CellSize size) const noexcept {
        const std::uint64_t pieces = pool_bytes / kPieceBytes;
        if (size == CellSize::small) return pieces == 0 ? 0 : kSmallCellBytes;
        return (pieces >= kPoolOfFew ? kPoolOfFew / 8 : pieces / 16) * kPieceBytes;
    }
    static constexpr std::uint64_t kSmallCellBytes = 4096;
    /// Several small ones lie in a piece.
    [[nodiscard]] static constexpr std::uint64_t cell_alignment(CellSize size) noexcept {
        return size == CellSize::small ? kSmallCellBytes : kPieceBytes;
    }
    static constexpr std::uint64_t kPoolOfFew = 512;  // pieces, from which cells have 1 MiB
    /// That data of a request takes.
    [[nodiscard]] static constexpr std::uint64_t pieces_of(std::uint64_t bytes) noexcept {
        return bytes <= kPieceBytes ? 1 : (bytes + kPieceBytes - 1) / kPieceBytes;
    }
    /// The sizes as peers hear them: bits 0-7 and 8-15 are the logarithms of slots and ring bytes,
    /// those above the pieces of the pool.
    [[nodiscard]] constexpr std::uint64_t sizes() const noexcept {
        FCI_ASSERT(is_sound());
        return static_cast<std::uint64_t>(std::countr_zero(slots)) |
               static_cast<std::uint64_t>(std::countr_zero(ring_bytes)) << 8 |
               pool_bytes / kPieceBytes << 16;
    }
    /// The layout for a peer that told these sizes: slots and ring of the smaller block, and the
    /// pool of the peer. Nothing: no process has such sizes.
    [[nodiscard]] constexpr std::optional<Layout> with(std::uint64_t sizes) const noexcept {
        FCI_ASSERT(is_sound());
        const unsigned slot_bits = sizes & 0xff, ring_bits = sizes >> 8 & 0xff;
        const std::uint64_t pieces = sizes >> 16;
        if (slot_bits >= 32 || ring_bits >= 48 || pieces > kPoolPiecesMost) return std::nullopt;
        return Layout{std::min(slots, std::uint32_t{1} << slot_bits),
                      std::min(ring_bytes, std::uint64_t{1} << ring_bits), pieces * kPieceBytes};
    }
    /// Numbers that both sides can tell each other, and go round in by masks.
    [[nodiscard]] constexpr bool is_sound() const noexcept {
        return std::has_single_bit(slots) && std::has_single_bit(ring_bytes) &&
               pool_bytes % kPieceBytes == 0 && pool_bytes <= kPoolPiecesMost * kPieceBytes;
    }
    /// A digest of all else that the two sides must share to understand each other's requests: the
    /// version's in the upper half, the options' in the lower.
    [[nodiscard]] static constexpr std::uint64_t digest(std::uint64_t options) noexcept {
        constexpr std::uint64_t kRecords = 0x4643493d;  // changes with every change of the records
        return (kRecords ^ kClaims) << 32 | options * 0x9e3779b97f4a7c15ull >> 32;
    }

private:
    [[nodiscard]] constexpr std::uint64_t ring_at() const noexcept {
        constexpr std::uint64_t page = 4096;
        return (kLineBytes * (1 + kClaims + std::uint64_t{slots}) + page - 1) & ~(page - 1);
    }
    static constexpr nhi::LcsAddress at(std::uint64_t offset) noexcept {
        return nhi::LcsAddress{offset};
    }
};

}  // namespace fci::gcs
