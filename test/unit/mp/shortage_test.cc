// SPDX-License-Identifier: BSD-3-Clause
// Any allocation may fail, anywhere: what was under way is delivered once memory is back, each
// message once and in order, and nothing is left over. One program of all kinds of messages is
// run again and again, and each time the next allocation is the first that fails.
#include <gtest/gtest.h>

#include "test/unit/mp/shortage_program.h"
#include "test/unit/seed.h"

namespace fci::mp::test {
namespace {

struct Way {
    const char* name;
    sim::WorldOptions options;
    CopyPath::Policy copy;
    const Protocol* protocol = &kEnhancedMixed;
};
const Way kWays[] = {
    {"pull", {.mapped = true, .stores = true, .kernel_copy = true}, CopyPath::Policy::pull},
    {"shared", {.mapped = true, .stores = true, .kernel_copy = true}, CopyPath::Policy::shared},
    {"pool", {.mapped = true, .stores = true}, CopyPath::Policy::ring},
    {"transfers", {.again_percent = 30}, CopyPath::Policy::ring},
    {"two_sided", {.mapped = true}, CopyPath::Policy::ring, &kTwoSided},
    // Between hosts, long messages go from buffer to buffer, and those of up to kPushMost unasked.
    {"direct", {.again_percent = 30, .per_host = 1, .direct = true}, CopyPath::Policy::pull},
    {"direct_two_sided", {.per_host = 1, .direct = true}, CopyPath::Policy::pull, &kTwoSided},
};

struct shortage : ::testing::TestWithParam<std::tuple<Way, unsigned>> {};
INSTANTIATE_TEST_SUITE_P(ways, shortage,
                         ::testing::Combine(::testing::ValuesIn(kWays),
                                            ::testing::Values(1u, 5u)),
                         [](const auto& of) {
                             return std::string(std::get<0>(of.param).name) + "_" +
                                    std::to_string(std::get<1>(of.param));
                         });

TEST_P(shortage, every_allocation__can_fail_and_no_message_is_lost) {
    constexpr unsigned long kAllocationsMost = 5000;
    const auto& [way, in_a_row] = GetParam();
    unsigned refused = 0, starved = 0;
    std::uint64_t pushed = 0, direct_bytes = 0;
    for (const std::uint64_t seed : seeds(3)) {
        for (unsigned long first = 0;; ++first) {
            ASSERT_LT(first, kAllocationsMost);
            Program program(*way.protocol, way.options, way.copy, seed);
            Shortage::plan(first, in_a_row);
            program.run();
            program.check();
            ASSERT_FALSE(HasFailure()) << "seed " << seed << ", failing from allocation " << first;
            if (Shortage::calls <= first) break;
            refused += program.refused;
            starved += program.starved;
            for (const auto& end : program.ends) {
                pushed += end->engine().counters.sent_pushed;
                direct_bytes += end->engine().counters.direct_bytes;
            }
        }
    }
    EXPECT_GT(refused, 20u);
    EXPECT_GT(starved, 20u);
    EXPECT_EQ(direct_bytes != 0, way.options.direct);
    EXPECT_EQ(pushed != 0, way.options.direct && way.protocol->sends_data());
}

/// A process that this one had not heard of meets it while there is no memory for that.
TEST(stranger_in_a_shortage, attach__is_made_up_for) {
    Program p(kEnhancedMixed, {.mapped = true, .stores = true}, CopyPath::Policy::ring, 1);
    Message message;
    message.tag = late;
    message.data = message.to = pattern(300);
    Shortage::plan(0, 0);
    p.send(message);
    Shortage::plan(0, ~0ul);
    p.turns(1000);
    EXPECT_EQ(p.ends[1]->engine().counters.peers_attached, 0u);
    Shortage::plan(0, 0);
    p.turns(10);
    EXPECT_EQ(p.ends[1]->engine().counters.peers_attached, 1u);
    EXPECT_EQ(p.ends[1]->engine().arrived.size(), 1u);
}

TEST(credit_in_a_shortage, request__that_waits_for_memory_takes_none) {
    Pair p;
    p.attach();
    auto data = pattern(300);
    std::vector<std::byte> to(300);
    Shortage::plan(0, 0);
    const auto send = [&] { return p.send(0, kSendBuffered, 7, data, 0) == kDone; };
    const auto room = [&] {  // messages that may wait at the receiver
        unsigned sent = 0;
        for (; send(); ++sent) p.settle();
        for (unsigned i = 0; i < sent; ++i) EXPECT_EQ(p.receive(1, 7, to, 1), kDone);
        p.settle();
        return sent;
    };
    const unsigned before = room();
    ASSERT_TRUE(send());
    while (!p.world.idle()) p.devices[1]->network().poll(0);
    Shortage::plan(0, ~0ul);
    for (unsigned i = 0; i < 2000; ++i) {
        const InForce now;
        ASSERT_EQ(p.ends[1]->turn(), kNoMemory);
    }
    Shortage::plan(0, 0);
    p.settle();
    EXPECT_EQ(p.receive(1, 7, to, 1), kDone);
    EXPECT_EQ(to, data);
    p.settle();
    EXPECT_EQ(room(), before);
}

/// What a process wrote before it died is delivered, even if there is no memory for it just then.
TEST(departure_in_a_shortage, death__is_heard_of_after_what_was_sent_before) {
    Program p(kEnhancedMixed, {.mapped = true, .stores = true}, CopyPath::Policy::ring, 1);
    for (Message& message : p.messages) {
        message = Message();
        message.tag = late;
        message.data = pattern(300, static_cast<unsigned>(&message - p.messages.data()));
        message.to.resize(300);
    }
    Shortage::plan(0, 0);
    p.send(p.messages[0]);
    p.turns(100);
    for (unsigned i = 1; i < 5; ++i) p.send(p.messages[i]);
    p.world.kill(0);
    p.ends[0].reset();
    Shortage::plan(0, ~0ul);
    for (unsigned i = 0; i < 1000; ++i) {
        p.devices[1]->network().poll(0);
        const InForce now;
        ASSERT_EQ(p.ends[1]->turn(), kNoMemory);
    }
    EXPECT_EQ(p.ends[1]->engine().arrived.size(), 1u);
    EXPECT_EQ(p.ends[1]->engine().counters.peers_lost, 0u);
    Shortage::plan(0, 0);
    EXPECT_GT(p.ends[1]->turn(), 0);
    EXPECT_EQ(p.ends[1]->engine().counters.peers_lost, 1u);
    EXPECT_EQ(p.ends[1]->engine().arrived.size(), 5u);
    for (unsigned i = 0; i < 5; ++i) {
        const iovec to{p.messages[i].to.data(), p.messages[i].to.size()};
        EXPECT_EQ(p.ends[1]->receive({p.there[1], 0, late, 0}, {&to, 1}, {}, nullptr, nullptr),
                  kDone);
        EXPECT_EQ(p.messages[i].to, p.messages[i].data);
    }
}

/// Receives whose offers were declined, though their messages crossed them, ask for these. Where
/// all slots are full, each of these requests takes memory.
TEST(crossing_in_a_shortage, messages__are_asked_for_once_there_is_memory) {
    Program p(kEnhancedMixed, direct_options(), CopyPath::Policy::pull, 1);
    Shortage::plan(0, 0);
    for (unsigned i = 0; i < 20; ++i) {
        Message& message = p.messages[i];
        message = Message();
        message.from = i < 4 ? 0 : 1;
        message.tag = late;
        message.data = pattern(i == 0 || i >= 4 ? 8 : 90'000, i);
        message.to.resize(message.data.size());
    }
    p.send(p.messages[0]);
    p.turns(200);
    p.receive(p.messages[0]);
    const std::uint64_t word = 7;
    std::vector<std::byte> to(sizeof word);
    const iovec range{to.data(), to.size()};
    EXPECT_EQ(p.ends[1]->receive({p.there[1], 0, early, 0}, {&range, 1}, {}, nullptr, nullptr),
              kAccepted);
    // Of this one there is no note, so the offers that cross it are declined.
    ASSERT_TRUE(fast::send_far(p.ends[0]->engine(), p.there[0], 0, 0, early, 0, &word,
                               sizeof word));
    for (unsigned i = 1; i < 4; ++i) p.send(p.messages[i]);
    for (unsigned i = 1; i < 4; ++i) p.receive(p.messages[i]);
    for (unsigned i = 0; i < 200; ++i) {
        p.devices[0]->network().poll(0);
        ASSERT_GE(p.ends[0]->turn(), 0);
    }
    for (unsigned i = 4; i < 20; ++i) p.send(p.messages[i]);  // into the slots, which have 8
    const Engine& engine = p.ends[1]->engine();
    const Peer& sender = engine.peers.find(p.there[1]);
    Shortage::plan(0, ~0ul);
    int result = 0;
    for (unsigned i = 0; i < 100; ++i) {
        const InForce now;
        result = p.ends[1]->turn();
    }
    EXPECT_EQ(result, kNoMemory);
    EXPECT_EQ(engine.counters.receives_declined, 1u);
    EXPECT_TRUE(sender.data.crossed_in_vain && !sender.data.crossed.empty());
    Shortage::plan(0, 0);
    for (unsigned i = 4; i < 20; ++i) p.receive(p.messages[i]);
    p.turns(1000);
    for (unsigned i = 0; i < 20; ++i) {
        EXPECT_EQ(p.messages[i].to, p.messages[i].data) << i;
        EXPECT_EQ(p.messages[i].sent, 1) << i;
    }
    EXPECT_FALSE(sender.data.crossed_in_vain);
}

}  // namespace
}  // namespace fci::mp::test
