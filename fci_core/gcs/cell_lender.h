// SPDX-License-Identifier: BSD-3-Clause
// CellLender: the memory that a process lends to its peers as cells (cells.h). It lies at the end
// of the pool, so cells of all peers together have at most a half of that.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "fci_core/gcs/layout.h"
#include "fci_core/gcs/piece_pool.h"
#include "fci_core/nhi/network_interface.h"

namespace fci::gcs {

class CellLender {
public:
    /// May throw.
    explicit CellLender(const Layout& layout) : layout_(layout) {
        const std::uint64_t pieces = layout.pool_bytes / Layout::kPieceBytes;
        back(CellSize::small).reserve(pieces / 2 * kSmallOfPiece);
        back(CellSize::large).reserve(pieces / 2);
    }

    /// One of this size. No data: there is no more.
    [[nodiscard]] PiecePool::Piece lend(nhi::NetworkInterface& network, PiecePool& pool,
                                        CellSize size) noexcept {
        const std::uint64_t bytes = layout_.cell_bytes(size);
        std::vector<std::uint64_t>& free = back(size);
        if (free.empty()) cut(pool, size, bytes);
        if (free.empty()) return {nullptr, 0, 0};
        const std::uint64_t offset = free.back();
        if (network.provide(nhi::kSelf, Layout::kPool + offset, bytes) != Status::ok) {
            return {nullptr, 0, 0};
        }
        free.pop_back();
        return {pool.at(offset), offset, bytes};
    }
    /// Nobody uses it any more.
    void take_back(CellSize size, std::uint64_t offset) noexcept { back(size).push_back(offset); }

private:
    static constexpr std::uint64_t kSmallOfPiece =
        Layout::kPieceBytes / Layout::kSmallCellBytes;

    /// More memory of the pool. Small cells come as many as a piece has.
    void cut(PiecePool& pool, CellSize size, std::uint64_t bytes) noexcept {
        const bool is_small = size == CellSize::small;
        const std::uint64_t pieces = is_small ? 1 : bytes / Layout::kPieceBytes;
        std::uint64_t offset = 0;
        if (pieces == 0 || !pool.cut(pieces, &offset)) return;
        for (std::uint64_t i = is_small ? kSmallOfPiece : 1; i-- != 0;) {
            back(size).push_back(offset + i * bytes);
        }
    }
    [[nodiscard]] std::vector<std::uint64_t>& back(CellSize size) noexcept {
        return back_[static_cast<unsigned>(size)];
    }

    Layout layout_;
    // Offsets in the pool of those that nobody has, with room for all that there can be.
    std::array<std::vector<std::uint64_t>, 2> back_;
};

}  // namespace fci::gcs
