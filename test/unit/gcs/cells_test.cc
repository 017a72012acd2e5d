// SPDX-License-Identifier: BSD-3-Clause
// Cells, both sides in one process.
#include "fci_core/gcs/cells.h"

#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "drivers/sim/ideal/world.h"
#include "fci_core/gcs/cell_lender.h"
#include "fci_core/gcs/piece_pool.h"

namespace fci::gcs {
namespace {

using State = Cells::State;
constexpr std::uint64_t kLong = 8192, kSmall = Layout::kSmallCellBytes;

struct Listener final : ddi::PeerListener {
    void peer_attached(nhi::PeerId) override {}
    void peer_lost(nhi::PeerId, Status, const std::string&) override {}
};

/// Two processes with pools of 32 pieces, so large cells of two.
struct Two {
    Two() {
        ddi::Settings settings;
        settings.block_bytes = layout.block_bytes();
        settings.communication_bytes = layout.pool_bytes;
        for (int i : {0, 1}) {
            devices[i] = world.open(settings);
            devices[i]->set_listener(&listener);
        }
        for (int i : {0, 1}) {
            EXPECT_EQ(devices[i]->add_peer(devices[1 - i]->card(), &other[i]), Status::ok);
        }
        EXPECT_EQ(devices[0]->connect(other[0]), Status::ok);
        for (int n = 0; n < 100; ++n) {
            for (auto& device : devices) device->network().poll(0);
        }
        for (int i : {0, 1}) {
            pools[i].open(devices[i]->network(), layout, devices[i]->communication_memory());
            for (const CellSize size : {CellSize::small, CellSize::large}) {
                cells[i].open(size, layout.cell_bytes(size));
            }
        }
    }
    PiecePool::Piece lend_memory(int from, CellSize size = CellSize::large) {
        return lenders[from].lend(devices[from]->network(), pools[from], size);
    }
    void lend(int from, CellSize size = CellSize::large) {
        const PiecePool::Piece piece = lend_memory(from, size);
        ASSERT_NE(piece.data, nullptr);
        cells[from].lend(size, piece.data, piece.offset);
    }
    Cells::Cell* find(int at, std::uint64_t name, State state = State::away,
                      std::uint64_t bytes = kLong) {
        cells[at].meet(devices[at]->network(), other[at], layout, name);
        return cells[at].find(name, bytes, state);
    }
    [[nodiscard]] bool has_one(int at, std::uint64_t bytes = kLong) {
        Cells::Cell* const cell = cells[at].take(bytes);
        if (cell != nullptr) Cells::keep(*cell);
        return cell != nullptr;
    }
    /// A message of one byte, sent as one of so many; its name.
    std::uint64_t pass(int from, std::byte value, std::uint64_t bytes = kLong) {
        Cells::Cell& cell = *cells[from].take(bytes);
        *cell.data = value;
        const std::uint64_t name = cell.name;
        Cells::gone(cell);
        Cells::Cell* const there = find(1 - from, name, State::away, bytes);
        EXPECT_NE(there, nullptr);
        if (there == nullptr) return name;
        EXPECT_EQ(*there->data, value);
        cells[1 - from].arrived(*there);
        return name;
    }

