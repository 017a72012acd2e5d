// SPDX-License-Identifier: BSD-3-Clause
// How many steps a message takes under each protocol (eqs. 2.16-2.22), inside a host and where data
// go directly; how many requests, and how many copies.
#include <gtest/gtest.h>

#include <vector>

#include "test/unit/mp/pair.h"

namespace fci::mp::test {
namespace {

constexpr Nanoseconds kStep = 4'000'000;
constexpr std::size_t kShort = 64, kLong = 100'000;

enum class Place : std::uint8_t { inside_a_host, between_hosts };

sim::WorldOptions options_of(Place place) {
    sim::WorldOptions options =
        place == Place::between_hosts ? direct_options() : sim::WorldOptions{};
    options.delay_min = options.delay_max = kStep;
    options.split_percent = 0;
    return options;
}

/// As by default, but that nothing is copied by the kernel: a pull needs no offer.
Limits limits_of(const Protocol& protocol, Place place) {
    Limits limits = small_limits();
    limits.layout = {128, 1 << 20};
    limits.unexpected_bytes = 512 * 1024;
    if (protocol.sends_data()) limits.eager_bytes = protocol.data_most;
    if (protocol.offers_receives()) limits.offer_bytes = protocol.offered_least;
    if (place == Place::inside_a_host) limits.copy = CopyPath::Policy::ring;
    return limits;
}

struct Figures {
    std::uint64_t steps = 0;
    std::uint64_t requests = 0;    // of both sides, with what returns credit
    std::uint64_t uncombined = 0;  // the same if each part and each event were one
    std::uint64_t direct_bytes = 0, ring_bytes = 0, declined = 0;
};

struct Exchange {
    const Protocol& protocol;
    Place place;
    std::size_t bytes;
    bool from_anybody;
};

/// Of messages that go to and fro, each answered when it has come, by a process that has posted its
/// next receive before (algorithm 4.2). Nothing but a step takes time.
Figures run(const Exchange& exchange, int messages) {
    Pair p(exchange.protocol, options_of(exchange.place),
           limits_of(exchange.protocol, exchange.place));
    p.attach();
    p.settle();
    const Nanoseconds start = p.world.now();
    const sim::World::Statistics before = p.world.statistics();
    auto data = pattern(exchange.bytes);
    std::vector<std::byte> to[2]{std::vector<std::byte>(exchange.bytes),
                                 std::vector<std::byte>(exchange.bytes)};
    Limit limit("the last message");
    p.receive(1, 7, to[1], 0, nullptr, exchange.from_anybody);
    for (int i = 0; i < messages; ++i) {
        const int from = i % 2;
        if (i + 1 < messages) {
            p.receive(from, 7, to[from], i + 1, nullptr, exchange.from_anybody);
        }
        p.send(from, 0, 7, data, 1000 + i);
        while (!p.recorder.has(i) && limit.holds()) p.both(1);
    }
    const auto steps = static_cast<std::uint64_t>((p.world.now() - start) / kStep);
    const sim::World::Statistics& now = p.world.statistics();
    Figures figures{steps, now.transfers - before.transfers,
                    now.parts - before.parts + now.events - before.events};
    p.settle();
    EXPECT_EQ(to[1], data);
    for (int who : {0, 1}) {
        const Counters& counters = p.ends[who]->engine().counters;
        figures.direct_bytes += counters.direct_bytes;
        figures.ring_bytes += counters.ring_bytes;
        figures.declined += counters.receives_declined;
    }
    return figures;
}

class steps : public ::testing::TestWithParam<Place> {
protected:
    [[nodiscard]] Figures named(const Protocol& protocol, std::size_t bytes, int messages) const {
        return run({protocol, GetParam(), bytes, false}, messages);
    }
    [[nodiscard]] Figures any(const Protocol& protocol, std::size_t bytes, int messages) const {
        return run({protocol, GetParam(), bytes, true}, messages);
    }
    [[nodiscard]] bool is_direct() const { return GetParam() == Place::between_hosts; }
};
INSTANTIATE_TEST_SUITE_P(places, steps,
                         ::testing::Values(Place::inside_a_host, Place::between_hosts),
                         [](const auto& p) {
                             return p.param == Place::between_hosts ? "between_hosts"
                                                                    : "inside_a_host";
                         });

TEST_P(steps, of_a_message__as_the_dissertation_counts_them) {
    // Inside a host, where a step is a cache line, one that has crossed its offer is asked for.
    const unsigned crossing = is_direct() ? 1 : 2;
    for (const int n : {1, 10, 100}) {
        SCOPED_TRACE(n);
        const auto messages = static_cast<std::uint64_t>(n);
        for (const std::size_t bytes : {kShort, kLong}) {
            SCOPED_TRACE(bytes);
            EXPECT_EQ(named(kTwoSided, bytes, n).steps, 3 * messages);  // eq. 2.16
            EXPECT_EQ(any(kTwoSided, bytes, n).steps, 3 * messages);
            EXPECT_EQ(named(kOneSided, bytes, n).steps, messages + 1);     // 2.18
            EXPECT_EQ(named(kMixed, bytes, n).steps, messages + crossing);  // 2.19
            EXPECT_EQ(any(kMixed, bytes, n).steps, 3 * messages);           // 2.20
            // Not there: a receive from anybody is asked for, which takes a step before the first.
            EXPECT_EQ(any(kOneSided, bytes, n).steps, 3 * messages + 1);
        }
        EXPECT_EQ(named(kOptimistic, kShort, n).steps, messages);  // 2.17
        EXPECT_EQ(any(kOptimistic, kShort, n).steps, messages);
        EXPECT_EQ(named(kOptimistic, kLong, n).steps, 3 * messages);  // it is announced
        EXPECT_EQ(named(kEnhancedMixed, kShort, n).steps, messages);  // 2.21
        EXPECT_EQ(any(kEnhancedMixed, kShort, n).steps, messages);
        EXPECT_EQ(named(kEnhancedMixed, kLong, n).steps, messages + crossing);  // as 2.19
        EXPECT_EQ(any(kEnhancedMixed, kLong, n).steps, 3 * messages);           // 2.22
    }
}

TEST_P(steps, of_a_message__none_is_for_a_decline) {
    for (const Protocol* const protocol : {&kOneSided, &kMixed, &kEnhancedMixed}) {
        EXPECT_EQ(named(*protocol, kLong, 10).declined, 0u) << protocol->name;
    }
}

TEST(steps_of_a_push, message__of_8_to_64_KiB_takes_one) {
    for (const Protocol* const protocol : {&kOptimistic, &kEnhancedMixed}) {
        for (const std::size_t bytes : {std::size_t{kPushLeast} + 1, std::size_t{kPushMost}}) {
            for (const int n : {1, 10, 100}) {
                for (const bool any : {false, true}) {
                    EXPECT_EQ(run({*protocol, Place::between_hosts, bytes, any}, n).steps,
                              static_cast<std::uint64_t>(n))
                        << protocol->name << ", " << bytes << (any ? " from anybody" : "");
                }
            }
        }
    }
}

// Credit goes back once for half of the 128 slots. What a message needs is one transfer, section
// 2.6.8: the data, the request and its event.
TEST_P(steps, requests__as_few_as_there_are_things_to_say) {
    constexpr int kMessages = 100;
    const auto most = [](unsigned requests) { return kMessages * (requests + requests / 64.0); };
    // The announcement, and what asks for it or offers; the piece where data do not go directly.
    const unsigned announced = is_direct() ? 2 : 3;
    for (const Protocol* const protocol : {&kTwoSided, &kOneSided, &kMixed}) {
        const Figures figures = named(*protocol, kShort, kMessages);
        // The first one has crossed its offer.
        const bool is_asked = protocol == &kMixed && !is_direct();
        EXPECT_LE(figures.requests, most(announced) + is_asked) << protocol->name;
        EXPECT_GE(figures.requests, 2u * kMessages) << protocol->name;
        EXPECT_GE(figures.uncombined, 2 * figures.requests) << protocol->name;
    }
    EXPECT_LE(any(kOneSided, kShort, kMessages).requests, most(announced + 1));
    for (const Protocol* const protocol : {&kOptimistic, &kEnhancedMixed}) {
        const Figures figures = named(*protocol, kShort, kMessages);
        EXPECT_LE(figures.requests, most(1)) << protocol->name;
        EXPECT_GE(figures.uncombined, 3u * kMessages) << protocol->name;
    }
    if (is_direct()) {
        EXPECT_LE(named(kEnhancedMixed, kLong, kMessages).requests, most(2));
    }
}

// "0 or 1" of table 2.11 needs an interface that knows the receive of a short message.
TEST(steps_between_hosts, copies__none_of_what_is_announced) {
    constexpr int kMessages = 10;
    for (const Protocol* const protocol : {&kTwoSided, &kOneSided, &kMixed, &kEnhancedMixed}) {
        const Figures figures = run({*protocol, Place::between_hosts, kLong, false}, kMessages);
        EXPECT_EQ(figures.direct_bytes, kMessages * kLong) << protocol->name;
        EXPECT_EQ(figures.ring_bytes, 0u) << protocol->name;
    }
    EXPECT_EQ(run({kEnhancedMixed, Place::between_hosts, kShort, false}, kMessages).direct_bytes,
              0u);
}

}  // namespace
}  // namespace fci::mp::test
