// SPDX-License-Identifier: BSD-3-Clause
// Messages through cells: which ones, whose token, and what a peer may say of them.
#include "fci_core/gcs/cells.h"

#include <gtest/gtest.h>

#include <functional>

#include "test/unit/mp/forger.h"
#include "test/unit/mp/pair.h"

namespace fci::mp::test {
namespace {

using gcs::Cells;

constexpr std::uint64_t kCell = 256 * 1024;  // of a pool of 4 MiB
constexpr std::size_t kShort = 4096, kLong = 60'000;
constexpr std::size_t kLine = 48;  // bytes that need no other place

Limits cell_limits() {
    Limits limits = small_limits();
    limits.layout.pool_bytes = 16 * kCell;
    limits.copy = CopyPath::Policy::ring;
    limits.lend_after = {};
    return limits;
}

/// Messages from one to the other, each alone.
struct Traffic : Pair {
    explicit Traffic(const Protocol& protocol, const Limits& limits = cell_limits())
        : Pair(protocol, {.mapped = true, .stores = true}, limits) {
        attach();
    }
    /// The bytes of it that went through a cell.
    std::uint64_t pass(int from, std::size_t bytes) {
        const std::uint64_t before = counters(from).cell_bytes;
        auto data = pattern(bytes);
        std::vector<std::byte> to(bytes);
        receive(1 - from, 7, to, ++number);
        EXPECT_GE(send(from, 0, 7, data, 10'000 + number), 0);
        settle();
        EXPECT_EQ(recorder.error(number), kSuccess);
        EXPECT_EQ(to, data);
        return counters(from).cell_bytes - before;
    }
    const Counters& counters(int end) { return ends[end]->engine().counters; }
    int number = 0;
};

struct cells : ::testing::TestWithParam<const Protocol*> {};
INSTANTIATE_TEST_SUITE_P(protocols, cells, ::testing::ValuesIn(kProtocols), protocol_name);

TEST_P(cells, messages__to_and_fro_all_go_there) {
    Traffic t(*GetParam());
    for (const std::size_t bytes : {kLine + 1, kShort, kShort + 1, kLong, std::size_t{kCell}}) {
        for (int round = 0; round < 5; ++round) {
            EXPECT_EQ(t.pass(0, bytes), bytes);
            EXPECT_EQ(t.pass(1, bytes), bytes);
        }
    }
    EXPECT_EQ(t.counters(0).cells_lent, 2u) << "a small and a large one";
    EXPECT_EQ(t.counters(1).cells_lent, 0u) << "it always had one";
}

TEST_P(cells, messages__too_short_or_too_long_do_not) {
    Traffic t(*GetParam());
    EXPECT_EQ(t.pass(0, kCell + 1), 0u);
    EXPECT_EQ(t.pass(0, kCell), kCell);
    if (!GetParam()->sends_data()) return;
    EXPECT_EQ(t.pass(0, kLine), 0u);
    EXPECT_EQ(t.pass(0, kLine + 1), kLine + 1);
}

TEST_P(cells, messages__one_way_go_on_without) {
    Traffic t(*GetParam());
    EXPECT_EQ(t.pass(0, kLong), kLong);
    EXPECT_EQ(t.pass(0, kLong), 0u) << "nothing came back";
    EXPECT_EQ(t.pass(0, kShort), kShort);
    EXPECT_EQ(t.pass(0, kShort), 0u) << "nor here";
    EXPECT_EQ(t.pass(1, kLong), kLong);
    EXPECT_EQ(t.pass(0, kLong), kLong);
    EXPECT_EQ(t.pass(1, kShort), kShort);
    EXPECT_EQ(t.pass(0, kShort), kShort);
}

TEST_P(cells, messages__nobody_asked_for) {
    Traffic t(*GetParam());
    auto data = pattern(kShort);
    std::vector<std::byte> to[4];
    for (int n = 0; n < 4; ++n) t.send(0, 0, 7, data, 100 + n);
    t.both();
    for (int n = 0; n < 4; ++n) {
        to[n].resize(kShort);
        t.receive(1, 7, to[n], 200 + n);
    }
    t.settle();
    for (const auto& each : to) EXPECT_EQ(each, data);
    EXPECT_EQ(t.pass(1, kShort), kShort);
}

TEST_P(cells, messages__that_cross) {
    Traffic t(*GetParam());
    auto data = pattern(kLong);
    for (int round = 0; round < 5; ++round) {
        std::vector<std::byte> to[2];
        for (int side : {0, 1}) {
            to[side].resize(kLong);
            t.receive(side, 7, to[side], 100 + 10 * round + side);
        }
        for (int side : {0, 1}) t.send(side, 0, 7, data, 102 + 10 * round + side);
        t.settle();
        for (int side : {0, 1}) EXPECT_EQ(to[side], data);
    }
    for (int side : {0, 1}) {
        EXPECT_EQ(t.counters(side).cells_lent, 1u);
        EXPECT_EQ(t.counters(side).cell_bytes, 5 * kLong);
    }
}

TEST_P(cells, lend__only_where_messages_went_both_ways) {
    Limits limits = cell_limits();
    limits.lend_after.fill(50'000);
    Traffic t(*GetParam(), limits);
    EXPECT_EQ(t.pass(0, kLong), 0u);
    EXPECT_EQ(t.pass(0, kLong), 0u);
    EXPECT_EQ(t.pass(1, 49'000), 0u);
    EXPECT_EQ(t.pass(1, kLong), kLong);
    EXPECT_EQ(t.counters(1).cells_lent, 1u);
    EXPECT_EQ(t.pass(0, kLong), kLong);
}

TEST_P(cells, lend__each_size_after_its_own_traffic) {
    Limits limits = cell_limits();
    limits.lend_after = {1000, 61'500};
    Traffic t(*GetParam(), limits);
    EXPECT_EQ(t.pass(0, 999), 0u);
    t.pass(1, 1000);  // a lender that announces it counts it at once
    EXPECT_EQ(t.pass(0, kLong), 0u);
    EXPECT_EQ(t.pass(0, kShort), kShort);
    EXPECT_EQ(t.pass(1, kLong), 0u);
    EXPECT_EQ(t.pass(1, kLong), kLong);
    EXPECT_EQ(t.pass(0, kLong), kLong);
}

TEST_P(cells, lend__nothing_where_one_side_has_no_pool) {
    Limits none = cell_limits();
    none.layout.pool_bytes = 0;
    Pair p(*GetParam(), {.mapped = true, .stores = true}, cell_limits(), none);
    p.attach();
    auto data = pattern(kLong);
    std::vector<std::byte> to(kLong);
    p.receive(1, 7, to, 1);
    p.send(0, 0, 7, data, 2);
    p.settle();
    EXPECT_EQ(to, data);
    EXPECT_EQ(p.ends[0]->engine().counters.cells_lent, 0u);
}

// Each lends what fits into the cells of both.
TEST_P(cells, lend__between_pools_of_different_sizes) {
    Limits larger = cell_limits();
    larger.layout.pool_bytes *= 2;
    Pair p(*GetParam(), {.mapped = true, .stores = true}, cell_limits(), larger);
    p.attach();
    int number = 0;
    for (const std::size_t bytes : {std::size_t{kCell}, kCell + 1}) {
        for (const int from : {0, 1, 0, 1}) {
            const std::uint64_t before = p.ends[from]->engine().counters.cell_bytes;
            auto data = pattern(bytes);
            std::vector<std::byte> to(bytes);
            p.receive(1 - from, 7, to, ++number);
            EXPECT_GE(p.send(from, 0, 7, data, 1000 + number), 0);
            p.settle();
            EXPECT_EQ(to, data);
            EXPECT_EQ(p.ends[from]->engine().counters.cell_bytes - before,
                      bytes == kCell ? bytes : 0)
                << number;
        }
    }
    EXPECT_EQ(p.ends[0]->engine().counters.bad_requests, 0u);
    EXPECT_EQ(p.ends[1]->engine().counters.bad_requests, 0u);
}

TEST_P(cells, dead_peer__what_was_lent_comes_back) {
    Traffic t(*GetParam());
    EXPECT_EQ(t.pass(0, kLong), kLong);
    t.world.kill(1);
    t.turns(0);
    Engine& engine = t.ends[0]->engine();
    EXPECT_EQ(engine.counters.peers_lost, 1u);
    unsigned lent = 0;
    while (lent < 20 &&
           engine.lender.lend(engine.network, engine.pool, gcs::CellSize::large).data != nullptr) {
        ++lent;
    }
    EXPECT_EQ(lent, 8u) << "half of the pool";
}

/// What a forger may say of cells: its connection is given up, or not.
void expect(bool bad, const char* what, const std::function<void(Forger&)>& story) {
    SCOPED_TRACE(what);
    Forger forger(kEnhancedMixed, {.mapped = true}, Forger::limits(64));
    story(forger);
    EXPECT_EQ(forger.gave_up(), bad);
}

constexpr std::uint64_t kForged = 64 * 1024;  // of its pool of 1 MiB
constexpr std::uint64_t kPiece = gcs::Layout::kPieceBytes;

void say_piece(Forger& f, std::uint64_t length, std::uint64_t name, std::uint16_t bytes) {
    f.say(Kind::piece, PieceRecord{f.asked(length), name}, kInPool, bytes);
}
void say_send(Forger& f, std::uint64_t name, std::uint16_t bytes) {
    f.say(Kind::send, AnnounceRecord{7, name, 0, 0, 0, 0, 0}, kInPool, bytes);
}

TEST(cells_hostile, piece) {
    const auto piece = [](std::uint64_t length, std::uint64_t name, std::uint16_t bytes) {
        return [=](Forger& f) { say_piece(f, length, name, bytes); };
    };
    expect(false, "in a cell", piece(kForged, Cells::kIsCell, 60'000));
    expect(false, "in the last one", piece(kForged, Cells::kIsCell | 60 * kPiece, 60'000));
    expect(true, "of a message that is longer", piece(kForged + 1, Cells::kIsCell, 10));
    expect(true, "beyond the pool", piece(kForged, Cells::kIsCell | 61 * kPiece, 10));
    expect(true, "between two pieces", piece(kForged, Cells::kIsCell | 64, 10));
    expect(true, "that nobody lent", piece(kForged, Cells::kIsCell | Cells::kOfReader, 10));
    expect(true, "more than is left", piece(5000, Cells::kIsCell, 5001));
    expect(true, "then in the pool", [](Forger& f) {
        const std::uint32_t receive = f.asked(20'000);
        f.say(Kind::piece, PieceRecord{receive, Cells::kIsCell}, kInPool, 10);
        f.say(Kind::piece, PieceRecord{receive, 0}, kInPool, 10);
    });
    expect(true, "first in the pool", [](Forger& f) {
        const std::uint32_t receive = f.asked(20'000);
        f.say(Kind::piece, PieceRecord{receive, 0}, kInPool, 10);
        f.say(Kind::piece, PieceRecord{receive, Cells::kIsCell}, kInPool, 10);
    });
    expect(true, "two messages in one", [](Forger& f) {
        say_piece(f, 20'000, Cells::kIsCell, 10);
        say_send(f, Cells::kIsCell, 4096);
    });
    expect(true, "in two cells", [](Forger& f) {
        const iovec from{f.data.data(), 4096}, to{f.to.data(), 20'000};
        EXPECT_EQ(f.mp.send({f.there, 0, 0, 9, 0, {&from, 1}}, {}, nullptr), kDone);
        constexpr std::uint64_t kOwn = Cells::kIsCell | Cells::kIsSmall;
        const std::uint64_t its = f.hear().word[1] | Cells::kOfReader;
        EXPECT_EQ(its & kOwn, kOwn);
        const std::uint32_t receive = f.asked(4000);
        f.mp.receive({kAnySource, 0, 8, 0}, {&to, 1}, f.recorder.on(3), nullptr, nullptr);
        f.say(Kind::announce, AnnounceRecord{8, 0, 4000, 0, 4, 0, 0});
        const std::uint32_t other = unpack<ClearToSendRecord>(f.hear()).receive;
        f.say(Kind::piece, PieceRecord{receive, kOwn}, kInPool, 10);
        f.say(Kind::piece, PieceRecord{other, its}, kInPool, 10);
        EXPECT_FALSE(f.gave_up()) << "each message is in a cell of its own";
        f.say(Kind::piece, PieceRecord{receive, its}, kInPool, 10);
    });
}

TEST(cells_hostile, send) {
    const auto send = [](std::uint64_t name, std::uint16_t bytes) {
        return [=](Forger& f) { say_send(f, name, bytes); };
    };
    expect(false, "in a cell", send(Cells::kIsCell, 4096));
    expect(true, "beyond the pool", send(Cells::kIsCell | 61 * kPiece, 10));
    expect(true, "that nobody lent", send(Cells::kIsCell | Cells::kOfReader, 10));
    expect(true, "which it has not got back", [](Forger& f) {
        say_send(f, Cells::kIsCell, 4096);
        say_send(f, Cells::kIsCell, 4096);
    });
    expect(true, "another than before", [](Forger& f) {
        say_send(f, Cells::kIsCell, 4096);
        say_send(f, Cells::kIsCell | 4 * kPiece, 4096);
    });
    constexpr std::uint64_t kSmall = Cells::kIsCell | Cells::kIsSmall;
    expect(false, "in a small cell", send(kSmall | 3 * 4096, 4096));
    expect(false, "in the last small one", send(kSmall | (64 * kPiece - 4096), 49));
    expect(true, "longer than a small one", send(kSmall, 4097));
    expect(true, "small, beyond the pool", send(kSmall | 64 * kPiece, 49));
    expect(true, "small, between two", send(kSmall | 2048, 49));
    expect(true, "small, which nobody lent", send(kSmall | Cells::kOfReader, 49));
    expect(true, "small, which it has not got back", [](Forger& f) {
        say_send(f, kSmall, 49);
        say_send(f, kSmall, 49);
    });
}

}  // namespace
}  // namespace fci::mp::test
