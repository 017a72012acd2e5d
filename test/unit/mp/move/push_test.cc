// SPDX-License-Identifier: BSD-3-Clause
// Pushes: data that follow their announcement unasked.
#include <cstring>

#include "test/unit/mp/forger.h"
#include "test/unit/mp/pair.h"

namespace fci::mp::test {
namespace {

constexpr std::size_t kBytes = 50'000;

Limits limits() {
    Limits limits = small_limits();
    limits.unexpected_bytes = 512 * 1024;
    return limits;
}

struct Pushed : testing::Test {
    Pushed() { pair.attach(); }
    const Counters& counters(int who) { return pair.ends[who]->engine().counters; }
    Engine& receiver() { return pair.ends[1]->engine(); }
    bool has_pushes() { return !receiver().peers[pair.there[1]].data.pushes.empty(); }
    /// The announcement is looked at, and no data is there.
    void hear() {
        for (Limit limit("the announcement"); limit.holds() && !has_pushes();) pair.turns(1, 1);
    }
    /// All that was taken of the memory for unexpected messages was given back.
    void expect_all_disposed() {
        pair.settle();
        Peer& there = pair.ends[0]->engine().peers[pair.there[0]];
        const std::uint64_t most = limits().unexpected_bytes;
        EXPECT_TRUE(there.has_unexpected_credit(most / 2));
        EXPECT_FALSE(has_pushes());
        EXPECT_EQ(receiver().peers[pair.there[1]].data.expected, 0u);
    }
    bool is_here() const { return std::memcmp(to.data(), data.data(), kBytes) == 0; }

