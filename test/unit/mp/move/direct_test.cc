// SPDX-License-Identifier: BSD-3-Clause
// Data that the network takes from one buffer and brings into another.
#include <cstring>

#include "test/unit/mp/pair.h"

namespace fci::mp::test {
namespace {

constexpr std::size_t kBytes = 2'500'000;  // of three parts

struct Direct : testing::Test {
    /// The message goes to a receive that was offered.
    void begin() {
        pair.attach();
        pair.receive(1, 5, to, 1);
        pair.both();
        pair.send(0, 0, 5, data, 2);
    }
    /// Until so much of the message is there.
    void arrive(std::size_t bytes) {
        for (Limit limit("data"); limit.holds() && to[bytes - 1] != data[bytes - 1];) pair.both(1);
    }
    const Counters& counters(int who) { return pair.ends[who]->engine().counters; }
    const gcs::LineWriter& out(int who) {
        return pair.ends[who]->engine().peers[pair.there[who]].out;
    }
    bool is_here() const { return std::memcmp(to.data(), data.data(), kBytes) == 0; }

    std::vector<std::byte> data = pattern(kBytes);
    std::vector<std::byte> to = std::vector<std::byte>(kBytes);
    Pair pair{kEnhancedMixed, direct_options()};  // borrows from both until it ends
};

TEST_F(Direct, receive__posted_before_and_after_its_message) {
    for (const bool early : {true, false}) {
        SCOPED_TRACE(early ? "posted early" : "posted late");
        std::ranges::fill(to, std::byte{0});
        pair.attach();
        if (early) pair.receive(1, 5, to, 1);
        if (early) pair.both();
        pair.send(0, 0, 5, data, 2);
        pair.both();
        if (!early) pair.receive(1, 5, to, 1);
        pair.settle();
        ASSERT_TRUE(pair.recorder.has(1) && pair.recorder.has(2));
        EXPECT_EQ(pair.recorder.error(1), kSuccess);
        EXPECT_TRUE(is_here());
    }
    EXPECT_EQ(counters(0).direct_bytes, 2 * kBytes);
    EXPECT_EQ(counters(0).ring_bytes + counters(1).ring_bytes, 0u);
    EXPECT_EQ(counters(1).receives_offered, 1u);
    EXPECT_EQ(counters(0).sent_one_sided, 1u);
}

TEST_F(Direct, offer__that_crosses_its_announcement_is_all_that_is_said) {
    pair.attach();
    for (int round = 0; round < 3; ++round) {
        SCOPED_TRACE(round);
        std::ranges::fill(to, std::byte{0});
        const std::uint64_t said = out(1).sent();
        const std::uint64_t begun = counters(0).sent_one_sided;
        pair.send(0, 0, 5, data, 2);
        pair.receive(1, 5, to, 1);
        pair.settle();
        ASSERT_TRUE(pair.recorder.has(1) && pair.recorder.has(2));
        EXPECT_EQ(pair.recorder.error(1), kSuccess);
        EXPECT_TRUE(is_here());
        EXPECT_EQ(out(1).sent() - said, 1u);
        EXPECT_EQ(counters(0).sent_one_sided - begun, 1u);
        pair.recorder.outcomes.clear();
    }
    EXPECT_EQ(counters(1).receives_declined, 0u) << "not even that of the first";
    EXPECT_EQ(counters(0).bad_requests + counters(1).bad_requests, 0u);
}

/// A message by the fast path, of which there is no note before the first offer is there.
void send_without_note(Pair& pair, std::span<const std::byte> data) {
    ASSERT_TRUE(fast::send_far(pair.ends[0]->engine(), pair.there[0], 0, 0, 9, 0, data.data(),
                               data.size()));
}

TEST(direct, message__whose_offer_is_declined_is_asked_for) {
    auto data = pattern(kBytes), tiny = pattern(8);
    for (const bool crosses : {true, false}) {
        SCOPED_TRACE(crosses ? "they cross" : "the decline is there before the message");
        std::vector<std::byte> to(kBytes);
        Pair pair(kEnhancedMixed, direct_options());
        pair.attach();
        send_without_note(pair, tiny);
        if (crosses) pair.send(0, 0, 5, data, 2);
        pair.receive(1, 5, to, 1);
        if (!crosses) {
            pair.settle();
            pair.send(0, 0, 5, data, 2);
        }
        pair.settle();
        EXPECT_EQ(pair.ends[1]->engine().counters.receives_declined, 1u);
        EXPECT_EQ(pair.ends[0]->engine().counters.sent_one_sided, 0u);
        ASSERT_TRUE(pair.recorder.has(1) && pair.recorder.has(2));
        EXPECT_EQ(to, data);
        // The next one that crosses is not asked for.
        pair.recorder.outcomes.clear();
        const Peer& sender = pair.ends[1]->engine().peers[pair.there[1]];
        EXPECT_FALSE(sender.data.crossed_in_vain);
        const std::uint64_t said = sender.out.sent();
        pair.send(0, 0, 5, data, 2);
        pair.receive(1, 5, to, 1);
        pair.settle();
        EXPECT_EQ(sender.out.sent() - said, 1u);
        EXPECT_TRUE(pair.recorder.has(1) && pair.recorder.has(2));
    }
}

// Nothing is to be asked for, so nobody begins on account of the offer.
TEST_F(Direct, offer__that_crosses_a_message_with_its_data_is_used_up) {
    pair.attach();
    for (const std::size_t bytes : {std::size_t{100}, std::size_t{50'000}}) {
        SCOPED_TRACE(bytes);
        pair.send(0, 0, 5, {data.data(), bytes}, 2);
        pair.receive(1, 5, to, 1);
        pair.turns(0);  // the sender has the offer while a push is not taken
        pair.settle();
        ASSERT_TRUE(pair.recorder.has(1));
        EXPECT_EQ(pair.recorder.outcomes[1].length, bytes);
        pair.send(0, 0, 5, data, 3);
        pair.settle();
        pair.receive(1, 5, to, 4);
        pair.settle();
        ASSERT_TRUE(pair.recorder.has(3) && pair.recorder.has(4));
        EXPECT_TRUE(is_here());
        pair.recorder.outcomes.clear();
    }
    EXPECT_EQ(counters(0).sent_pushed, 1u);
    EXPECT_EQ(counters(0).sent_one_sided, 0u);
    EXPECT_EQ(counters(1).receives_offered, 2u);
    EXPECT_EQ(counters(1).receives_declined, 0u);
}

// Of two offers that cross, the first has met its message, and the second is declined.
TEST_F(Direct, message__that_has_begun_is_asked_for_in_vain) {
    pair.attach();
    auto tiny = pattern(8);
    std::vector<std::byte> other(kBytes);
    pair.send(0, 0, 5, data, 2);
    send_without_note(pair, tiny);
    pair.receive(1, 5, to, 1);
    pair.receive(1, 6, other, 3);
    const std::uint64_t said = out(1).sent();
    pair.settle();
    EXPECT_EQ(counters(1).receives_declined, 1u);
    EXPECT_EQ(counters(0).sent_one_sided, 1u);
    EXPECT_GT(out(1).sent(), said) << "it asks";
    EXPECT_EQ(counters(0).direct_bytes, kBytes) << "once";
    ASSERT_TRUE(pair.recorder.has(1) && pair.recorder.has(2));
    EXPECT_TRUE(is_here());
    pair.send(0, 0, 6, data, 4);
    pair.settle();
    EXPECT_EQ(other, data);
    EXPECT_EQ(counters(0).bad_requests + counters(1).bad_requests, 0u);
}

TEST_F(Direct, offer__that_crosses_its_announcement_may_be_too_small) {
    pair.attach();
    std::vector<std::byte> half(kBytes / 2 + 8, std::byte{1});
    const std::span<std::byte> room(half.data(), kBytes / 2);
    for (int round = 0; round < 2; ++round) {
        pair.send(0, 0, 5, data, 2);
        pair.receive(1, 5, room, 1);
        pair.settle();
        EXPECT_EQ(pair.recorder.error(1), kTruncated);
        EXPECT_EQ(pair.recorder.error(2), kSuccess);
        EXPECT_EQ(std::memcmp(half.data(), data.data(), kBytes / 2), 0);
        EXPECT_EQ(half[kBytes / 2], std::byte{1});
        pair.recorder.outcomes.clear();
    }
    EXPECT_EQ(counters(0).sent_one_sided, 2u);
    EXPECT_EQ(counters(1).receives_declined, 0u);
}

TEST(direct, offer__that_crosses_the_announcement_of_an_empty_message) {
    Limits limits = small_limits();
    limits.offer_bytes = 1;
    Pair pair(kMixed, direct_options(), limits);  // in which that is announced
    pair.attach();
    std::vector<std::byte> to(10);
    for (const std::size_t bytes : {0, 1, 0, 1}) {
        auto data = pattern(bytes);
        pair.send(0, 0, 5, data, 2);
        pair.receive(1, 5, to, 1);
        pair.settle();
        ASSERT_TRUE(pair.recorder.has(1) && pair.recorder.has(2)) << bytes;
        EXPECT_EQ(pair.recorder.outcomes[1].length, bytes);
        pair.recorder.outcomes.clear();
    }
    EXPECT_EQ(pair.ends[1]->engine().counters.receives_offered, 4u);
    EXPECT_EQ(pair.ends[0]->engine().counters.sent_one_sided, 2u) << "those of one byte";
}

// Nothing of the message travels, so it is the receiver who says that it was taken. The offer may
// be declined, as more requests crossed it than are remembered.
TEST(direct, offer__of_no_room_that_crosses_the_announcement) {
    for (const int crossing : {1, 100}) {
        SCOPED_TRACE(crossing);
        Limits limits = small_limits();
        limits.layout.slots = 256;
        limits.offer_bytes = 0;
        Pair pair(kOneSided, direct_options(), limits);  // which offers that, too
        pair.attach();
        pair.settle();
        auto data = pattern(10);
        std::vector<std::byte> nothing;
        for (int i = 0; i < crossing; ++i) pair.send(0, 0, 1, data, 10 + i);
        // All are announced as somebody asks, and the receiver has seen none.
        EXPECT_EQ(pair.ends[1]->probe({kAnySource, 0, 2, 0}, nullptr, nullptr), kNoMessage);
        pair.turns(0, 300);
        pair.receive(1, 1, nothing, 1);
        pair.settle();
        EXPECT_EQ(pair.recorder.error(1), kTruncated);
        ASSERT_TRUE(pair.recorder.has(10));
        EXPECT_EQ(pair.recorder.error(10), kSuccess);
        EXPECT_EQ(pair.ends[1]->engine().counters.receives_declined, crossing == 1 ? 0u : 1u);
        EXPECT_EQ(pair.ends[0]->engine().counters.bad_requests, 0u);
    }
}

// The send is taken back, and its receive as well, while their requests cross.
TEST_F(Direct, cancel__of_both_sides_of_a_crossing) {
    pair.attach();
    for (int round = 0; round < 2; ++round) {
        std::uint32_t send = 0, receive = 0;
        pair.send(0, 0, 5, data, 2, &send);
        pair.receive(1, 5, to, 1, &receive);
        EXPECT_EQ(pair.ends[0]->cancel(send), kSuccess);
        EXPECT_EQ(pair.ends[1]->cancel(receive), kSuccess);
        pair.settle();
        EXPECT_EQ(pair.recorder.error(1), kSuccess);
        EXPECT_EQ(pair.recorder.error(2), kSuccess);
        EXPECT_TRUE(is_here());
        pair.recorder.outcomes.clear();
    }
    EXPECT_EQ(pair.ends[1]->engine().peers[pair.there[1]].data.expected, 0u);
}

TEST_F(Direct, receive__of_a_part_of_the_message) {
    pair.attach();
    std::vector<std::byte> half(kBytes / 2 + 8, std::byte{1});
    const std::span<std::byte> room(half.data(), kBytes / 2);
    for (const bool early : {true, false}) {
        if (early) pair.receive(1, 5, room, 1);
        pair.both();
        pair.send(0, 0, 5, data, 2);
        pair.both();
        if (!early) pair.receive(1, 5, room, 1);
        pair.settle();
        EXPECT_EQ(pair.recorder.error(1), kTruncated);
        EXPECT_EQ(pair.recorder.error(2), kSuccess);
        EXPECT_EQ(std::memcmp(half.data(), data.data(), kBytes / 2), 0);
        EXPECT_EQ(half[kBytes / 2], std::byte{1});
        pair.recorder.outcomes.clear();
    }
}

TEST_F(Direct, send__keeps_its_buffer_until_the_network_has_it) {
    begin();
    const std::vector<std::byte> sent = data;
    for (Limit limit("the send"); limit.holds() && !pair.recorder.has(2);) pair.turns(0, 1);
    std::ranges::fill(data, std::byte{7});
    pair.settle();
    EXPECT_EQ(std::memcmp(to.data(), sent.data(), kBytes), 0);
}

TEST_F(Direct, receive__of_one_that_dies_in_the_midst_is_left_alone_afterwards) {
    begin();
    arrive(1000);
    pair.world.kill(0);
    for (Limit limit("the loss"); limit.holds() && !pair.recorder.has(1);) pair.turns(1, 1);
    EXPECT_EQ(pair.recorder.error(1), kPeerLost);
    std::ranges::fill(to, std::byte{7});
    pair.turns(1, 1000);
    EXPECT_EQ(std::ranges::count(to, std::byte{7}), static_cast<std::ptrdiff_t>(kBytes));
}

TEST_F(Direct, send__to_one_that_dies_in_the_midst_gives_its_buffer_back) {
    begin();
    arrive(1000);
    pair.world.kill(1);
    for (Limit limit("the loss"); limit.holds() && !pair.recorder.has(2);) pair.turns(0, 1);
    ASSERT_TRUE(pair.recorder.has(2));  // what was on its way to the dead one may count as taken
    data = {};
    pair.turns(0, 1000);
}

TEST_F(Direct, send__to_one_that_is_given_up_gives_its_buffer_back) {
    begin();
    pair.turns(0, 1);
    pair.ends[0]->meetings().give_up(pair.ends[0]->engine().peers[pair.there[0]]);
    pair.turns(0, 10);
    ASSERT_TRUE(pair.recorder.has(2));
    data = {};
    pair.both();
}

TEST_F(Direct, receive__takes_no_data_that_are_not_its_own) {
    pair.attach();
    std::uint32_t handle = 0;
    pair.receive(1, 5, to, 1, &handle);
    pair.both();
    const std::vector<std::byte> forged(100, std::byte{9});
    nhi::DataWay& way = *pair.devices[0]->network().data();
    const auto forge = [&](std::uint64_t name, std::uint64_t offset, std::uint64_t bytes) {
        const std::uint64_t before = pair.world.statistics().dropped;
        EXPECT_EQ(way.send(pair.there[0], {name, offset, bytes}, forged.data(), 0), Status::ok);
        pair.both();
        return pair.world.statistics().dropped != before;
    };
    EXPECT_TRUE(forge(handle + 1, 0, 100)) << "no such receive";
    EXPECT_TRUE(forge(handle | 1ull << 32, 0, 100)) << "no such name";
    EXPECT_TRUE(forge(handle, 1, 100)) << "not where it goes on";
    EXPECT_TRUE(forge(handle, 0, kBytes + 1)) << "more than there is room for";
    EXPECT_EQ(std::ranges::count(to, std::byte{0}), static_cast<std::ptrdiff_t>(kBytes));
    // One that was not offered, and one that has ended.
    std::vector<std::byte> small(100);
    std::uint32_t other = 0;
    pair.receive(1, 6, small, 3, &other);
    EXPECT_TRUE(forge(other, 0, 100)) << "it was not offered";
    pair.send(0, 0, 5, data, 2);
    pair.settle();
    EXPECT_TRUE(forge(handle, 0, 100)) << "it has ended";
    EXPECT_TRUE(is_here());
}

TEST_F(Direct, cancel__of_an_offered_receive) {
    pair.attach();
    std::uint32_t handle = 0;
    pair.receive(1, 5, to, 1, &handle);
    pair.both();
    EXPECT_EQ(pair.ends[1]->cancel(handle), kSuccess);
    pair.settle();
    EXPECT_EQ(pair.recorder.error(1), kCanceled);
    EXPECT_EQ(pair.ends[1]->engine().peers[pair.there[1]].data.expected, 0u);
    pair.send(0, 0, 5, data, 2);
    pair.both();
    pair.receive(1, 5, to, 3);
    pair.settle();
    EXPECT_TRUE(is_here());
}

TEST_F(Direct, exchange__of_several_at_once) {
    pair.attach();
    constexpr int kMessages = 5;
    std::vector<std::vector<std::byte>> in[2], out[2];
    for (int who : {0, 1}) {
        for (int i = 0; i < kMessages; ++i) {
            out[who].push_back(pattern(100'000 + 70'000 * static_cast<unsigned>(i),
                                       static_cast<unsigned>(10 * who + i)));
            in[who].emplace_back(out[who].back().size());
        }
    }
    for (int i = 0; i < kMessages; ++i) {
        for (int who : {0, 1}) {
            if (i % 2 == 0) pair.receive(who, static_cast<unsigned>(i), in[who][i], 100 * who + i);
            pair.send(who, 0, static_cast<unsigned>(i), out[who][i], 100 * who + 50 + i);
        }
        pair.both(3);
    }
    for (int i = 1; i < kMessages; i += 2) {
        for (int who : {0, 1}) {
            pair.receive(who, static_cast<unsigned>(i), in[who][i], 100 * who + i);
        }
    }
    pair.settle();
    for (int who : {0, 1}) {
        EXPECT_EQ(in[who], out[1 - who]);
        EXPECT_EQ(counters(who).ring_bytes, 0u);
    }
}

}  // namespace
}  // namespace fci::mp::test
