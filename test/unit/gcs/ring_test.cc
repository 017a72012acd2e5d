// SPDX-License-Identifier: BSD-3-Clause
// The ring of a request block: its laps, and the memory that is asked for.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <deque>
#include <random>
#include <vector>

#include "fci_core/gcs/request_block.h"
#include "test/unit/gcs/wire.h"

using namespace fci;
using namespace fci::gcs::test;
using gcs::Laps;
using gcs::Layout;
using gcs::Line;

namespace {

// A ring of 256 KiB, and whoever takes out of it what the other puts in.
struct LargeRing {
    static constexpr Layout kLayout{256, 256 * 1024};
    static_assert(kLayout.block_first_bytes() < kLayout.block_bytes());
    std::vector<std::byte> near = std::vector<std::byte>(kLayout.block_bytes());
    std::vector<std::byte> far = std::vector<std::byte>(kLayout.block_bytes());
    Wire there{far}, back{near};
    gcs::LineWriter out;
    gcs::LineReader in;
    static constexpr std::uint64_t kNoEvents = 0;
    explicit LargeRing(Laps laps = Laps::by_transfers) {
        nhi::Link link;
        if (laps != Laps::by_transfers) {
            link = {.block = far.data(), .block_bytes = far.size(), .wanted_events = &kNoEvents};
        }
        out.attach(1, kLayout, near, link, laps);
        in.attach(1, kLayout, far, kUnexpected, laps, {});
    }
    bool put(std::uint64_t bytes, std::uint8_t content) {
        const std::vector<std::byte> data(bytes, std::byte{content});
        const gcs::LineWriter::Part part{data.data(), bytes};
        return out.slot_free() && out.ring_free(there, bytes) &&
               out.put(there, 7, {&part, 1}, bytes) == Status::ok;
    }
    void take(std::uint64_t bytes, std::uint8_t content) {
        ASSERT_TRUE(in.ready());
        const std::byte* const data = in.ring(in.take(), bytes);
        ASSERT_NE(data, nullptr);
        EXPECT_EQ(std::count(data, data + bytes, std::byte{content}),
                  static_cast<std::ptrdiff_t>(bytes));
        last_end = static_cast<std::uint64_t>(data + bytes - ring_begin());
        EXPECT_LE(last_end, memory());
        if (in.credit_due()) {
            ASSERT_EQ(in.return_credit(back), Status::ok);
        }
    }
    std::uint64_t last_end = 0;  // in the ring, of what was taken last
    [[nodiscard]] const std::byte* ring_begin() const {
        return far.data() + static_cast<std::uint64_t>(kLayout.ring(0));
    }
    /// Of the ring, that was asked for: without a gap, each time as much again.
    [[nodiscard]] std::uint64_t memory() const {
        std::uint64_t bytes = kLayout.ring_first_bytes();
        for (const auto& [address, more] : there.provided) {
            EXPECT_EQ(address, static_cast<std::uint64_t>(kLayout.ring(bytes)));
            EXPECT_EQ(more, bytes);
            bytes += more;
        }
        return bytes;
    }
};

}  // namespace

TEST(line_writer, ring__of_stores_stays_short_where_messages_are_taken_as_they_come) {
    for (const std::uint64_t bytes : {49u, 1000u, 1024u, 4096u, 8192u, 9000u}) {
        LargeRing ring(Laps::short_);
        for (unsigned i = 0; i < 20'000; ++i) {
            ASSERT_TRUE(ring.put(bytes, static_cast<std::uint8_t>(i))) << i;
            ring.take(bytes, static_cast<std::uint8_t>(i));
        }
        EXPECT_EQ(ring.memory(), std::max<std::uint64_t>(4096, std::bit_ceil(bytes))) << bytes;
    }
}