    Layout layout{8, 4096, 32 * Layout::kPieceBytes};
    sim::World world{{.mapped = true}};
    Listener listener;
    std::unique_ptr<ddi::Device> devices[2];
    nhi::PeerId other[2]{};
    PiecePool pools[2];
    CellLender lenders[2]{CellLender(layout), CellLender(layout)};
    Cells cells[2];
};

TEST(cells, take__who_received_writes_next) {
    Two two;
    EXPECT_FALSE(two.has_one(0));
    two.lend(0);
    EXPECT_TRUE(two.has_one(0));
    EXPECT_FALSE(two.has_one(1));
    for (int round = 0; round < 4; ++round) {
        EXPECT_EQ((two.pass(0, std::byte{1}) & Cells::kOfReader), 0u);
        EXPECT_FALSE(two.has_one(0));
        EXPECT_NE((two.pass(1, std::byte{2}) & Cells::kOfReader), 0u);
        EXPECT_FALSE(two.has_one(1));
    }
}

TEST(cells, take__two_messages_cross) {
    Two two;
    two.lend(0);
    two.lend(1);
    for (int round = 0; round < 4; ++round) {
        Cells::Cell& a = *two.cells[0].take(kLong);
        Cells::Cell& b = *two.cells[1].take(kLong);
        const std::uint64_t names[] = {a.name, b.name};
        Cells::gone(a);
        Cells::gone(b);
        Cells::Cell* const at_1 = two.find(1, names[0]);
        Cells::Cell* const at_0 = two.find(0, names[1]);
        ASSERT_TRUE(at_0 != nullptr && at_1 != nullptr);
        two.cells[0].arrived(*at_0);
        two.cells[1].arrived(*at_1);
    }
}

TEST(cells, take__what_was_read_last_first) {
    Two two;
    two.lend(0);
    two.lend(1);
    const std::uint64_t first = two.pass(0, std::byte{1});
    EXPECT_EQ(two.pass(1, std::byte{2}), first ^ Cells::kOfReader) << "not its own";
    EXPECT_EQ(two.pass(1, std::byte{3}) & Cells::kOfReader, 0u) << "which is left";
    EXPECT_FALSE(two.has_one(1));
}

TEST(cells, keep__nothing_was_said) {
    Two two;
    two.lend(0);
    Cells::keep(*two.cells[0].take(kLong));
    EXPECT_TRUE(two.has_one(0));
}

TEST(cells, find__no_token_is_believed_that_is_here) {
    Two two;
    two.lend(0);
    const std::uint64_t name = two.pass(0, std::byte{1});
    EXPECT_EQ(two.find(1, name), nullptr) << "it is at 1";
    two.pass(1, std::byte{2});
    EXPECT_EQ(two.find(0, name ^ Cells::kOfReader), nullptr) << "it is at 0";
    EXPECT_EQ(two.find(1, name, State::coming), nullptr) << "no message began";
}

TEST(cells, find__only_where_a_cell_can_be) {
    constexpr std::uint64_t kPiece = Layout::kPieceBytes;
    for (const std::uint64_t offset : {32 * kPiece, 31 * kPiece, std::uint64_t{64},
                                       (std::uint64_t{1} << 62) - kPiece, 1000 * kPiece}) {
        Two two;
        EXPECT_EQ(two.find(1, Cells::kIsCell | offset), nullptr) << offset;
    }
    Two two;
    EXPECT_EQ(two.find(1, Cells::kIsCell | Cells::kOfReader), nullptr) << "nothing was lent";
    two.lend(0);
    const std::uint64_t name = two.pass(0, std::byte{1});
    two.pass(1, std::byte{2});
    two.pass(0, std::byte{3});
    const std::uint64_t back = name ^ Cells::kOfReader;
    EXPECT_EQ(two.find(0, back + kPiece), nullptr) << "lent, but not there";
    EXPECT_NE(two.find(0, back), nullptr);
    EXPECT_EQ(two.find(1, name + kPiece), nullptr) << "the first one decides";
}

TEST(cells, find__no_more_than_it_holds) {
    Two two;
    const std::uint64_t large = two.layout.cell_bytes(CellSize::large);
    EXPECT_EQ(two.find(1, Cells::kIsCell, State::away, large + 1), nullptr);
    EXPECT_NE(two.find(1, Cells::kIsCell, State::away, large), nullptr);
    const std::uint64_t name = Cells::kIsCell | Cells::kIsSmall;
    EXPECT_EQ(two.find(1, name, State::away, kSmall + 1), nullptr);
    EXPECT_NE(two.find(1, name, State::away, kSmall), nullptr);
}

TEST(cells, find__small_ones_lie_side_by_side) {
    constexpr std::uint64_t kName = Cells::kIsCell | Cells::kIsSmall;
    const std::uint64_t end = Two().layout.pool_bytes;
    for (const std::uint64_t offset : {std::uint64_t{64}, kSmall / 2, end, end + kSmall}) {
        Two two;
        EXPECT_EQ(two.find(1, kName | offset, State::away, 1), nullptr) << offset;
    }
    for (const std::uint64_t offset : {kSmall, 3 * kSmall, end - kSmall}) {
        Two two;
        EXPECT_NE(two.find(1, kName | offset, State::away, 1), nullptr) << offset;
    }
}

TEST(cells, take__each_size_has_its_own) {
    Two two;
    two.lend(0, CellSize::small);
    EXPECT_FALSE(two.has_one(0));
    EXPECT_TRUE(two.has_one(0, kSmall));
    EXPECT_TRUE(two.has_one(0, 49));
    EXPECT_FALSE(two.has_one(0, kSmall + 1));
    two.lend(1);
    EXPECT_TRUE(two.has_one(1));
    EXPECT_FALSE(two.has_one(1, kSmall));
    EXPECT_NE(two.pass(0, std::byte{1}, kSmall) & Cells::kIsSmall, 0u);
    EXPECT_TRUE(two.has_one(1, kSmall));
    EXPECT_EQ(two.pass(1, std::byte{2}) & Cells::kIsSmall, 0u);
}

TEST(cells, may_lend__once_and_where_there_are_any) {
    Two two;
    EXPECT_TRUE(two.cells[0].may_lend(kSmall));
    two.lend(0, CellSize::small);
    EXPECT_FALSE(two.cells[0].may_lend(kSmall));
    EXPECT_TRUE(two.cells[0].may_lend(kSmall + 1));
    const std::uint64_t most = two.layout.cell_bytes(CellSize::large);
    EXPECT_TRUE(two.cells[0].may_lend(most));
    EXPECT_FALSE(two.cells[0].may_lend(most + 1));
    two.pass(0, std::byte{1}, kSmall);
    EXPECT_FALSE(two.cells[0].may_lend(kSmall)) << "it is away";
    two.cells[0].forget();
    EXPECT_FALSE(two.cells[0].may_lend(kSmall)) << "there is nobody";
}

TEST(cells, each_lent__size_and_offset) {
    Two two;
    std::vector<std::pair<CellSize, std::uint64_t>> lent;
    const auto note = [&](CellSize size, std::uint64_t offset) { lent.push_back({size, offset}); };
    two.cells[0].each_lent(note);
    EXPECT_TRUE(lent.empty());
    two.lend(0, CellSize::large);
    two.lend(0, CellSize::small);
    two.cells[0].each_lent(note);
    ASSERT_EQ(lent.size(), 2u);
    EXPECT_EQ(lent[0], std::pair(CellSize::small, 29 * Layout::kPieceBytes));
    EXPECT_EQ(lent[1], std::pair(CellSize::large, 30 * Layout::kPieceBytes));
}

}  // namespace
}  // namespace fci::gcs
