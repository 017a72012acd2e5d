// SPDX-License-Identifier: BSD-3-Clause
// A kernel that refuses to copy in one direction or both, from the start or from some moment on:
// long messages arrive whole all the same, by another way.
#include <gtest/gtest.h>

#include <string>
#include <tuple>

#include "test/unit/mp/forger.h"
#include "test/unit/seed.h"

namespace fci::mp::test {
namespace {

using Direction = nhi::NetworkInterface::Direction;
using Policy = CopyPath::Policy;

constexpr unsigned kNever = 0xffff;
constexpr std::size_t kLong = 400'000;  // seven pieces
constexpr int kSender = 0, kReceiver = 1;

/// After how many calls each side is refused, in the direction that it needs.
struct Refusal {
    unsigned sender, receiver;
};

struct Way {
    const char* name;
    const Protocol* protocol;
    Policy policy;
};
const Way kWays[] = {{"pull", &kTwoSided, Policy::pull},
                     {"asked", &kTwoSided, Policy::shared},
                     {"offered", &kEnhancedMixed, Policy::shared},
                     {"measured", &kEnhancedMixed, Policy::measure}};

/// A way, and whether blocks are written by transfers, which take their time, and streams go by the
/// pool; else by stores, and by the ring.
struct refused : ::testing::TestWithParam<std::tuple<Way, bool>> {
    refused() : limits(small_limits()) {
        const auto& [way, transfers] = GetParam();
        limits.copy = way.policy;
        world.stores = !transfers;
        if (transfers) limits.layout.pool_bytes = 4 * gcs::Layout::kPieceBytes;
    }
    const Protocol& protocol() const { return *std::get<0>(GetParam()).protocol; }

