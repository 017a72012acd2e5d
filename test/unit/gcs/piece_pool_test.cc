// SPDX-License-Identifier: BSD-3-Clause
// The pool of pieces, both sides in one process.
#include "fci_core/gcs/piece_pool.h"

#include <gtest/gtest.h>

#include <set>
#include <vector>

#include "drivers/sim/ideal/world.h"

using namespace fci;
using gcs::Layout;

namespace {

struct Listener final : ddi::PeerListener {
    void peer_attached(nhi::PeerId) override {}
    void peer_lost(nhi::PeerId, Status, const std::string&) override {}
};

/// An owner of a pool, and peers that it gives pieces to.
struct Pool {
    explicit Pool(std::uint64_t pieces, bool mapped = true)
        : layout{8, 4096, pieces * Layout::kPieceBytes}, world({.mapped = mapped}) {
        ddi::Settings settings;
        settings.block_bytes = layout.block_bytes();
        settings.communication_bytes = layout.pool_bytes;
        for (unsigned i = 0; i < kProcesses; ++i) devices.push_back(world.open(settings));
        for (auto& device : devices) device->set_listener(&listener);
        for (unsigned i = 1; i < kProcesses; ++i) {
            EXPECT_EQ(owner().add_peer(devices[i]->card(), &there[i]), Status::ok);
            EXPECT_EQ(devices[i]->add_peer(owner().card(), &here[i]), Status::ok);
            EXPECT_EQ(owner().connect(there[i]), Status::ok);
        }
        for (int n = 0; n < 100; ++n) {
            for (auto& device : devices) device->network().poll(0);
        }
        for (unsigned i = 1; i < kProcesses; ++i) {
            out[i].attach(owner().block(there[i]), mapped);
        }
        pool.open(owner().network(), layout, owner().communication_memory());
    }
    ddi::Device& owner() { return *devices[0]; }
    bool serves(unsigned peer) { return pool.serves(out[peer]); }
    /// The number of the piece that went to `peer`, or of the first of several; -1: none is free.
    /// `taken`: of `bytes`.
    int give(unsigned peer, std::uint64_t bytes = 1, std::uint64_t* taken = nullptr) {
        const gcs::PiecePool::Piece piece = pool.next(owner().network(), bytes);
        if (taken != nullptr) *taken = piece.bytes;
        if (piece.data == nullptr) return -1;
        EXPECT_EQ(piece.data, owner().communication_memory().data() + piece.offset);
        *piece.data = std::byte{42};
        pool.give(out[peer], piece.bytes);
        const std::byte* const seen =
            in[peer].at(devices[peer]->network(), here[peer], layout, piece.offset, piece.bytes);
        EXPECT_NE(seen, nullptr);
        EXPECT_EQ(*seen, std::byte{42});
        return static_cast<int>(piece.offset / Layout::kPieceBytes);
    }
    void give_back(unsigned peer, std::uint64_t bytes = 1) {
        in[peer].give_back(layout, bytes);
        in[peer].tell();
    }
    bool may_give(unsigned peer, unsigned peers) { return pool.may_give(out[peer], peers); }
    std::uint64_t& word(unsigned peer) {
        return *reinterpret_cast<std::uint64_t*>(
            owner().block(there[peer]).data() + static_cast<std::uint64_t>(Layout::returned()));
    }

    static constexpr unsigned kProcesses = 9;
    Layout layout;
    sim::World world;
    Listener listener;
    std::vector<std::unique_ptr<ddi::Device>> devices;
    nhi::PeerId there[kProcesses]{}, here[kProcesses]{};
    gcs::PiecesOut out[kProcesses];
    gcs::PiecesIn in[kProcesses];
    gcs::PiecePool pool;
};

}  // namespace