    std::vector<std::byte> data = pattern(kBytes);
    std::vector<std::byte> to = std::vector<std::byte>(kBytes + 8, std::byte{1});
    Pair pair{kEnhancedMixed, direct_options(), limits()};  // borrows from both until it ends
};

TEST_F(Pushed, send__into_a_receive_that_is_posted) {
    pair.receive(1, 5, to, 1);
    const std::uint64_t said = receiver().peers[pair.there[1]].out.sent();
    EXPECT_GE(pair.send(0, 0, 5, data, 2), 0);
    pair.settle();
    ASSERT_TRUE(pair.recorder.has(1));
    EXPECT_EQ(pair.recorder.outcomes[1].length, kBytes);
    EXPECT_EQ(pair.recorder.outcomes[1].received, kBytes);
    EXPECT_TRUE(is_here());
    EXPECT_EQ(to[kBytes], std::byte{1});
    EXPECT_EQ(counters(0).sent_pushed, 1u);
    EXPECT_EQ(counters(1).receives_offered, 0u);
    EXPECT_EQ(receiver().peers[pair.there[1]].out.sent(), said) << "nobody asks";
    expect_all_disposed();
}

TEST_F(Pushed, send__that_nobody_has_asked_for) {
    pair.send(0, 0, 5, data, 2);
    pair.settle();
    Outcome outcome{};
    EXPECT_EQ(pair.ends[1]->probe({pair.there[1], 0, 5, 0}, &outcome, nullptr), kSuccess);
    EXPECT_EQ(outcome.length, kBytes);
    EXPECT_EQ(pair.receive(1, 5, to, 1), kDone);
    EXPECT_TRUE(is_here());
    expect_all_disposed();
}

TEST_F(Pushed, receive__posted_before_the_first_byte_has_come) {
    pair.send(0, 0, 5, data, 2);
    hear();
    EXPECT_EQ(pair.receive(1, 5, to, 1), kAccepted);
    EXPECT_EQ(receiver().counters.received_unexpected, 1u);
    pair.settle();
    EXPECT_EQ(pair.recorder.error(1), kSuccess);
    EXPECT_TRUE(is_here());
    expect_all_disposed();
}

TEST_F(Pushed, receive__of_a_part_before_and_after_the_announcement) {
    const std::span<std::byte> half(to.data(), kBytes / 2);
    for (const bool early : {true, false}) {
        SCOPED_TRACE(early ? "posted early" : "posted late");
        std::ranges::fill(to, std::byte{1});
        if (early) pair.receive(1, 5, half, 1);
        pair.send(0, 0, 5, data, 2);
        hear();
        if (!early) pair.receive(1, 5, half, 1);
        pair.settle();
        ASSERT_TRUE(pair.recorder.has(1));
        EXPECT_EQ(pair.recorder.error(1), kTruncated);
        EXPECT_EQ(pair.recorder.outcomes[1].length, kBytes);
        EXPECT_EQ(pair.recorder.outcomes[1].received, kBytes / 2);
        EXPECT_EQ(std::memcmp(to.data(), data.data(), kBytes / 2), 0);
        EXPECT_EQ(to[kBytes / 2], std::byte{1});
        pair.recorder.outcomes.clear();
    }
    expect_all_disposed();
}

TEST_F(Pushed, receive__into_several_ranges) {
    const std::vector<iovec> ranges{{to.data(), 1000}, {to.data() + 1000, kBytes - 1000}};
    Outcome outcome{};
    pair.ends[1]->receive({pair.there[1], 0, 5, 0}, ranges, pair.recorder.on(1), nullptr, &outcome);
    pair.send(0, 0, 5, data, 2);
    pair.settle();
    EXPECT_EQ(pair.recorder.error(1), kSuccess);
    EXPECT_TRUE(is_here());
}

TEST_F(Pushed, discard__of_one_that_is_not_all_here) {
    pair.send(0, 0, 5, data, 2);
    hear();
    Arrived* claimed = nullptr;
    EXPECT_EQ(pair.ends[1]->probe({pair.there[1], 0, 5, 0}, nullptr, &claimed), kSuccess);
    pair.ends[1]->receives().discard(*claimed);
    EXPECT_TRUE(has_pushes());
    expect_all_disposed();
}

// More of them than there is memory for at a time.
TEST_F(Pushed, memory__of_what_was_received_or_thrown_away_while_it_came_is_given_back) {
    constexpr unsigned kMany = 24;
    static_assert(kMany * kBytes > 2 * 512 * 1024);
    const std::size_t before = pair.ends[1]->receives().memory();
    for (unsigned i = 0; i < kMany; ++i) {
        pair.recorder.outcomes.clear();
        pair.send(0, 0, 5, data, 2);
        hear();
        if (i % 2 == 0) {
            pair.receive(1, 5, std::span<std::byte>(to.data(), kBytes / 2), 1);
        } else {
            EXPECT_EQ(pair.ends[1]->receives().discard_matching({pair.there[1], 0, 5, 0}), 1);
        }
        EXPECT_GT(pair.ends[1]->receives().memory(), before + kBytes) << "its data still come";
        pair.settle();
        ASSERT_EQ(pair.ends[1]->receives().memory(), before) << i;
        EXPECT_EQ(pair.recorder.has(1), i % 2 == 0);
    }
    EXPECT_EQ(counters(0).sent_pushed, kMany) << "there was credit for each";
    expect_all_disposed();
}

TEST_F(Pushed, receive__of_a_claimed_one_that_is_not_all_here) {
    pair.send(0, 0, 5, data, 2);
    hear();
    Arrived* claimed = nullptr;
    EXPECT_EQ(pair.ends[1]->probe({pair.there[1], 0, 5, 0}, nullptr, &claimed), kSuccess);
    const iovec range{to.data(), to.size()};
    Outcome outcome{};
    EXPECT_EQ(pair.ends[1]->receive_claimed(*claimed, {&range, 1}, pair.recorder.on(1), nullptr,
                                            &outcome),
              kAccepted);
    pair.settle();
    EXPECT_EQ(pair.recorder.error(1), kSuccess);
    EXPECT_TRUE(is_here());
    expect_all_disposed();
}

TEST_F(Pushed, send__beyond_the_unexpected_memory_is_announced_only) {
    constexpr int kMany = 20;
    for (int i = 0; i < kMany; ++i) pair.send(0, 0, static_cast<unsigned>(i), data, 100 + i);
    pair.settle();
    EXPECT_LE(counters(0).sent_pushed, limits().unexpected_bytes / kBytes);
    EXPECT_EQ(counters(0).sent_pushed + counters(0).sent_announced, unsigned{kMany});
    for (int i = 0; i < kMany; ++i) {
        std::ranges::fill(to, std::byte{1});
        pair.receive(1, static_cast<unsigned>(i), to, i);
        pair.settle();
        EXPECT_TRUE(is_here()) << i;
    }
    expect_all_disposed();
}

TEST_F(Pushed, send__synchronous_waits_for_its_receive) {
    pair.send(0, kSendSynchronous, 5, data, 2);
    pair.settle();
    EXPECT_FALSE(pair.recorder.has(2));
    EXPECT_EQ(counters(0).sent_pushed, 0u);
    pair.receive(1, 5, to, 1);
    pair.settle();
    EXPECT_TRUE(pair.recorder.has(2));
    EXPECT_TRUE(is_here());
}

TEST_F(Pushed, kill__of_the_sender_before_its_data_are_here) {
    for (const int posted : {0, 1, 2}) {  // not; early; late
        SCOPED_TRACE(posted);
        Pair fresh{kEnhancedMixed, direct_options(), limits()};
        fresh.attach();
        if (posted == 1) fresh.receive(1, 5, to, 1);
        Peer& peer = fresh.ends[1]->engine().peers[fresh.there[1]];
        // In the ideal network each of both is a call, and the second one fails.
        const AnnounceRecord record{5, 0, kBytes, 0, 3, 0, 0};
        Peer& forger = fresh.ends[0]->engine().peers[fresh.there[0]];
        ASSERT_EQ(forger.out.put(fresh.devices[0]->network(),
                                 pack(Control{Kind::announce, kFollows, 0}, record)),
                  Status::ok);
        for (Limit limit("it"); limit.holds() && peer.data.pushes.empty();) fresh.turns(1, 1);
        if (posted == 2) fresh.receive(1, 5, to, 1);
        fresh.world.kill(0);
        fresh.turns(1, 3000);
        EXPECT_TRUE(peer.data.pushes.empty());
        if (posted == 0) fresh.receive(1, 5, to, 1);
        fresh.turns(1, 10);
        ASSERT_TRUE(fresh.recorder.has(1));
        EXPECT_EQ(fresh.recorder.error(1), kPeerLost);
    }
}

/// Announces so many bytes of data and sends what it likes.
struct ForgedPush : Forger {
    explicit ForgedPush() : Forger(kEnhancedMixed, direct_options()) {}
    void announce(std::uint64_t bytes, std::uint32_t receive = 0, std::uint16_t attached = 0) {
        say(Kind::announce, AnnounceRecord{7, 0, bytes, 0, kSend, receive, 0}, kFollows, attached);
    }
    /// False: nobody here waits for them.
    bool brings(std::uint64_t name, std::uint64_t offset, std::uint64_t bytes) {
        const std::uint64_t before = world.statistics().dropped;
        EXPECT_EQ(bad->network().data()->send(here, {name, offset, bytes}, data.data(), 0),
                  Status::ok);
        turns();
        return world.statistics().dropped == before;
    }
    static constexpr std::uint32_t kSend = 3;
    static constexpr std::uint64_t kName = kSend | nhi::Data::kPushed;
};

TEST(push, data__that_are_not_those_announced_are_taken_nowhere) {
    for (const bool posted : {true, false}) {
        SCOPED_TRACE(posted);
        ForgedPush f;
        EXPECT_FALSE(f.brings(f.kName, 0, kBytes)) << "nothing was announced";
        if (posted) f.posted(7, kBytes + 8, f.there);
        f.announce(kBytes);
        EXPECT_FALSE(f.brings(f.kName, 8, kBytes)) << "not from its begin";
        EXPECT_FALSE(f.brings(f.kName, 0, kBytes - 1));
        EXPECT_FALSE(f.brings(f.kName, 0, kBytes + 1));
        EXPECT_FALSE(f.brings(f.kName + 1, 0, kBytes)) << "of another send";
        EXPECT_FALSE(f.brings(f.kSend, 0, kBytes)) << "for a receive that asked";
        EXPECT_EQ(std::ranges::count(f.to, std::byte{0}), std::ssize(f.to));
        EXPECT_FALSE(f.recorder.has(2));
        EXPECT_TRUE(f.brings(f.kName, 0, kBytes));
        EXPECT_FALSE(f.brings(f.kName, 0, kBytes)) << "twice";
        if (!posted) {
            const iovec range{f.to.data(), kBytes};
            Outcome outcome{};
            EXPECT_EQ(f.mp.receive({f.there, 0, 7, 0}, {&range, 1}, f.recorder.on(2), nullptr,
                                   &outcome),
                      kDone);
        }
        EXPECT_EQ(std::memcmp(f.to.data(), f.data.data(), kBytes), 0);
        EXPECT_EQ(f.to[kBytes], std::byte{0});
        EXPECT_FALSE(f.gave_up());
    }
}

TEST(push, data__of_one_that_was_given_up_wait_for_nothing) {
    ForgedPush f;
    f.say(Kind::none, HandleRecord{1});
    EXPECT_TRUE(f.gave_up());
    f.say(Kind::send, HandleRecord{7});  // which stays where it is
    EXPECT_FALSE(f.brings(f.kName, 0, 100));
}

TEST(push, announce__at_the_edges) {
    const auto given_up = [](std::uint64_t bytes, std::uint32_t receive = 0,
                             std::uint16_t attached = 0) {
        ForgedPush f;
        f.announce(bytes, receive, attached);
        return f.gave_up();
    };
    EXPECT_TRUE(given_up(0));
    EXPECT_FALSE(given_up(1));
    EXPECT_FALSE(given_up(kPushMost));
    EXPECT_TRUE(given_up(kPushMost + 1));
    EXPECT_TRUE(given_up(kBytes, 77)) << "into an offer";
    EXPECT_TRUE(given_up(kBytes, 0, 8)) << "with a header";
}

TEST_F(Pushed, lengths__that_are_pushed) {
    const auto is_pushed = [&](std::size_t bytes, std::uint32_t flags = 0) {
        const std::uint64_t before = counters(0).sent_pushed;
        std::vector<std::byte> in(bytes), out = pattern(bytes);
        pair.receive(1, 5, in, 1);
        pair.send(0, flags, 5, out, 2);
        pair.settle();
        EXPECT_EQ(pair.recorder.error(1), kSuccess) << bytes;
        EXPECT_EQ(in, out) << bytes;
        pair.recorder.outcomes.clear();
        return counters(0).sent_pushed != before;
    };
    EXPECT_FALSE(is_pushed(kPushLeast));
    EXPECT_TRUE(is_pushed(kPushLeast + 1));
    EXPECT_TRUE(is_pushed(kPushMost));
    EXPECT_FALSE(is_pushed(kPushMost + 1));
    EXPECT_FALSE(is_pushed(kPushMost, kSendSynchronous));
    expect_all_disposed();
}

TEST_F(Pushed, destruct__while_some_are_not_all_here) {
    pair.send(0, 0, 5, data, 2);
    pair.send(0, 0, 6, data, 3);
    hear();
    pair.receive(1, 5, std::span<std::byte>(to.data(), 100), 1);
    EXPECT_TRUE(has_pushes());
    pair.ends[1].reset();
}

TEST(push, destruct__before_any_of_the_data_has_come) {
    ForgedPush f;
    for (int i = 0; i < 2; ++i) f.announce(kBytes);
    f.posted(7, 100, f.there);
    EXPECT_EQ(f.mp.engine().arrived.size(), 1u) << "and one that a receive waits for";
}

}  // namespace
}  // namespace fci::mp::test
