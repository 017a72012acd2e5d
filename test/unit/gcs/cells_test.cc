// Cells, both sides in one process.
#include "fci_core/gcs/cells.h"

#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "drivers/sim/ideal/world.h"
#include "fci_core/gcs/piece_pool.h"

namespace fci::gcs {
namespace {

using State = Cells::State;

struct Listener final : ddi::PeerListener {
    void peer_attached(nhi::PeerId) override {}
    void peer_lost(nhi::PeerId, Status, const std::string&) override {}
};

/// Two processes with pools of 32 pieces, so cells of two.
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
        }
    }
    void lend(int from) {
        const PiecePool::Piece piece =
            pools[from].lend(devices[from]->network(), layout.cell_bytes());
        ASSERT_NE(piece.data, nullptr);
        cells[from].lend(piece.data, piece.offset);
    }
    Cells::Cell* find(int at, std::uint64_t name, State state = State::away) {
        return cells[at].find(devices[at]->network(), other[at], layout, name, state);
    }
    /// A message of one byte; its name.
    std::uint64_t pass(int from, std::byte value) {
        Cells::Cell& cell = cells[from].take();
        *cell.data = value;
        const std::uint64_t name = cells[from].name(cell);
        Cells::gone(cell);
        Cells::Cell* const there = find(1 - from, name);
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
    Cells cells[2];
};

TEST(cells, take__who_received_writes_next) {
    Two two;
    EXPECT_FALSE(two.cells[0].has_one());
    two.lend(0);
    EXPECT_TRUE(two.cells[0].has_one());
    EXPECT_FALSE(two.cells[1].has_one());
    for (int round = 0; round < 4; ++round) {
        EXPECT_EQ((two.pass(0, std::byte{1}) & Cells::kOfReader), 0u);
        EXPECT_FALSE(two.cells[0].has_one());
        EXPECT_NE((two.pass(1, std::byte{2}) & Cells::kOfReader), 0u);
        EXPECT_FALSE(two.cells[1].has_one());
    }
}

TEST(cells, take__two_messages_cross) {
    Two two;
    two.lend(0);
    two.lend(1);
    for (int round = 0; round < 4; ++round) {
        Cells::Cell& a = two.cells[0].take();
        Cells::Cell& b = two.cells[1].take();
        const std::uint64_t names[] = {two.cells[0].name(a), two.cells[1].name(b)};
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
    EXPECT_FALSE(two.cells[1].has_one());
}

TEST(cells, keep__nothing_was_said) {
    Two two;
    two.lend(0);
    Cells::keep(two.cells[0].take());
    EXPECT_TRUE(two.cells[0].has_one());
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

TEST(cells, lend__half_of_the_pool_stays) {
    Two two;
    std::vector<std::uint64_t> offsets;
    for (;;) {
        const PiecePool::Piece piece =
            two.pools[0].lend(two.devices[0]->network(), two.layout.cell_bytes());
        if (piece.data == nullptr) break;
        offsets.push_back(piece.offset);
    }
    ASSERT_EQ(offsets.size(), 8u);
    EXPECT_EQ(offsets.back(), 16 * Layout::kPieceBytes);
    two.pools[0].take_back_cell(offsets[3]);
    EXPECT_EQ(two.pools[0].lend(two.devices[0]->network(), two.layout.cell_bytes()).offset,
              offsets[3]);
    EXPECT_EQ(two.pools[0].lend(two.devices[0]->network(), two.layout.cell_bytes()).data, nullptr);
}

TEST(cells, lend__what_pieces_have_is_theirs) {
    Two two;
    ASSERT_NE(two.pools[0].next(two.devices[0]->network(), 1).data, nullptr);
    EXPECT_EQ(two.pools[0].lend(two.devices[0]->network(), two.layout.cell_bytes()).data, nullptr)
        << "the first 64 pieces come at once";
}

}  // namespace
}  // namespace fci::gcs
