// How many steps a message takes under each protocol: eqs. 2.16-2.21.
#include <gtest/gtest.h>

#include <vector>

#include "test/unit/mp/pair.h"

namespace fci::mp::test {
namespace {

/// Of messages that go to and fro, each answered when it has come. Nothing but a step takes time.
std::uint64_t steps(const Protocol& protocol, int messages, bool any) {
    constexpr Nanoseconds kStep = 4'000'000;
    sim::WorldOptions options;
    options.delay_min = options.delay_max = kStep;
    options.split_percent = 0;
    Limits limits = small_limits();
    limits.copy = CopyPath::Policy::ring;  // a pull needs no offer
    if (!protocol.sends_data()) limits.offer_bytes = 1;
    Pair p(protocol, options, limits);
    p.attach();
    p.settle();
    const Nanoseconds start = p.world.now();
    auto data = pattern(64);
    std::vector<std::byte> to(64);
    Limit limit("the last message");
    p.receive(1, 7, to, 0, nullptr, any);
    for (int i = 0; i < messages; ++i) {
        const int from = i % 2;
        bool sent = p.send(from, 0, 7, data, 1000 + i) == kDone, posted = false;
        while (!(p.recorder.has(i) && posted) && limit.holds()) {
            p.both(1);
            sent = sent || p.recorder.has(1000 + i);
            // Who has sent one message receives the next.
            if (sent && !posted) p.receive(from, 7, to, i + 1, nullptr, any);
            posted = sent;
        }
    }
    return static_cast<std::uint64_t>((p.world.now() - start) / kStep);
}

TEST(steps, of_a_message__as_the_dissertation_counts_them) {
    for (const int n : {1, 10, 100}) {
        const auto messages = static_cast<std::uint64_t>(n);
        EXPECT_EQ(steps(kTwoSided, n, false), 3 * messages);       // eq. 2.16
        EXPECT_EQ(steps(kOptimistic, n, false), messages);         // 2.17
        EXPECT_EQ(steps(kOneSided, n, false), messages + 1);       // 2.18
        EXPECT_EQ(steps(kMixed, n, true), 3 * messages);           // 2.20
        EXPECT_EQ(steps(kEnhancedMixed, n, true), messages);       // 2.21
        // Not there: a receive from anybody is asked for, which takes a step before the first.
        EXPECT_EQ(steps(kOneSided, n, true), 3 * messages + 1);
    }
}

}  // namespace
}  // namespace fci::mp::test