/// As many messages on the way as fill a longer lap; then they are taken as they come again.
TEST(line_writer, ring__is_gone_round_in_as_far_as_the_peer_lags) {
    for (const Laps laps : {Laps::short_, Laps::long_, Laps::by_transfers}) {
        for (const std::uint64_t bytes : {64u, 512u, 1024u, 4096u}) {
            LargeRing ring(laps);
            unsigned put = 0, taken = 0;
            const auto take = [&] { ring.take(bytes, static_cast<std::uint8_t>(taken++)); };
            const auto fill = [&](unsigned ahead) {
                for (; put < taken + ahead; ++put) {
                    ASSERT_TRUE(ring.put(bytes, static_cast<std::uint8_t>(put))) << put;
                }
            };
            const auto ahead = static_cast<unsigned>(std::min<std::uint64_t>(32'768 / bytes, 100));
            fill(ahead);
            while (taken < put) take();
            EXPECT_GE(ring.memory(), ahead * bytes);
            for (unsigned i = 0; i < 40'000; ++i) {
                fill(1);
                take();
            }
            std::uint64_t longest = 0;
            for (unsigned i = 0; i < 200; ++i) {
                fill(1);
                take();
                longest = std::max(longest, ring.last_end);
            }
            const std::uint64_t short_lap = std::max<std::uint64_t>(4096, 4 * bytes);
            EXPECT_EQ(longest <= short_lap, laps == Laps::short_) << bytes;
        }
    }
}

// Whatever is on the way stays as it is until it is taken.
TEST(line_writer, ring__keeps_what_is_on_the_way) {
    for (const Laps laps : {Laps::short_, Laps::long_, Laps::by_transfers}) {
        std::mt19937 draw(static_cast<unsigned>(laps));
        LargeRing ring(laps);
        std::deque<std::uint64_t> on_the_way;
        unsigned put = 0, taken = 0, refused = 0;
        std::uint64_t most = 4096, ahead = 1;
        for (unsigned i = 0; i < 200'000; ++i) {
            if (draw() % 500 == 0) most = std::uint64_t{64} << draw() % 9;
            if (draw() % 100 == 0) ahead = draw() % 4 == 0 ? 100 : 1 + draw() % 4;
            const std::uint64_t bytes = 1 + draw() % most;
            if (on_the_way.size() < ahead && ring.put(bytes, static_cast<std::uint8_t>(put))) {
                on_the_way.push_back(bytes);
                ++put;
                continue;
            }
            refused += on_the_way.size() < ahead;
            if (on_the_way.empty()) continue;
            ring.take(on_the_way.front(), static_cast<std::uint8_t>(taken++));
            on_the_way.pop_front();
        }
        EXPECT_GT(put, 50'000u);
        EXPECT_GT(refused, 100u) << "the ring was full at times";
    }
}

TEST(line_writer, ring__of_transfers_grows_with_what_went_through) {
    for (const std::uint64_t bytes : {49u, 1000u, 1024u, 4096u, 8192u, 9000u}) {
        LargeRing ring;
        std::uint64_t sent = 0, before = std::max(ring.memory(), std::bit_ceil(bytes));
        for (unsigned i = 0; i < 20'000; ++i) {  // many laps
            ASSERT_TRUE(ring.put(bytes, static_cast<std::uint8_t>(i))) << i;
            ring.take(bytes, static_cast<std::uint8_t>(i));
            sent += bytes;
            // A lap for each length, of which a message may leave half out.
            ASSERT_LE(ring.memory(), std::max(before, 4 * sent)) << bytes;
        }
        EXPECT_EQ(ring.memory(), LargeRing::kLayout.ring_bytes) << bytes;
        EXPECT_EQ(ring.there.provided.size(), 6u);  // and no more
    }
}

TEST(line_writer, ring__grows_by_doubling_as_far_as_it_is_needed) {
    LargeRing ring;
    unsigned put = 0, taken = 0;
    for (const unsigned ahead : {30u, 50u, 5u}) {
        for (unsigned refused = 0; put < taken + ahead;) {
            ring.there.full = put == 16 && refused == 0;
            if (ring.put(4096, static_cast<std::uint8_t>(put))) {
                ++put;
                continue;
            }
            // No memory, or the place that a smaller ring left out is still on the way.
            ASSERT_LT(++refused, 30u) << put;
            if (!ring.there.full) ring.take(4096, static_cast<std::uint8_t>(taken++));
        }
        EXPECT_EQ(ring.memory(), ahead == 30 ? 128 * 1024u : 256 * 1024u);
        for (unsigned i = 0; i < 500; ++i) {
            ring.take(4096, static_cast<std::uint8_t>(taken++));
            ASSERT_TRUE(ring.put(4096, static_cast<std::uint8_t>(put))) << put;
            ++put;
        }
    }
    EXPECT_EQ(ring.there.provided.size(), 6u);  // 4, 8, ... 128 KiB more
}

TEST(line_reader, ring__takes_no_place_that_cannot_be) {
    LargeRing ring;
    ASSERT_TRUE(ring.put(100, 1));
    Line line = ring.in.take();
    for (const std::uint64_t begin :
         {LargeRing::kLayout.ring_bytes - 64, LargeRing::kLayout.ring_bytes + 64,
          ~std::uint64_t{63}, std::uint64_t{1} << 63}) {
        line.word[gcs::kRingWord] = begin;
        EXPECT_EQ(ring.in.ring(line, 100), nullptr) << begin;
    }
    line.word[gcs::kRingWord] = 1;  // nothing begins within a line
    EXPECT_EQ(ring.in.ring(line, LargeRing::kLayout.ring_bytes + 1), nullptr);
    EXPECT_EQ(ring.in.ring(line, 100), ring.ring_begin());
}
