// SPDX-License-Identifier: BSD-3-Clause
// Messages through the sender's pool: which go there, which wait, and which claims are believed.
#include <gtest/gtest.h>

#include <string>

#include "test/unit/mp/pair.h"

namespace fci::mp::test {
namespace {

constexpr std::uint64_t kPiece = gcs::Layout::kPieceBytes;
constexpr std::size_t kLong = 300'000;

Limits pool_limits(std::uint64_t pieces) {
    Limits limits = small_limits();
    limits.layout.pool_bytes = pieces * kPiece;
    limits.copy = CopyPath::Policy::ring;
    return limits;
}

struct pool : ::testing::TestWithParam<const Protocol*> {};
INSTANTIATE_TEST_SUITE_P(protocols, pool, ::testing::ValuesIn(kProtocols),
                         protocol_name);

/// One message each way; what went through the pools.
std::uint64_t exchange(const Protocol& protocol, const sim::WorldOptions& options,
                       const Limits& limits) {
    Pair p(protocol, options, limits);
    p.attach();
    auto data = pattern(kLong);
    std::vector<std::byte> to[2] = {std::vector<std::byte>(kLong), std::vector<std::byte>(kLong)};
    for (int round = 0; round < 3; ++round) {
        for (int side : {0, 1}) {
            p.receive(side, 7, to[side], 10 * round + side);
            EXPECT_EQ(p.send(side, 0, 7, data, 10 * round + 2 + side), kAccepted);
        }
        p.settle();
        for (int side : {0, 1}) {
            EXPECT_EQ(p.recorder.error(10 * round + side), kSuccess);
            EXPECT_EQ(to[side], data);
            to[side].assign(kLong, std::byte{0});
        }
    }
    EXPECT_EQ(p.ends[0]->engine().counters.ring_bytes, 6 * kLong) << "sent and received";
    EXPECT_EQ(p.ends[0]->engine().counters.pool_bytes, p.ends[1]->engine().counters.pool_bytes);
    return p.ends[0]->engine().counters.pool_bytes;
}

TEST_P(pool, long_messages__go_there_and_nowhere_else) {
    EXPECT_EQ(exchange(*GetParam(), {.mapped = true}, pool_limits(16)), 6 * kLong);
    EXPECT_EQ(exchange(*GetParam(), {.mapped = true, .stores = true}, pool_limits(16)),
              6 * kLong);
    EXPECT_EQ(exchange(*GetParam(), {.again_percent = 30, .mapped = true}, pool_limits(4)),
              6 * kLong);
}

TEST_P(pool, long_messages__through_the_ring_where_the_network_cannot_map) {
    EXPECT_EQ(exchange(*GetParam(), {}, pool_limits(16)), 0u);
    EXPECT_EQ(exchange(*GetParam(), {.mapped = true}, pool_limits(0)), 0u);
}

/// Three processes: the first one sends, the second one does not move.
struct Three : Pair {
    explicit Three(const Limits& limits, const Protocol& protocol)
        : Pair(protocol, {.mapped = true, .stores = true}, limits) {
        devices.push_back(world.open(settings_for(limits)));
        ends.push_back(std::make_unique<MessagePassing>(*devices[2], protocol, limits));
        EXPECT_EQ(devices[0]->add_peer(devices[2]->card(), &third), Status::ok);
        EXPECT_EQ(devices[2]->add_peer(devices[0]->card(), &first), Status::ok);
        attach();
        // All that the stopped one needs to see is there before it stops.
        for (int number = 0; number < 4; ++number) {
            receive(1, 50 + static_cast<std::uint64_t>(number), stopped[number], 50 + number);
        }
        settle();
    }
    void others(unsigned count = 3000) {
        for (unsigned i = 0; i < count; ++i) {
            turns(0, 1);
            turns(2, 1);
        }
    }
    /// A message from the first to the third.
    bool passes() {
        ++number;
        std::vector<std::byte> to(kLong);
        const iovec range{to.data(), to.size()};
        EXPECT_EQ(ends[2]->receive({first, 0, 7, 0}, {&range, 1}, recorder.on(number), nullptr,
                                   nullptr),
                  kAccepted);
        EXPECT_EQ(send_to(0, third, 0, 7, data, 100 + number), kAccepted);
        others();
        return recorder.has(number) && recorder.error(number) == kSuccess && to == data;
    }
    nhi::PeerId third = 0, first = 0;
    std::vector<std::byte> data = pattern(kLong);
    std::vector<std::byte> stopped[4] = {
        std::vector<std::byte>(kLong), std::vector<std::byte>(kLong), std::vector<std::byte>(kLong),
        std::vector<std::byte>(kLong)};
    int number = 1000;
};

// Only the enhanced protocol has offers, with which a sender starts without a word of the receiver.
TEST(pool, stopped_peer__holds_its_share_and_the_others_go_on) {
    Three p(pool_limits(8), kEnhancedMixed);
    for (int n = 0; n < 4; ++n) p.send(0, 0, 50 + static_cast<std::uint64_t>(n), p.data, 60 + n);
    p.others();
    const std::uint64_t before = p.ends[0]->engine().counters.pool_bytes;
    EXPECT_EQ(before, 2 * kPiece) << "a share of eight pieces";
    EXPECT_TRUE(p.passes());
    EXPECT_EQ(p.ends[0]->engine().counters.pool_bytes, before + kLong);
    p.settle();
    for (int n = 0; n < 4; ++n) EXPECT_EQ(p.stopped[n], p.data);
}

TEST(pool, stopped_peer__that_holds_all_there_is_leaves_the_ring) {
    Three p(pool_limits(1), kEnhancedMixed);
    p.send(0, 0, 50, p.data, 60);
    p.others();
    EXPECT_EQ(p.ends[0]->engine().counters.pool_bytes, kPiece);
    EXPECT_TRUE(p.passes());
    EXPECT_EQ(p.ends[0]->engine().counters.pool_bytes, kPiece);
    EXPECT_EQ(p.ends[2]->engine().counters.pool_bytes, 0u);
    p.settle();
    EXPECT_EQ(p.stopped[0], p.data);
    EXPECT_TRUE(p.passes());
    EXPECT_GT(p.ends[2]->engine().counters.pool_bytes, 0u) << "the piece has come back";
}

TEST(pool, dead_peer__gives_back_all_that_it_held) {
    Three p(pool_limits(1), kEnhancedMixed);
    p.send(0, 0, 50, p.data, 60);
    p.others();
    p.world.kill(1);
    p.others();
    EXPECT_EQ(p.recorder.error(60), kPeerLost);
    EXPECT_TRUE(p.passes());
    EXPECT_GT(p.ends[2]->engine().counters.pool_bytes, 0u);
}

TEST(pool, short_messages__find_room_there_when_the_ring_is_full) {
    Limits limits = pool_limits(256);
    limits.layout.slots = 128;
    limits.unexpected_bytes = 1 << 20;
    for (const bool stores : {false, true}) {
        Pair p(kEnhancedMixed, {.mapped = true, .stores = stores}, limits);
        p.attach();
        constexpr int kMany = 60;
        std::vector<std::vector<std::byte>> data, to;
        for (int n = 0; n < kMany; ++n) {
            data.push_back(pattern(4000, static_cast<unsigned>(n)));
            to.emplace_back(4000);
            EXPECT_EQ(p.send(0, 0, static_cast<std::uint64_t>(n), data.back(), n), kDone) << n;
        }
        for (int n = 0; n < kMany / 2; ++n) {
            EXPECT_EQ(p.receive(1, static_cast<std::uint64_t>(n), to[static_cast<unsigned>(n)],
                                200 + n),
                      kAccepted);
        }
        p.settle();
        for (int n = kMany / 2; n < kMany; ++n) {
            EXPECT_EQ(p.receive(1, static_cast<std::uint64_t>(n), to[static_cast<unsigned>(n)],
                                200 + n),
                      kDone);
        }
        EXPECT_EQ(to, data);
        EXPECT_EQ(p.ends[0]->engine().counters.sent_eager, static_cast<unsigned>(kMany));
    }
}

}  // namespace
}  // namespace fci::mp::test