TEST(piece_pool, open__only_where_peers_can_read_it) {
    EXPECT_TRUE(Pool(4).serves(1));
    EXPECT_FALSE(Pool(4, false).serves(1)) << "it cannot be mapped";
    EXPECT_FALSE(Pool(0).serves(1));
    Pool p(4);
    gcs::PiecePool more;
    more.open(p.owner().network(), Layout{8, 4096, 8 * Layout::kPieceBytes},
              p.owner().communication_memory());
    EXPECT_FALSE(more.serves(p.out[1])) << "there is less memory than that";
}

TEST(piece_pool, next__goes_round_in_a_span_and_no_further_while_all_comes_back) {
    Pool p(256);
    std::set<int> used;
    for (int n = 0; n < 1000; ++n) {
        const int piece = p.give(1);
        EXPECT_EQ(piece, n % 64);
        used.insert(piece);
        p.give_back(1);
    }
    EXPECT_EQ(used.size(), 64u);
}

TEST(piece_pool, next__takes_a_larger_span_when_the_first_was_gone_round) {
    Pool p(512);  // a span of 128
    for (int n = 0; n < 1000; ++n) {
        EXPECT_EQ(p.give(1), n % 128);
        p.give_back(1);
    }
}

TEST(piece_pool, next__two_side_by_side_where_both_are_free) {
    constexpr std::uint64_t kPiece = Layout::kPieceBytes;
    Pool p(64);
    std::uint64_t taken = 0;
    EXPECT_EQ(p.give(1, 3 * kPiece, &taken), 0);
    EXPECT_EQ(taken, 2 * kPiece);
    EXPECT_EQ(p.give(1, kPiece + 1, &taken), 2);
    EXPECT_EQ(taken, kPiece + 1);
    EXPECT_EQ(p.out[1].held(), 4u);
    for (int n = 4; n < 64; ++n) EXPECT_EQ(p.give(2), n);
    p.give_back(1, 2 * kPiece);
    p.give_back(1, kPiece + 1);
    EXPECT_EQ(p.word(1), 4u);
    EXPECT_EQ(p.give(1), 0);
    EXPECT_EQ(p.give(1, 2 * kPiece, &taken), 1);
    EXPECT_EQ(taken, 2 * kPiece);
    EXPECT_EQ(p.give(1, 2 * kPiece, &taken), 3);
    EXPECT_EQ(taken, kPiece) << "the next one is held";
}

TEST(piece_pool, next__passes_over_what_is_held_and_takes_more_when_all_near_is) {
    Pool p(256);
    for (int n = 0; n < 10; ++n) EXPECT_EQ(p.give(1), n);
    for (int n = 10; n < 64; ++n) {
        EXPECT_EQ(p.give(2), n);
        p.give_back(2);
    }
    for (int lap = 0; lap < 3; ++lap) {
        for (int n = 10; n < 64; ++n) {
            EXPECT_EQ(p.give(2), n);
            p.give_back(2);
        }
    }
    for (int n = 10; n < 64; ++n) EXPECT_EQ(p.give(1), n);
    EXPECT_EQ(p.give(2), 64);
    std::set<int> all;
    for (int n = 65; n < 256; ++n) all.insert(p.give(2));
    EXPECT_EQ(all.size(), 191u);
    EXPECT_EQ(p.give(2), -1);
    p.give_back(1);
    int tries = 0;
    while (p.give(2) != 0 && ++tries < 5) {
    }
    EXPECT_LT(tries, 5) << "each look covers a part of the pool";
}

TEST(piece_pool, take_back__what_a_lost_peer_held_is_free) {
    Pool p(8);
    for (int n = 0; n < 8; ++n) EXPECT_EQ(p.give(1), n);
    EXPECT_EQ(p.give(2), -1);
    p.pool.take_back(p.out[1]);
    for (int n = 0; n < 8; ++n) EXPECT_GE(p.give(2), 0);
    EXPECT_EQ(p.give(2), -1);
}

TEST(piece_pool, may_give__bounds_what_one_peer_has) {
    Pool p(64);
    for (int n = 0; n < 16; ++n) {
        EXPECT_TRUE(p.may_give(1, 2));
        p.give(1);
    }
    EXPECT_FALSE(p.may_give(1, 2)) << "a quarter";
    EXPECT_TRUE(p.may_give(2, 2));
    p.give_back(1);
    EXPECT_TRUE(p.may_give(1, 2));
    p.give(1);
    EXPECT_FALSE(p.may_give(1, 2));
}