    Limits limits;
    sim::WorldOptions world{.mapped = true, .kernel_copy = true};
};
INSTANTIATE_TEST_SUITE_P(ways, refused,
                         ::testing::Combine(::testing::ValuesIn(kWays), ::testing::Bool()),
                         [](const auto& of) {
                             return std::string(std::get<0>(of.param).name) +
                                    (std::get<1>(of.param) ? "_transfers" : "_stores");
                         });

struct Messages : Pair {
    Messages(const Protocol& protocol, const sim::WorldOptions& options, const Limits& limits)
        : Pair(protocol, options, limits) {
        attach();
    }
    void refuse(const Refusal& refusal) {
        if (refusal.sender != kNever) {
            world.refuse_copies(kSender, Direction::write, refusal.sender);
        }
        if (refusal.receiver != kNever) {
            world.refuse_copies(kReceiver, Direction::read, refusal.receiver);
        }
    }
    /// So many at once, every other receive posted first; turns as `chance` has it.
    void exchange(unsigned count, std::size_t bytes, Prng& chance) {
        std::vector<std::vector<std::byte>> from(count), to(count);
        recorder.outcomes.clear();
        const auto number = [](unsigned i) { return static_cast<int>(i); };
        const auto receive_of = [&](unsigned i) { return number(1000 + i); };
        const auto post = [&](unsigned i) { receive(kReceiver, i, to[i], receive_of(i)); };
        for (unsigned i = 0; i < count; ++i) {
            from[i] = pattern(bytes, i);
            to[i].resize(bytes);
            if (i % 2 == 0) post(i);
        }
        both(chance.chance(50) ? 5 : 0);
        for (unsigned i = 0; i < count; ++i) {
            EXPECT_EQ(send(kSender, 0, i, from[i], number(i)), kAccepted);
        }
        for (unsigned i = 1; i < count; i += 2) post(i);
        for (unsigned i = 0; i < 100; ++i) {
            turns(static_cast<int>(chance.below(2)), 1 + static_cast<unsigned>(chance.below(4)));
        }
        settle();
        for (unsigned i = 0; i < count; ++i) {
            for (const int one : {number(i), receive_of(i)}) {
                ASSERT_TRUE(recorder.has(one)) << "never ends: " << one;
                ASSERT_EQ(recorder.error(one), kSuccess) << one;
            }
            ASSERT_EQ(to[i], from[i]) << "message " << i;
        }
    }
    void expect_nothing_left() {
        for (const auto& end : ends) {
            EXPECT_EQ(end->engine().counters.bad_requests, 0u);
            EXPECT_EQ(end->engine().orders.used(), 0u);
        }
    }
    [[nodiscard]] std::uint64_t refusals(int who) const {
        return ends[who]->engine().counters.copies_refused;
    }
    [[nodiscard]] std::uint64_t kernel_bytes(int who) const {
        return ends[who]->engine().counters.kernel_bytes;
    }
};

TEST_P(refused, from_the_start__messages_arrive_by_what_is_left) {
    for (const Refusal refusal : {Refusal{0, kNever}, Refusal{kNever, 0}, Refusal{0, 0}}) {
        SCOPED_TRACE(std::to_string(refusal.sender) + ", " + std::to_string(refusal.receiver));
        Messages p(protocol(), world, limits);
        p.refuse(refusal);
        Prng chance(seeded(1));
        for (int i = 0; i < 16; ++i) ASSERT_NO_FATAL_FAILURE(p.exchange(1, kLong, chance));
        p.expect_nothing_left();
        EXPECT_EQ(p.refusals(kSender) + p.refusals(kReceiver), 0u) << "asked first";
        EXPECT_EQ(p.kernel_bytes(kSender), 0u);
        EXPECT_EQ(p.kernel_bytes(kReceiver) != 0, refusal.receiver == kNever);
    }
}

TEST_P(refused, in_the_middle__messages_under_way_arrive_whole) {
    unsigned refusals = 0;
    for (const unsigned sender : {1u, 2u, 4u, 7u, kNever}) {
        for (const unsigned receiver : {1u, 2u, 4u, 7u, kNever}) {
            for (const std::uint64_t seed : seeds(2)) {
                SCOPED_TRACE(std::to_string(sender) + ", " + std::to_string(receiver) + ", " +
                             std::to_string(seed));
                world.seed = seed;
                Messages p(protocol(), world, limits);
                p.refuse({sender, receiver});
                Prng chance(seed);
                ASSERT_NO_FATAL_FAILURE(p.exchange(1, kLong, chance));
                ASSERT_NO_FATAL_FAILURE(p.exchange(4, kLong, chance));
                for (int i = 0; i < 4; ++i) {  // until all ways were tried
                    ASSERT_NO_FATAL_FAILURE(p.exchange(1, kLong / 2, chance));
                }
                refusals += p.refusals(kSender) + p.refusals(kReceiver);
                p.expect_nothing_left();
                ASSERT_FALSE(HasFailure());
            }
        }
    }
    EXPECT_GT(refusals, 20u);
}

/// Who is refused remembers it for this peer, and nobody else's copies end.
TEST_P(refused, in_the_middle__is_not_tried_again) {
    for (const Refusal refusal : {Refusal{2, kNever}, Refusal{kNever, 2}, Refusal{2, 2}}) {
        Messages p(protocol(), world, limits);
        p.refuse(refusal);
        Prng chance(seeded(4));
        for (int i = 0; i < 16; ++i) ASSERT_NO_FATAL_FAILURE(p.exchange(2, kLong, chance));
        const std::uint64_t before = p.refusals(kSender) + p.refusals(kReceiver);
        const std::uint64_t by_receiver = p.kernel_bytes(kReceiver);
        for (int i = 0; i < 32; ++i) ASSERT_NO_FATAL_FAILURE(p.exchange(2, kLong, chance));
        EXPECT_EQ(p.refusals(kSender) + p.refusals(kReceiver), before);
        EXPECT_EQ(p.kernel_bytes(kReceiver) != by_receiver, refusal.receiver == kNever);
        p.expect_nothing_left();
    }
}

/// Many turns of the one side in a row: it has claimed all there was when it hears of the other.
TEST_P(refused, in_the_middle__of_one_side_while_the_other_is_through) {
    for (const int first : {kSender, kReceiver}) {
        for (const unsigned calls : {1u, 2u, 6u}) {
            for (const bool both_refused : {false, true}) {
                Messages p(protocol(), world, limits);
                auto from = pattern(kLong);
                std::vector<std::byte> to(kLong);
                p.refuse(first == kSender ? Refusal{calls, both_refused ? 7u : kNever}
                                          : Refusal{both_refused ? 7u : kNever, calls});
                p.receive(kReceiver, 7, to, 1);
                p.both(3);
                p.send(kSender, 0, 7, from, 2);
                p.turns(kReceiver, 1);
                p.turns(first, calls - 1);
                p.turns(1 - first, 50);
                p.turns(first, 50);
                p.settle();
                ASSERT_TRUE(p.recorder.has(1) && p.recorder.has(2));
                EXPECT_EQ(p.recorder.error(1), kSuccess);
                EXPECT_EQ(p.recorder.error(2), kSuccess);
                EXPECT_EQ(to, from);
                p.expect_nothing_left();
            }
        }
    }
}

/// A message that is longer than its receive.
TEST_P(refused, in_the_middle__of_a_truncated_message) {
    for (const Refusal refusal : {Refusal{2, kNever}, Refusal{kNever, 2}, Refusal{2, 2}}) {
        Messages p(protocol(), world, limits);
        p.refuse(refusal);
        auto from = pattern(kLong);
        std::vector<std::byte> to(kLong - 100'001);
        p.receive(kReceiver, 7, to, 1);
        p.both(3);
        p.send(kSender, 0, 7, from, 2);
        p.settle();
        ASSERT_TRUE(p.recorder.has(1) && p.recorder.has(2));
        EXPECT_EQ(p.recorder.error(1), kTruncated);
        EXPECT_EQ(p.recorder.outcomes[1].received, to.size());
        EXPECT_EQ(p.recorder.error(2), kSuccess);
        EXPECT_TRUE(std::equal(to.begin(), to.end(), from.begin()));
        p.expect_nothing_left();
    }
}

/// Buffers that are not there are told as before.
TEST_P(refused, in_one_direction__and_no_memory_in_the_other) {
    for (const int who : {kSender, kReceiver}) {
        sim::WorldOptions options = world;
        options.copy_faults = true;
        if (limits.copy == Policy::measure || (limits.copy == Policy::pull && who == kReceiver)) {
            continue;  // nobody copies
        }
        Pair p(protocol(), options, limits);
        p.attach();
        p.world.refuse_copies(who, who == kSender ? Direction::write : Direction::read, 1);
        auto from = pattern(kLong);
        std::vector<std::byte> to(kLong);
        p.receive(kReceiver, 7, to, 1);
        p.both(3);
        p.send(kSender, 0, 7, from, 2);
        p.settle();
        EXPECT_EQ(p.recorder.error(1), kFault);
        EXPECT_EQ(p.recorder.error(2), kFault);
    }
}

/// A copy that ends as it should not is work that the turn has done.
TEST(refused_copies, turn__counts_one_that_is_refused_and_one_that_fails) {
    for (const bool is_refused : {true, false}) {
        SCOPED_TRACE(is_refused ? "refused" : "its peer is dead");
        Forger f(kEnhancedMixed, {.mapped = true, .kernel_copy = true});
        f.mp.engine().peers[f.there].path.set_policy(Policy::shared);
        f.posted(7, 100'000, kAnySource);
        const auto address = reinterpret_cast<std::uint64_t>(f.data.data());
        const AnnounceRecord record{7, 0, 100'000, address, 3, 0, 0};
        EXPECT_EQ(f.out.put(f.bad->network(), pack(Control{Kind::announce, 0, 0}, record)),
                  Status::ok);
        while (!f.world.idle()) f.device->network().poll(0);
        EXPECT_EQ(f.mp.turn(), 2) << "the announcement and a piece";
        if (is_refused) {
            f.world.refuse_copies(0, Direction::read);
            EXPECT_EQ(f.mp.turn(), 1);
            EXPECT_FALSE(f.recorder.has(2)) << "the sender copies it";
        } else {
            f.world.kill(1);
            EXPECT_EQ(f.mp.turn(), 2) << "and the receive that is told";
            EXPECT_EQ(f.recorder.error(2), kPeerLost);
        }
    }
}

}  // namespace
}  // namespace fci::mp::test
