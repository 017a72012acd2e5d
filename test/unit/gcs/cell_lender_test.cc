// SPDX-License-Identifier: BSD-3-Clause
// The memory of cells: a half of the pool, for all peers together.
#include "fci_core/gcs/cell_lender.h"

#include <gtest/gtest.h>

#include <set>

#include "drivers/sim/ideal/world.h"

namespace fci::gcs {
namespace {

/// A process with a pool, of 32 pieces.
struct One {
    explicit One(std::uint64_t pieces = 32) : layout{8, 4096, pieces * Layout::kPieceBytes} {
        ddi::Settings settings;
        settings.block_bytes = layout.block_bytes();
        settings.communication_bytes = layout.pool_bytes;
        device = world.open(settings);
        pool.open(device->network(), layout, device->communication_memory());
    }
    PiecePool::Piece lend(CellSize size) { return lender.lend(device->network(), pool, size); }
    std::vector<std::uint64_t> lend_all(CellSize size) {
        std::vector<std::uint64_t> offsets;
        for (;;) {
            const PiecePool::Piece piece = lend(size);
            if (piece.data == nullptr) return offsets;
            EXPECT_EQ(piece.bytes, layout.cell_bytes(size));
            EXPECT_EQ(piece.data, device->communication_memory().data() + piece.offset);
            offsets.push_back(piece.offset);
        }
    }

    Layout layout;
    sim::World world{{.mapped = true}};
    std::unique_ptr<ddi::Device> device;
    PiecePool pool;
    CellLender lender{layout};
};

TEST(cell_lender, lend__half_of_the_pool_stays) {
    One one;
    const auto offsets = one.lend_all(CellSize::large);
    ASSERT_EQ(offsets.size(), 8u);
    EXPECT_EQ(offsets.front(), 30 * Layout::kPieceBytes);
    EXPECT_EQ(offsets.back(), 16 * Layout::kPieceBytes);
    EXPECT_EQ(one.lend(CellSize::small).data, nullptr);
}

TEST(cell_lender, lend__small_ones_share_pieces) {
    One one;
    const auto offsets = one.lend_all(CellSize::small);
    ASSERT_EQ(offsets.size(), 16 * 4u);
    EXPECT_EQ(offsets[0], 31 * Layout::kPieceBytes);
    EXPECT_EQ(offsets[1], 31 * Layout::kPieceBytes + Layout::kSmallCellBytes);
    EXPECT_EQ(offsets[4], 30 * Layout::kPieceBytes);
    EXPECT_EQ(std::set(offsets.begin(), offsets.end()).size(), offsets.size());
    EXPECT_EQ(one.lend(CellSize::large).data, nullptr);
}

TEST(cell_lender, lend__a_pool_of_one_piece_stays) {
    One one(1);
    EXPECT_EQ(one.lend(CellSize::small).data, nullptr);
    EXPECT_NE(one.pool.next(one.device->network(), 1).data, nullptr);
}

TEST(cell_lender, take_back__is_lent_again) {
    One one;
    for (const CellSize size : {CellSize::large, CellSize::small}) {
        const std::uint64_t offset = one.lend(size).offset;
        EXPECT_NE(one.lend(size).offset, offset);
        one.lender.take_back(size, offset);
        EXPECT_EQ(one.lend(size).offset, offset);
    }
}

TEST(cell_lender, lend__what_pieces_have_is_theirs) {
    One one;
    ASSERT_NE(one.pool.next(one.device->network(), 1).data, nullptr);
    EXPECT_EQ(one.lend(CellSize::large).data, nullptr) << "the first 64 pieces come at once";
}

}  // namespace
}  // namespace fci::gcs