TEST(piece_pool, may_give__half_of_it_is_kept_for_those_who_come_later) {
    Pool p(64);
    constexpr unsigned kPeers = 8;
    for (unsigned peer = 1; peer <= kPeers; ++peer) {
        unsigned given = 0;
        for (; p.may_give(peer, kPeers); ++given) p.give(peer);
        EXPECT_EQ(given, peer <= 2 ? 16u : 4u) << peer;
    }
    // What comes back is seen although it is another's.
    for (int n = 0; n < 16; ++n) p.give_back(1);
    for (int n = 0; n < 16; ++n) p.give_back(2);
    unsigned looks = 0;
    while (!p.may_give(8, kPeers) && looks < 10) ++looks;
    EXPECT_LT(looks, 10u);
}

TEST(pieces_out, a_word_that_makes_no_sense_is_not_believed) {
    Pool p(64);  // a share of 16
    const auto room = [&] {
        const bool may = p.may_give(1, 1);
        return may ? 16 - p.out[1].held() : 0;
    };
    for (int n = 0; n < 16; ++n) p.give(1);
    p.word(1) = 17;  // more than it ever got
    EXPECT_EQ(room(), 0u);
    p.word(1) = ~0ull;
    EXPECT_EQ(room(), 0u);
    p.word(1) = 3;
    EXPECT_EQ(room(), 3u);
    for (int n = 0; n < 3; ++n) p.give(1);
    p.word(1) = 1;  // less than before
    EXPECT_EQ(room(), 0u);
    p.word(1) = 4;
    EXPECT_EQ(room(), 1u);
}

TEST(pieces_in, at__only_whole_pieces_of_the_pool) {
    Pool p(4);
    const auto at = [&](std::uint64_t offset, std::uint64_t bytes) {
        return p.in[1].at(p.devices[1]->network(), p.here[1], p.layout, offset, bytes);
    };
    constexpr std::uint64_t kPiece = Layout::kPieceBytes;
    const std::byte* const pool = p.owner().communication_memory().data();
    EXPECT_EQ(at(0, kPiece), pool);
    EXPECT_EQ(at(3 * kPiece, kPiece), pool + 3 * kPiece);
    EXPECT_EQ(at(3 * kPiece, 0), pool + 3 * kPiece);
    EXPECT_EQ(at(0, 2 * kPiece), pool);
    EXPECT_EQ(at(0, 2 * kPiece + 1), nullptr);
    EXPECT_EQ(at(3 * kPiece, kPiece + 1), nullptr);
    EXPECT_EQ(at(4 * kPiece, 1), nullptr);
    EXPECT_EQ(at(64, 1), nullptr);
    EXPECT_EQ(at(~0ull, 1), nullptr);
    EXPECT_EQ(at(0 - kPiece, 1), nullptr);
}

TEST(pieces_in, at__nothing_where_there_is_no_pool) {
    Pool p(4);
    ASSERT_EQ(p.owner().network().close_window(Layout::kPoolWindow), Status::ok);
    EXPECT_EQ(p.in[1].at(p.devices[1]->network(), p.here[1], p.layout, 0, 1), nullptr);
}

TEST(pieces_in, give_back__is_told_once_in_a_while_and_when_asked) {
    Pool p(64);  // a share of 16
    EXPECT_FALSE(p.in[1].owes());
    for (unsigned n = 1; n <= 9; ++n) {
        p.give(1);
        p.in[1].give_back(p.layout, 1);
        EXPECT_EQ(p.word(1), n / 4 * 4);
        EXPECT_EQ(p.in[1].owes(), n % 4 != 0);
    }
    p.in[1].tell();
    EXPECT_EQ(p.word(1), 9u);
    EXPECT_FALSE(p.in[1].owes());
}
