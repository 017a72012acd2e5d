// SPDX-License-Identifier: BSD-3-Clause
// Messages between two processes, step by step: forms, credit, order, cancel.
#include "fci_core/mp/message_passing.h"

#include <gtest/gtest.h>

#include <numeric>

#include "test/unit/mp/pair.h"
#include "test/unit/seed.h"

using namespace fci;
using namespace fci::mp;
using namespace fci::mp::test;

class messages : public ::testing::TestWithParam<const Protocol*> {};
INSTANTIATE_TEST_SUITE_P(protocols, messages, ::testing::ValuesIn(kProtocols), protocol_name);

TEST_P(messages, lengths__around_every_limit_arrive_whole) {
    Pair p(*GetParam());
    p.attach();
    int number = 0;
    for (const std::size_t bytes : {0, 1, 3, 7, 8, 15, 16, 33, 40, 41, 47, 48, 49, 64, 100, 4095,
                                    4096, 4097, 8191, 8192, 16384, 16385, 65536, 300'000}) {
        for (const bool posted : {true, false}) {
            auto data = pattern(bytes, static_cast<unsigned>(bytes));
            std::vector<std::byte> to(bytes + 8, std::byte{0xee});
            const std::span<std::byte> room(to.data(), bytes);
            const int receive = ++number, send = ++number;
            if (posted) p.receive(1, 7, room, receive);
            p.send(0, 0, 7, data, send);
            if (!posted) {
                p.both(30);
                p.receive(1, 7, room, receive);
            }
            p.both();
            ASSERT_TRUE(p.recorder.has(receive)) << bytes;
            EXPECT_EQ(p.recorder.outcomes[receive].length, bytes);
            EXPECT_TRUE(std::equal(data.begin(), data.end(), to.begin())) << bytes;
            EXPECT_EQ(to[bytes], std::byte{0xee}) << "wrote past the end at " << bytes;
        }
    }
    EXPECT_EQ(p.ends[0]->engine().orders.used(), 0u);
    EXPECT_EQ(p.ends[1]->engine().orders.used(), 0u);
}

TEST_P(messages, short_after_long__does_not_overtake_in_matching) {
    Pair p(*GetParam());
    p.attach();
    auto big = pattern(100'000), little = pattern(8);
    p.send(0, 0, 7, big, 1);
    p.send(0, 0, 7, little, 2);
    p.both(50);
    std::vector<std::byte> first(100'000), second(100'000);
    p.receive(1, 7, first, 3);
    p.receive(1, 7, second, 4);
    p.both();
    EXPECT_EQ(p.recorder.outcomes[3].length, big.size());
    EXPECT_EQ(p.recorder.outcomes[4].length, little.size());
    EXPECT_EQ(first, big);
}

TEST_P(messages, synchronous__ends_only_when_matched) {
    Pair p(*GetParam());
    p.attach();
    for (const std::size_t bytes : {0, 8, 3000, 50'000}) {
        p.recorder.outcomes.clear();
        auto data = pattern(bytes);
        std::vector<std::byte> to(bytes);
        EXPECT_EQ(p.send(0, kSendSynchronous, 7, data, 1), kAccepted);
        p.both();
        EXPECT_FALSE(p.recorder.has(1)) << bytes;
        p.receive(1, 7, to, 2);
        p.both();
        ASSERT_TRUE(p.recorder.has(1)) << bytes;
        EXPECT_EQ(p.recorder.error(1), kSuccess);
        EXPECT_EQ(to, data);
    }
}

TEST_P(messages, unexpected__flood_is_bounded_and_nothing_is_lost) {
    Pair p(*GetParam());
    p.attach();
    constexpr int kMessages = 3000;
    auto data = pattern(1000);
    int accepted = 0;
    for (int i = 0; i < kMessages; ++i) {
        const int result = p.send(0, 0, 7, data, i);
        ASSERT_GE(result, 0);
        accepted += result == kAccepted;
        if (i % 16 == 0) p.both(4);
    }
    p.settle();
    // What is held is what the limit says; the rest stays with the sender.
    const std::uint64_t held = (kMessages - accepted) * (1000 + kSlotCharge);
    EXPECT_LE(held, small_limits().unexpected_bytes);
    EXPECT_EQ(p.ends[1]->engine().arrived.size(), GetParam()->announces ? kMessages : 0u);
    std::vector<std::byte> to(1000);
    for (int i = 0; i < kMessages; ++i) {
        std::fill(to.begin(), to.end(), std::byte{});
        p.receive(1, 7, to, 10'000 + i);
        p.settle();
        ASSERT_TRUE(p.recorder.has(10'000 + i)) << i;
        ASSERT_EQ(to, data);
    }
    p.both();
    EXPECT_EQ(p.ends[0]->engine().orders.used(), 0u);
}

TEST(messages, buffered__answers_again_and_progress_clears_it) {
    Pair p;
    p.attach();
    auto data = pattern(1000);
    int sent = 0;
    while (sent < 100'000 && p.send(0, kSendBuffered, 7, data, sent) == kDone) ++sent;
    EXPECT_GT(sent, 5);
    EXPECT_EQ(p.send(0, kSendBuffered, 7, data, sent), kAgain);
    EXPECT_EQ(p.ends[0]->engine().orders.used(), 0u);  // nothing was left behind
    p.both();
    std::vector<std::byte> to(1000);
    for (int i = 0; i < sent; ++i) EXPECT_EQ(p.receive(1, 7, to, 100 + i), kDone);
    p.both();
    EXPECT_EQ(p.send(0, kSendBuffered, 7, data, sent), kDone);
}

TEST(messages, buffered__held_when_only_an_announcement_gets_on) {
    Pair p;
    p.attach();
    auto data = pattern(40);
    int sent = 0;
    for (int result = kDone; result != kHeld; p.both(2)) {
        result = p.send(0, kSendBuffered, 7, data, sent);
        ASSERT_TRUE(result == kDone || result == kAgain || result == kHeld) << result;
        sent += result == kDone;
        ASSERT_LE(sent * (40 + kSlotCharge), small_limits().unexpected_bytes);
    }
    // Turns do not help; a send that keeps its buffer is found by its receive all the same.
    p.settle();
    EXPECT_EQ(p.send(0, kSendBuffered, 8, data, 5000), kHeld);
    ASSERT_EQ(p.send(0, 0, 8, data, 5000), kAccepted);
    std::vector<std::byte> to(40);
    p.receive(1, 8, to, 6000);
    p.settle();
    EXPECT_TRUE(p.recorder.has(5000) && p.recorder.has(6000));
    EXPECT_EQ(to, data);
}

TEST_P(messages, truncated__fills_the_buffer_and_tells_the_length) {
    Pair p(*GetParam());
    p.attach();
    for (const std::size_t bytes : {30, 3000, 50'000}) {
        for (const bool posted : {true, false}) {
            p.recorder.outcomes.clear();
            auto data = pattern(bytes);
            std::vector<std::byte> to(bytes / 2);
            if (posted) p.receive(1, 7, to, 1);
            p.send(0, 0, 7, data, 2);
            p.both(50);
            if (!posted) p.receive(1, 7, to, 1);
            p.both();
            ASSERT_TRUE(p.recorder.has(1));
            EXPECT_EQ(p.recorder.error(1), kTruncated);
            EXPECT_EQ(p.recorder.outcomes[1].length, bytes);
            EXPECT_EQ(p.recorder.outcomes[1].received, bytes / 2);
            EXPECT_TRUE(std::equal(to.begin(), to.end(), data.begin()));
        }
    }
}

TEST_P(messages, ranges__are_gathered_and_scattered) {
    Pair p(*GetParam());
    p.attach();
    for (const std::size_t each : {5, 900, 20'000}) {
        p.recorder.outcomes.clear();
        auto data = pattern(3 * each);
        const iovec from[3] = {{data.data(), each}, {data.data() + each, each},
                               {data.data() + 2 * each, each}};
        std::vector<std::byte> to(3 * each);
        const iovec into[2] = {{to.data(), each / 2}, {to.data() + each / 2, 3 * each - each / 2}};
        Outcome at_once{};
        EXPECT_EQ(p.ends[1]->receive({p.there[1], 1, 7, 0}, into, p.recorder.on(1), nullptr,
                                     &at_once),
                  kAccepted);
        EXPECT_GE(p.ends[0]->send({p.there[0], 1, kSendImmediate, 7, 77, from}, p.recorder.on(2),
                                  nullptr),
                  0);
        p.both();
        ASSERT_TRUE(p.recorder.has(1));
        EXPECT_EQ(to, data);
        EXPECT_EQ(p.recorder.outcomes[1].immediate, 77u);
        EXPECT_EQ(p.recorder.outcomes[1].flags, kSendImmediate);
    }
}

TEST_P(messages, probe__finds_claims_and_leaves_order_alone) {
    Pair p(*GetParam());
    p.attach();
    auto a = pattern(10, 1), b = pattern(30'000, 2);
    p.send(0, 0, 7, a, 1);
    p.send(0, 0, 7, b, 2);
    p.both(50);
    Outcome outcome{};
    const Pattern any{kAnySource, 0, 0, ~0ull};
    EXPECT_EQ(p.ends[1]->probe(any, &outcome, nullptr),
              GetParam()->announces ? kSuccess : kNoMessage);
    p.both(50);  // where sends wait it has asked for them
    EXPECT_EQ(p.ends[1]->probe(any, &outcome, nullptr), kSuccess);
    EXPECT_EQ(outcome.length, 10u);
    Arrived* claimed = nullptr;
    EXPECT_EQ(p.ends[1]->probe(any, &outcome, &claimed), kSuccess);
    EXPECT_EQ(p.ends[1]->probe(any, &outcome, nullptr), kSuccess);
    EXPECT_EQ(outcome.length, 30'000u);
    Arrived* second = nullptr;
    EXPECT_EQ(p.ends[1]->probe(any, &outcome, &second), kSuccess);
    EXPECT_EQ(p.ends[1]->probe(any, &outcome, nullptr), kNoMessage);
    std::vector<std::byte> to(30'000);
    iovec range{to.data(), to.size()};
    EXPECT_EQ(p.ends[1]->receive_claimed(*second, {&range, 1}, p.recorder.on(3), nullptr, &outcome),
              kAccepted);
    p.ends[1]->receives().discard(*claimed);
    p.both();
    ASSERT_TRUE(p.recorder.has(3));
    EXPECT_EQ(to, b);
    EXPECT_EQ(p.ends[0]->engine().orders.used(), 0u);
}

TEST_P(messages, expected__are_those_who_were_asked_for_and_not_met) {
    Pair p(*GetParam());
    const Peers& peers = p.ends[0]->engine().peers;
    EXPECT_EQ(peers.expected(), 0u);
    std::vector<std::byte> none;
    (void)p.send(0, 0, 1, none, 1);
    EXPECT_EQ(peers.expected(), 1u);
    (void)p.send(0, 0, 2, none, 2);
    EXPECT_EQ(peers.expected(), 1u);
    p.both(50);
    EXPECT_EQ(peers.expected(), 0u);
    EXPECT_EQ(peers.connected(), 1u);
}

TEST_P(messages, discard__of_all_that_match_ends_their_sends_and_leaves_the_others) {
    Pair p(*GetParam());
    p.attach();
    constexpr std::uint64_t kGone = 0x100, kStays = 0x200, kTag = 0xff;
    auto little = pattern(10), much = pattern(30'000);
    for (const std::uint64_t context : {kGone, kStays}) {
        const int number = static_cast<int>(context);
        (void)p.send(0, 0, context | 1, little, number + 1);
        (void)p.send(0, 0, context | 2, much, number + 2);
        (void)p.send(0, kSendSynchronous, context | 3, little, number + 3);
    }
    p.both(50);
    Outcome outcome{};
    (void)p.ends[1]->probe({kAnySource, 0, 0, ~0ull}, &outcome, nullptr);
    p.both(50);  // where sends wait it has asked for them
    const Pattern gone{kAnySource, 0, kGone, kTag};
    EXPECT_EQ(p.ends[1]->receives().discard_matching(gone), 3);
    EXPECT_EQ(p.ends[1]->receives().discard_matching(gone), 0);
    p.both();
    EXPECT_EQ(p.recorder.error(kGone + 2), kSuccess);
    EXPECT_EQ(p.recorder.error(kGone + 3), kSuccess);
    EXPECT_FALSE(p.recorder.has(kStays + 2) || p.recorder.has(kStays + 3));
    std::vector<std::byte> to(30'000);
    for (int tag = 1; tag <= 3; ++tag) {
        ASSERT_GE(p.receive(1, kStays | static_cast<std::uint64_t>(tag), to, tag), 0);
        p.both();
        EXPECT_EQ(p.recorder.error(tag), kSuccess);
    }
    EXPECT_EQ(p.ends[0]->engine().orders.used(), 0u);
    EXPECT_EQ(p.ends[1]->engine().arrived.size(), 0u);
}

TEST_P(messages, cancel__of_a_send_that_nobody_took) {
    Pair p(*GetParam());
    p.attach();
    auto data = pattern(50'000);
    std::uint32_t handle = 0;
    EXPECT_EQ(p.send(0, 0, 7, data, 1, &handle), kAccepted);
    p.both(50);
    EXPECT_EQ(p.ends[1]->engine().arrived.size(), GetParam()->announces ? 1u : 0u);
    EXPECT_EQ(p.ends[0]->cancel(handle), kSuccess);
    p.both(50);
    ASSERT_TRUE(p.recorder.has(1));
    EXPECT_EQ(p.recorder.error(1), kCanceled);
    EXPECT_EQ(p.ends[1]->engine().arrived.size(), 0u);
}

TEST_P(messages, self__is_a_peer_like_others) {
    Pair p(*GetParam());
    for (const std::size_t bytes : {0, 8, 2000, 90'000}) {
        p.recorder.outcomes.clear();
        auto data = pattern(bytes);
        std::vector<std::byte> to(bytes);
        const iovec range{to.data(), to.size()};
        Outcome outcome{};
        EXPECT_EQ(p.ends[0]->receive({nhi::kSelf, 0, 3, 0}, {&range, 1}, p.recorder.on(1), nullptr,
                                     &outcome),
                  kAccepted);
        EXPECT_GE(p.send_to(0, nhi::kSelf, 0, 3, data, 2), 0);
        p.turns(0, 600);
        ASSERT_TRUE(p.recorder.has(1)) << bytes;
        EXPECT_EQ(to, data);
    }
}

namespace {
struct Active {
    std::vector<std::string> heard;
    std::vector<std::byte> target;
    iovec range{};
    bool landed = false;
    static void handle(void* user, nhi::PeerId, const void* header, std::size_t header_bytes,
                       const void* data, std::uint64_t bytes, ReceiveTarget* target) {
        auto& self = *static_cast<Active*>(user);
        self.heard.emplace_back(static_cast<const char*>(header), header_bytes);
        self.target.assign(bytes, std::byte{});
        if (data != nullptr || bytes == 0) {
            if (bytes != 0) std::memcpy(self.target.data(), data, bytes);
            self.landed = true;
            return;
        }
        self.range = {self.target.data(), bytes};
        target->iov = &self.range;
        target->iov_count = 1;
        target->completion = {[](void* me, void*, const Outcome* outcome) {
                                   static_cast<Active*>(me)->landed = outcome->error == kSuccess;
                               },
                               &self, nullptr};
    }
};
}  // namespace

TEST_P(messages, active__any_size_in_order) {
    Pair p(*GetParam());
    p.attach();
    Active active;
    p.ends[1]->active_messages().set_handler(9, &Active::handle, &active);
    for (const std::size_t bytes : {0, 10, 5000, 70'000}) {
        for (const std::size_t header : {0, 8, 200, 1024}) {
            active = Active{};
            auto data = pattern(bytes), head = pattern(header, 5);
            const iovec range{data.data(), bytes};
            EXPECT_GE(p.ends[0]->send(active_message(p.there[0], 9, 0,
                                                     std::as_bytes(std::span(head)), {&range, 1}),
                                      Completion{}, nullptr),
                      0);
            p.both();
            ASSERT_EQ(active.heard.size(), 1u) << bytes << " " << header;
            EXPECT_EQ(active.heard[0], std::string(reinterpret_cast<char*>(head.data()), header));
            EXPECT_TRUE(active.landed);
            EXPECT_EQ(active.target, data);
        }
    }
    EXPECT_EQ(p.ends[0]->engine().orders.used() + p.ends[1]->engine().orders.used(), 0u);
}

TEST(received_bytes, random_lines__are_refused_without_harm) {
    unsigned refused = 0;  // of a peer that writes nonsense: everything is checked before use
    for (const std::uint64_t seed : seeds(300)) {
        Pair p;
        p.attach();
        Prng chance(seed);
        std::vector<std::byte> to(100);
        p.receive(1, 7, to, 1);
        gcs::LineWriter forged;
        const auto at = p.devices[0]->block(p.there[0]);
        forged.attach(p.there[0], small_limits().layout, at, {}, gcs::Laps::by_transfers);
        // The forger goes on where the honest sender stopped.
        const std::uint64_t honest = p.ends[0]->engine().counters.sent_inline;
        gcs::Line line{};
        for (std::uint64_t& word : line.word) word = chance.next();
        const auto kind = static_cast<std::uint64_t>(chance.next() % 16);
        line.control = (honest + 1) << 32 | (chance.next() & 0xffffff00u) | kind;
        nhi::Transfer transfer(p.there[0]);
        transfer.put(gcs::Layout::slot(honest), &line, sizeof line);
        ASSERT_EQ(p.devices[0]->network().initiate_transfer(transfer), Status::ok);
        p.turns(1, 300);
        refused += p.ends[1]->engine().counters.bad_requests != 0;
    }
    // Six of sixteen kinds only name an order; a name that means nothing is passed over.
    EXPECT_GT(refused, 150u);
}

TEST(received_bytes, announcement__of_a_receive_that_was_not_offered_is_refused) {
    Pair p;
    p.attach();
    std::vector<std::byte> to(100);
    std::uint32_t handle = 0;
    p.receive(1, 7, to, 1, &handle);
    const std::uint64_t honest = p.ends[0]->engine().counters.sent_inline;
    const AnnounceRecord record{7, 0, 50'000, 4096, 1, handle, 0};
    gcs::Line line = pack(Control{Kind::announce, 0, 0}, record);
    line.control |= (honest + 1) << 32;
    nhi::Transfer transfer(p.there[0]);
    transfer.put(gcs::Layout::slot(honest), &line, sizeof line);
    ASSERT_EQ(p.devices[0]->network().initiate_transfer(transfer), Status::ok);
    p.turns(1, 300);
    EXPECT_EQ(p.ends[1]->engine().counters.bad_requests, 1u);
    ASSERT_TRUE(p.recorder.has(1));
    EXPECT_EQ(p.recorder.error(1), kPeerLost);
}
