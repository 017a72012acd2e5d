// SPDX-License-Identifier: BSD-3-Clause
// The two views of a request block against each other, over a network of one process's memory.
#include "fci_core/gcs/request_block.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <vector>

#include "test/unit/gcs/wire.h"

using namespace fci;
using namespace fci::gcs::test;
using gcs::Laps;
using gcs::Layout;
using gcs::Line;

namespace {

struct Pair {
    static constexpr Layout kLayout{8, 4096};
    std::vector<std::byte> at_sender = std::vector<std::byte>(kLayout.block_bytes());
    std::vector<std::byte> at_receiver = std::vector<std::byte>(kLayout.block_bytes());
    Wire to_receiver{at_receiver}, to_sender{at_sender};
    gcs::LineWriter out;
    gcs::LineReader in;
    Pair() {
        out.attach(1, kLayout, at_sender, {}, Laps::by_transfers);
        in.attach(1, kLayout, at_receiver, kUnexpected, Laps::short_, {});
    }
    Line line(std::uint64_t tag) {
        Line l{};
        l.word[0] = tag;
        l.control = 7;
        return l;
    }
};

Status put_with(Pair& p, const Line& l, std::span<const gcs::LineWriter::Part> parts,
                std::uint64_t bytes) {
    std::memcpy(p.out.prepare().word, l.word, sizeof l.word);
    return p.out.put(p.to_receiver, static_cast<std::uint32_t>(l.control), parts, bytes);
}

}  // namespace

TEST(layout, parts_do_not_overlap) {
    for (const std::uint32_t slots : {8u, 64u, 128u, 4096u}) {
        const Layout layout{slots, 1 << 16};
        EXPECT_GE(static_cast<std::uint64_t>(Layout::returned()), sizeof(gcs::Credit));
        EXPECT_GE(static_cast<std::uint64_t>(Layout::slot(0)),
                  static_cast<std::uint64_t>(Layout::returned()) + 8);
        EXPECT_GE(static_cast<std::uint64_t>(layout.claim(0)),
                  static_cast<std::uint64_t>(Layout::slot(slots)));
        EXPECT_GE(static_cast<std::uint64_t>(layout.ring(0)),
                  static_cast<std::uint64_t>(layout.claim(Layout::kClaims - 1)) + 8);
        EXPECT_EQ(layout.block_bytes(), static_cast<std::uint64_t>(layout.ring(1 << 16)));
        EXPECT_EQ(static_cast<std::uint64_t>(Layout::slot(0)) % 64, 0u);
    }
}

TEST(layout, with__the_smaller_block_and_the_pool_of_the_other) {
    const Layout few{128, 1 << 20, 4 * Layout::kPieceBytes}, many{64, 1 << 16, 0};
    const Layout mixed{32, 1 << 22, Layout::kPieceBytes};
    for (const Layout& own : {few, many, mixed}) {
        for (const Layout& other : {few, many, mixed}) {
            const auto here = own.with(other.sizes()), there = other.with(own.sizes());
            ASSERT_TRUE(here && there);
            EXPECT_EQ(here->slots, std::min(own.slots, other.slots));
            EXPECT_EQ(here->ring_bytes, std::min(own.ring_bytes, other.ring_bytes));
            EXPECT_EQ(here->pool_bytes, other.pool_bytes);
            EXPECT_EQ(there->pool_bytes, own.pool_bytes);
            // Both find everything at the same place.
            EXPECT_EQ(here->claim(3), there->claim(3));
            EXPECT_EQ(here->ring(5), there->ring(5));
            EXPECT_LE(here->block_bytes(), std::min(own.block_bytes(), other.block_bytes()));
            EXPECT_LE(here->block_first_bytes(),
                      std::min(own.block_first_bytes(), other.block_first_bytes()));
        }
    }
}

TEST(layout, with__sizes_that_nobody_has) {
    const Layout own{64, 1 << 16, 4 * Layout::kPieceBytes};
    EXPECT_FALSE(own.with(32 | 16 << 8));
    EXPECT_FALSE(own.with(6 | 48 << 8));
    EXPECT_FALSE(own.with(6 | 16 << 8 | (Layout::kPoolPiecesMost + 1) << 16));
    EXPECT_FALSE(own.with(~std::uint64_t{0}));
    EXPECT_TRUE(own.with(31 | 47 << 8 | Layout::kPoolPiecesMost << 16));
    EXPECT_EQ(own.with(0)->slots, 1u);  // whether that is enough is for others to say
}

TEST(layout, digest__differs_with_what_it_is_given) {
    EXPECT_NE(Layout::digest(1), Layout::digest(2));
    EXPECT_EQ(Layout::digest(1), Layout::digest(1));
}

TEST(ring_place, piece__never_wraps) {
    std::uint64_t position = 0;
    for (unsigned i = 1; i < 5000; ++i) {
        const std::uint64_t bytes = (i * 37) % 900;
        const gcs::RingPlace place = gcs::ring_place(position, bytes, 8192, 4096);
        EXPECT_GE(place.begin, position);
        EXPECT_LE((place.begin & 8191) + bytes, 4096u);
        EXPECT_EQ(place.end % 64, 0u);
        position = place.end;
    }
}

TEST(line_writer, put__arrives_with_its_sequence) {
    Pair p;
    EXPECT_FALSE(p.in.ready());
    for (std::uint64_t tag = 1; tag <= 3; ++tag) {
        Line l = p.line(tag);
        ASSERT_EQ(p.out.put(p.to_receiver, l), Status::ok);
    }
    for (std::uint64_t tag = 1; tag <= 3; ++tag) {
        ASSERT_TRUE(p.in.ready());
        const Line got = p.in.take();
        EXPECT_EQ(got.word[0], tag);
        EXPECT_EQ(got.control & 0xff, 7u);
    }
    EXPECT_FALSE(p.in.ready());
    EXPECT_EQ(p.to_receiver.transfers, 3u);
    EXPECT_EQ(p.to_receiver.events, 1u << gcs::kWakeEvent);
}

