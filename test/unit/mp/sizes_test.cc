// SPDX-License-Identifier: BSD-3-Clause
// Two processes whose blocks and pools are of different sizes, as where few ranks spawned many.
#include <gtest/gtest.h>

#include <string>
#include <tuple>

#include "test/unit/mp/pair.h"

namespace fci::mp::test {
namespace {

Limits sized(std::uint32_t slots, std::uint64_t ring_bytes, std::uint64_t pieces) {
    Limits limits = small_limits();
    limits.layout = {slots, ring_bytes, pieces * gcs::Layout::kPieceBytes};
    limits.copy = CopyPath::Policy::ring;
    return limits;
}
const Limits kSizes[] = {sized(128, 256 * 1024, 16), sized(8, 32 * 1024, 2),
                         sized(64, 64 * 1024, 0)};

sim::WorldOptions options_of(int reached) {
    sim::WorldOptions options;
    options.mapped = reached >= 1;
    options.kernel_copy = true;
    options.stores = reached == 2;
    return options;
}

/// The sizes of the one, of the other; 0: by transfers only, 1: the pools are used, 2: stores.
struct sizes : ::testing::TestWithParam<std::tuple<int, int, int>> {
    const Limits& one() const { return kSizes[std::get<0>(GetParam())]; }
    const Limits& other() const { return kSizes[std::get<1>(GetParam())]; }
    sim::WorldOptions options() const { return options_of(std::get<2>(GetParam())); }
};
INSTANTIATE_TEST_SUITE_P(pairs, sizes,
                         ::testing::Combine(::testing::Range(0, 3), ::testing::Range(0, 3),
                                            ::testing::Range(0, 3)),
                         [](const auto& p) {
                             return std::to_string(std::get<0>(p.param)) + "_" +
                                    std::to_string(std::get<1>(p.param)) + "_" +
                                    std::to_string(std::get<2>(p.param));
                         });

/// More messages than the larger block holds, and longer ones than its ring.
TEST_P(sizes, messages__of_every_kind_both_ways) {
    for (const CopyPath::Policy policy :
         {CopyPath::Policy::ring, CopyPath::Policy::shared, CopyPath::Policy::pull}) {
        Limits first = one(), second = other();
        first.copy = second.copy = policy;
        Pair p(kEnhancedMixed, options(), first, second);
        p.attach();
        int number = 0;
        for (const std::size_t bytes : {8u, 40u, 1000u, 4096u, 300'000u}) {
            const unsigned count = bytes > 4096 ? 3 : 300;
            for (const int from : {0, 1}) {
                for (unsigned i = 0; i < count; ++i) {
                    auto data = pattern(bytes, i);
                    std::vector<std::byte> to(bytes);
                    const int sent = number++, got = number++;
                    const bool early = i % 3 == 0;
                    if (early) p.receive(1 - from, 7, to, got);
                    const int code = p.send(from, 0, 7, data, sent);
                    ASSERT_GE(code, 0);
                    if (!early) p.receive(1 - from, 7, to, got);
                    for (unsigned turns = 0; !p.recorder.has(got) && turns < 3000; ++turns) {
                        p.both(1);
                    }
                    ASSERT_TRUE(p.recorder.has(got)) << bytes << " bytes, message " << i;
                    EXPECT_EQ(p.recorder.error(got), kSuccess);
                    ASSERT_EQ(to, data);
                    for (unsigned turns = 0;
                         code == kAccepted && !p.recorder.has(sent) && turns < 3000; ++turns) {
                        p.both(1);
                    }
                    ASSERT_TRUE(code == kDone || p.recorder.has(sent));
                }
            }
        }
        for (const auto& end : p.ends) {
            EXPECT_EQ(end->engine().counters.bad_requests, 0u);
            EXPECT_EQ(end->engine().orders.used(), 0u);
        }
    }
}

/// The smaller block is full long before the larger one would be.
TEST_P(sizes, flood__waits_for_room_and_arrives) {
    Pair p(kEnhancedMixed, options(), one(), other());
    p.attach();
    constexpr int kMessages = 400;
    auto data = pattern(64);
    std::vector<std::vector<std::byte>> to(kMessages, std::vector<std::byte>(64));
    for (const int from : {0, 1}) {
        p.recorder.outcomes.clear();
        for (int i = 0; i < kMessages; ++i) {
            ASSERT_GE(p.send(from, 0, 7, data, kMessages + i), 0);
        }
        p.settle();
        for (int i = 0; i < kMessages; ++i) {
            to[static_cast<std::size_t>(i)].assign(64, std::byte{0});
            p.receive(1 - from, 7, to[static_cast<std::size_t>(i)], i);
        }
        p.settle();
        for (int i = 0; i < kMessages; ++i) {
            ASSERT_TRUE(p.recorder.has(i)) << i;
            EXPECT_EQ(to[static_cast<std::size_t>(i)], data);
        }
    }
}

/// A process that says of its block what is not so, or what nobody can use.
TEST(sizes, peer__that_tells_nonsense_is_given_up) {
    const Limits limits = sized(64, 64 * 1024, 4);
    const std::uint64_t nonsense[] = {
        ~std::uint64_t{0},
        0,                                                          // one slot, a ring of a byte
        gcs::Layout{2, 64 * 1024}.sizes(),                          // too few
        gcs::Layout{64, 16 * 1024}.sizes(),                         // no room for a whole message
        limits.layout.sizes() & ~std::uint64_t{0xff},
        limits.layout.sizes() + 32,                                 // each more than there can be
        (limits.layout.sizes() & ~std::uint64_t{0xff00}) + (48 << 8),
        limits.layout.sizes() + (gcs::Layout::kPoolPiecesMost << 16)};
    for (const bool store : {false, true}) {
        for (const std::uint64_t told : nonsense) {
            SCOPED_TRACE(told);
            sim::World world({.mapped = store});
            Nobody nobody;
            ddi::Settings settings = settings_for(limits);
            auto device = world.open(settings);
            settings.sizes = told;
            auto liar = world.open(settings);
            liar->set_listener(&nobody);
            MessagePassing mp(*device, kEnhancedMixed, limits);
            Recorder recorder;
            nhi::PeerId there = 0;
            ASSERT_EQ(device->add_peer(liar->card(), &there), Status::ok);
            auto data = pattern(8);
            const iovec range{data.data(), data.size()};
            ASSERT_EQ(mp.send({there, 0, 0, 7, 0, {&range, 1}}, recorder.on(1), nullptr),
                      kAccepted);
            for (unsigned i = 0; i < 100; ++i) {
                device->network().poll(0);
                liar->network().poll(0);
                mp.turn();
            }
            ASSERT_TRUE(recorder.has(1));
            EXPECT_EQ(recorder.error(1), kPeerLost);
            EXPECT_EQ(mp.engine().counters.bad_requests, 1u);
            EXPECT_NE(std::string(mp.engine().peers.reason(there)).find("version of FCI"),
                      std::string::npos);
        }
    }
}

TEST(sizes, peer__whose_ring_is_just_large_enough) {
    Limits one = sized(64, 64 * 1024, 0), other = sized(kSlotsLeast, 32 * 1024, 0);
    one.eager_bytes = other.eager_bytes = 32 * 1024 / 4 - kHeaderMost;
    Pair p(kEnhancedMixed, {}, one, other);
    p.attach();
    EXPECT_EQ(p.ends[0]->engine().counters.bad_requests, 0u);
    EXPECT_EQ(p.ends[0]->engine().peers.connected(), 1u);
    auto data = pattern(one.eager_bytes);
    std::vector<std::byte> to(data.size());
    p.receive(1, 7, to, 1);
    EXPECT_EQ(p.send(0, 0, 7, data, 2), kDone);
    p.settle();
    EXPECT_EQ(to, data);
}

/// Also between hosts whose rings differ: a quarter of the smaller one bounds what both take.
TEST(sizes, eager__more_where_there_are_no_stores) {
    for (const bool stores : {false, true}) {
        Limits one = sized(64, 64 * 1024, 0), other = sized(64, 128 * 1024, 0);
        one.far_eager_bytes = other.far_eager_bytes = kEagerMost;
        Pair p(kEnhancedMixed, {.mapped = stores, .stores = stores}, one, other);
        p.attach();
        const std::uint64_t most = stores ? one.eager_bytes : 64 * 1024 / 4 - kHeaderMost;
        int number = 0;
        for (const int from : {0, 1}) {
            for (const std::uint64_t bytes : {most, most + 1}) {
                const Counters& counters = p.ends[from]->engine().counters;
                const std::uint64_t eager = counters.sent_eager;
                auto data = pattern(bytes);
                std::vector<std::byte> to(bytes);
                p.send(from, 0, 7, data, number++);
                p.settle();
                EXPECT_EQ(counters.sent_eager - eager, bytes == most) << bytes << " bytes";
                p.receive(1 - from, 7, to, number++);
                p.settle();
                EXPECT_EQ(to, data);
            }
        }
        for (const auto& end : p.ends) EXPECT_EQ(end->engine().counters.bad_requests, 0u);
    }
}

/// What goes out unasked needs no offer, whatever is offered to others.
TEST(sizes, offers__none_for_what_is_eager) {
    Limits limits = sized(64, 64 * 1024, 0);
    limits.far_eager_bytes = kEagerMost;
    Pair p(kEnhancedMixed, {}, limits, limits);
    p.attach();
    std::vector<std::byte> to(limits.offer_bytes), longer(16 * 1024);
    p.receive(1, 7, to, 1);
    p.settle();
    EXPECT_EQ(p.ends[1]->engine().counters.receives_offered, 0u);
    p.receive(1, 8, longer, 2);
    p.settle();
    EXPECT_EQ(p.ends[1]->engine().counters.receives_offered, 1u);
}

/// It says that there is more than it gave: found out where the block can be seen.
TEST(sizes, peer__whose_block_is_smaller_than_it_says) {
    const Limits limits = sized(64, 64 * 1024, 4);
    sim::World world({.mapped = true, .stores = true});
    ddi::Settings settings = settings_for(limits);
    auto device = world.open(settings);
    settings.block_bytes /= 2;
    auto liar = world.open(settings);
    MessagePassing mp(*device, kEnhancedMixed, limits);
    nhi::PeerId there = 0;
    ASSERT_EQ(device->add_peer(liar->card(), &there), Status::ok);
    ASSERT_EQ(device->connect(there), Status::ok);
    for (unsigned i = 0; i < 100; ++i) device->network().poll(0);
    EXPECT_EQ(mp.engine().counters.bad_requests, 1u);
    EXPECT_EQ(mp.engine().peers.connected(), 0u);
}

}  // namespace
}  // namespace fci::mp::test