TEST(line_writer, slots__end_until_credit_returns) {
    Pair p;
    for (unsigned i = 0; i < 8; ++i) {
        ASSERT_TRUE(p.out.slot_free());
        Line l = p.line(i);
        ASSERT_EQ(p.out.put(p.to_receiver, l), Status::ok);
    }
    EXPECT_FALSE(p.out.slot_free());
    for (unsigned i = 0; i < 4; ++i) (void)p.in.take();
    EXPECT_TRUE(p.in.credit_due());  // half of the slots
    EXPECT_FALSE(p.out.slot_free());
    ASSERT_EQ(p.in.return_credit(p.to_sender), Status::ok);
    EXPECT_TRUE(p.out.slot_free());
    EXPECT_FALSE(p.in.credit_due());
}

TEST(line_writer, again__leaves_no_trace) {
    Pair p;
    p.to_receiver.refuse = true;
    Line l = p.line(5);
    EXPECT_EQ(p.out.put(p.to_receiver, l), Status::again);
    EXPECT_EQ(p.out.sent(), 0u);
    EXPECT_FALSE(p.in.ready());
    p.to_receiver.refuse = false;
    EXPECT_EQ(p.out.put(p.to_receiver, l), Status::ok);
    ASSERT_TRUE(p.in.ready());
    EXPECT_EQ(p.in.take().word[0], 5u);
}

TEST(line_writer, data__is_one_transfer_and_found_by_both) {
    Pair p;
    std::vector<std::byte> data(1500);
    for (unsigned round = 0; round < 50; ++round) {
        const std::uint64_t bytes = 100 + round * 17;
        for (std::uint64_t i = 0; i < bytes; ++i) data[i] = static_cast<std::byte>(round + i);
        Line l = p.line(round);
        ASSERT_TRUE(p.out.slot_free());
        ASSERT_TRUE(p.out.ring_free(p.to_receiver, bytes)) << round;
        const gcs::LineWriter::Part parts[2] = {{data.data(), 60}, {data.data() + 60, bytes - 60}};
        const unsigned before = p.to_receiver.transfers;
        ASSERT_EQ(put_with(p, l, parts, bytes), Status::ok);
        EXPECT_EQ(p.to_receiver.transfers, before + 1);
        ASSERT_TRUE(p.in.ready());
        const Line got = p.in.take();
        EXPECT_EQ(got.word[0], round);
        EXPECT_EQ(std::memcmp(p.in.ring(got, bytes), data.data(), bytes), 0) << round;
        if (p.in.credit_due()) {
            ASSERT_EQ(p.in.return_credit(p.to_sender), Status::ok);
        }
    }
}

TEST(line_writer, ring__is_never_overrun) {
    Pair p;
    unsigned put = 0;
    const std::vector<std::byte> data(1000);
    while (p.out.slot_free() && p.out.ring_free(p.to_receiver, 1000)) {
        Line l = p.line(put++);
        const gcs::LineWriter::Part part{data.data(), 1000};
        ASSERT_EQ(put_with(p, l, {&part, 1}, 1000), Status::ok);
    }
    EXPECT_EQ(put, 4u);  // 4 x 1024 = the whole ring
    for (unsigned i = 0; i < 2; ++i) ASSERT_NE(p.in.ring(p.in.take(), 1000), nullptr);
    EXPECT_FALSE(p.out.ring_free(p.to_receiver, 1000));
    ASSERT_EQ(p.in.return_credit(p.to_sender), Status::ok);
    EXPECT_TRUE(p.out.ring_free(p.to_receiver, 1000));
}

TEST(line_reader, sequence__of_an_old_lap_is_not_taken) {
    Pair p;
    for (unsigned i = 0; i < 24; ++i) {  // three laps
        Line l = p.line(i);
        ASSERT_TRUE(p.out.slot_free());
        ASSERT_EQ(p.out.put(p.to_receiver, l), Status::ok);
        ASSERT_TRUE(p.in.ready());
        EXPECT_EQ(p.in.take().word[0], i);
        EXPECT_FALSE(p.in.ready());
        if (p.in.credit_due()) {
            ASSERT_EQ(p.in.return_credit(p.to_sender), Status::ok);
        }
    }
}

TEST(line_reader, disposed__makes_credit_due) {
    Pair p;
    EXPECT_FALSE(p.in.credit_due());
    p.in.dispose(499);
    EXPECT_FALSE(p.in.credit_due());
    p.in.dispose(1);
    EXPECT_TRUE(p.in.credit_due());
    ASSERT_EQ(p.in.return_credit(p.to_sender), Status::ok);
    EXPECT_EQ(p.out.disposed(), 500u);
}

TEST(request_block_death, attach__once_in_the_life_of_a_view) {
    Pair p;
    EXPECT_DEATH(p.out.attach(1, Pair::kLayout, p.at_sender, {}, Laps::by_transfers),
                 "broken invariant");
    EXPECT_DEATH(p.in.attach(1, Pair::kLayout, p.at_receiver, kUnexpected, Laps::by_transfers, {}),
                 "broken invariant");
}

TEST(request_block_death, put__wants_a_slot_that_is_free) {
    Pair p;
    for (unsigned i = 0; i < Pair::kLayout.slots; ++i) {
        ASSERT_EQ(p.out.put(p.to_receiver, p.line(i)), Status::ok);
    }
    EXPECT_FALSE(p.out.slot_free());
    EXPECT_DEATH((void)p.out.put(p.to_receiver, p.line(0)), "broken invariant");
}
