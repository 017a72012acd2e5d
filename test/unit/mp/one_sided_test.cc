// SPDX-License-Identifier: BSD-3-Clause
// The one-sided protocol: a send waits for the offer of its receive, or is asked for.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "fci_core/base/prng.h"
#include "test/unit/mp/forger.h"
#include "test/unit/mp/pair.h"
#include "test/unit/seed.h"

namespace fci::mp::test {
namespace {

Limits ring_limits() {
    Limits limits = small_limits();
    limits.copy = CopyPath::Policy::ring;  // a pull needs no offer
    return limits;
}

struct OneSided : Pair {
    explicit OneSided(const Limits& limits = ring_limits()) : Pair(kOneSided, {}, limits) {
        attach();
        settle();
        for (const int who : {0, 1}) before[who] = counters(who);
    }
    [[nodiscard]] const Counters& counters(int who) const { return ends[who]->engine().counters; }
    /// Send requests of process 0 since it has attached.
    [[nodiscard]] std::uint64_t announced() const {
        return counters(0).sent_announced - before[0].sent_announced;
    }
    /// Of these, those that answered an offer.
    [[nodiscard]] std::uint64_t direct() const {
        return counters(0).sent_one_sided - before[0].sent_one_sided;
    }
    Peer& peer(int who) { return ends[who]->engine().peers[there[who]]; }

    Counters before[2];
};

TEST(one_sided, send__puts_nothing_out_before_its_offer_is_there) {
    OneSided p;
    for (const std::size_t bytes : {0, 8, 3000, 50'000}) {
        p.recorder.outcomes.clear();
        auto data = pattern(bytes);
        std::vector<std::byte> other(bytes), to(bytes);
        const std::uint64_t put = p.peer(0).out.sent(), direct = p.direct();
        EXPECT_EQ(p.send(0, 0, 7, data, 1), kAccepted);
        p.receive(1, 8, other, 2);
        p.settle();
        EXPECT_EQ(p.peer(0).out.sent(), put) << bytes;
        EXPECT_FALSE(p.recorder.has(1));
        EXPECT_TRUE(p.ends[0]->drained() && !p.ends[0]->ready());
        EXPECT_FALSE(p.ends[0]->engine().orders.sends_taken());
        p.receive(1, 7, to, 3);
        p.settle();
        ASSERT_TRUE(p.recorder.has(1) && p.recorder.has(3)) << bytes;
        EXPECT_EQ(to, data);
        EXPECT_EQ(p.direct(), direct + 1);
        p.send(0, 0, 8, data, 4);
        p.settle();
        EXPECT_EQ(other, data);
        EXPECT_EQ(p.direct(), direct + 2);
    }
    EXPECT_EQ(p.announced(), p.direct()) << "nothing but what was offered";
}

TEST(one_sided, send__that_cannot_be_buffered_is_to_be_tried_again) {
    OneSided p;
    auto data = pattern(8);
    std::vector<std::byte> to(8);
    EXPECT_EQ(p.send(0, kSendBuffered, 7, data, 1), kAgain);
    EXPECT_EQ(p.ends[0]->engine().orders.used(), 0u);
}

TEST(one_sided, receive__from_anybody_asks_for_what_waits_and_for_what_comes) {
    for (const bool first : {true, false}) {
        OneSided p;
        auto data = pattern(50'000);
        std::vector<std::byte> to(50'000);
        if (first) p.receive(1, 7, to, 1, nullptr, true);
        p.settle();
        p.send(0, 0, 7, data, 2);
        p.settle();
        if (!first) p.receive(1, 7, to, 1, nullptr, true);
        p.settle();
        ASSERT_TRUE(p.recorder.has(1) && p.recorder.has(2));
        EXPECT_EQ(to, data);
        EXPECT_EQ(p.direct(), 0u);
        EXPECT_FALSE(p.peer(1).ask_stands || p.peer(0).asked) << "answered, and nobody waits";
    }
}

TEST(one_sided, ask__stands_until_it_is_answered_and_is_not_repeated) {
    OneSided p;
    std::vector<std::vector<std::byte>> to(20, std::vector<std::byte>(100));
    const std::uint64_t put = p.peer(1).out.sent();
    for (int i = 0; i < 20; ++i) p.receive(1, 7, to[i], i, nullptr, true);
    p.settle();
    EXPECT_EQ(p.peer(1).out.sent(), put + 1);
    auto data = pattern(100);
    for (int i = 0; i < 20; ++i) p.send(0, 0, 7, data, 100 + i);
    p.settle();
    for (int i = 0; i < 20; ++i) EXPECT_EQ(to[i], data) << i;
    EXPECT_EQ(p.announced(), 20u);
    EXPECT_FALSE(p.peer(1).ask_stands);
}

TEST(one_sided, receive__that_was_posted_before_the_two_had_met) {
    for (const bool any : {true, false}) {
        Pair p(kOneSided, {}, ring_limits());
        auto data = pattern(3000);
        std::vector<std::byte> to(3000);
        p.receive(1, 7, to, 1, nullptr, any);
        p.turns(1, 50);
        p.send(0, 0, 7, data, 2);
        p.settle();
        ASSERT_TRUE(p.recorder.has(1) && p.recorder.has(2)) << any;
        EXPECT_EQ(to, data);
    }
}

TEST(one_sided, receive__behind_one_from_anybody_is_asked_for) {
    OneSided p;
    std::vector<std::byte> any(100), named(100), apart(100);
    auto first = pattern(100, 1), second = pattern(100, 2), third = pattern(100, 3);
    std::uint32_t handle = 0;
    p.receive(1, 7, any, 1, &handle, true);
    p.receive(1, 7, named, 2);
    p.receive(1, 9, apart, 3);
    EXPECT_EQ(p.counters(1).receives_offered - p.before[1].receives_offered, 1u);
    p.settle();
    p.send(0, 0, 9, third, 10);
    p.send(0, 0, 7, first, 11);
    p.send(0, 0, 7, second, 12);
    p.settle();
    EXPECT_EQ(any, first);
    EXPECT_EQ(named, second);
    EXPECT_EQ(apart, third);
    EXPECT_EQ(p.direct(), 1u);
}

// 64 requests are remembered for offers that cross them. Behind more an offer is declined.
TEST(one_sided, receive__whose_offer_was_declined_is_asked_for) {
    Limits limits = ring_limits();
    limits.layout.slots = 256;
    OneSided p(limits);
    auto data = pattern(10);
    for (int i = 0; i < 100; ++i) p.send(0, 0, 1, data, i);
    EXPECT_EQ(p.ends[1]->probe({kAnySource, 0, 2, 0}, nullptr, nullptr), kNoMessage);
    p.turns(0, 300);  // all are announced, and the receiver has seen none
    EXPECT_EQ(p.announced(), 100u);
    std::vector<std::byte> to(10);
    p.receive(1, 2, to, 1000);
    p.settle();
    EXPECT_EQ(p.counters(1).receives_declined - p.before[1].receives_declined, 1u);
    EXPECT_TRUE(p.peer(1).ask_stands);
    p.send(0, 0, 2, data, 1001);
    p.settle();
    EXPECT_TRUE(p.recorder.has(1000) && p.recorder.has(1001));
    EXPECT_EQ(p.ends[1]->engine().arrived.size(), 100u);
}

TEST(one_sided, receive__beyond_the_offers_that_a_peer_keeps_is_asked_for) {
    OneSided p;
    constexpr int kMany = 3 * Peer::kOffersMost;
    std::vector<std::vector<std::byte>> to(kMany, std::vector<std::byte>(100));
    for (int i = 0; i < kMany; ++i) p.receive(1, i, to[i], i);
    p.settle();
    EXPECT_EQ(p.peer(1).offers_out, Peer::kOffersMost);
    for (int i = kMany; i-- > 0;) {
        auto data = pattern(100, static_cast<unsigned>(i));
        p.send(0, 0, i, data, 1000 + i);
        p.settle();
        EXPECT_EQ(to[i], data) << i;
    }
    EXPECT_EQ(p.direct(), Peer::kOffersMost);
    EXPECT_EQ(p.peer(1).offers_out, 0u);
}

TEST(one_sided, probe__sees_what_waits_at_its_sender) {
    for (const bool any : {true, false}) {
        OneSided p;
        auto data = pattern(200);
        std::vector<std::byte> to(200);
        const Pattern wanted{any ? kAnySource : p.there[1], 0, 7, 0};
        p.send(0, 0, 6, data, 1);  // does not fit, and is announced all the same
        p.settle();
        EXPECT_EQ(p.ends[1]->probe(wanted, nullptr, nullptr), kNoMessage);
        p.settle();
        EXPECT_EQ(p.ends[1]->probe(wanted, nullptr, nullptr), kNoMessage);
        p.send(0, 0, 7, data, 2);
        p.settle();
        Outcome outcome{};
        Arrived* claimed = nullptr;
        ASSERT_EQ(p.ends[1]->probe(wanted, &outcome, &claimed), kSuccess);
        EXPECT_EQ(outcome.length, 200u);
        const iovec range{to.data(), to.size()};
        EXPECT_EQ(p.ends[1]->receive_claimed(*claimed, {&range, 1}, p.recorder.on(3), nullptr,
                                             &outcome),
                  kAccepted);
        p.settle();
        EXPECT_EQ(to, data);
        EXPECT_TRUE(p.recorder.has(2) && !p.recorder.has(1));
    }
}

TEST(one_sided, cancel__of_a_send_that_waits) {
    OneSided p;
    auto first = pattern(100, 1), second = pattern(100, 2);
    std::vector<std::byte> to(100);
    std::uint32_t handle = 0;
    p.send(0, 0, 7, first, 1, &handle);
    p.send(0, 0, 7, second, 2);
    p.settle();
    EXPECT_EQ(p.ends[0]->cancel(handle), kSuccess);
    p.settle();
    ASSERT_TRUE(p.recorder.has(1));
    EXPECT_EQ(p.recorder.error(1), kCanceled);
    p.receive(1, 7, to, 3);
    p.settle();
    EXPECT_EQ(to, second);
    EXPECT_EQ(p.ends[0]->engine().orders.used(), 0u);
}

TEST(one_sided, send__that_waits_ends_with_its_peer) {
    for (const bool killed : {true, false}) {
        OneSided p;
        auto data = pattern(100);
        p.send(0, 0, 7, data, 1);
        p.settle();
        if (killed) p.world.kill(1);
        if (!killed) p.ends[1].reset();
        if (!killed) p.devices[1].reset();
        p.turns(0, 2000);
        ASSERT_TRUE(p.recorder.has(1));
        EXPECT_EQ(p.recorder.error(1), kPeerLost);
        EXPECT_EQ(p.ends[0]->engine().orders.used(), 0u);
    }
}

TEST(one_sided, head_to_head__all_arrive) {
    OneSided p;
    constexpr int kMany = 50;
    auto data = pattern(30'000);
    std::vector<std::vector<std::byte>> to[2];
    for (const int who : {0, 1}) to[who].assign(kMany, std::vector<std::byte>(30'000));
    for (int i = 0; i < kMany; ++i) {
        for (const int who : {0, 1}) {
            p.send(who, i % 2 != 0 ? kSendSynchronous : 0, i % 3, data, 1000 * who + i);
            p.receive(who, i % 3, to[who][i], 1000 * who + 500 + i, nullptr, i % 5 == 0);
        }
    }
    p.settle();
    EXPECT_EQ(p.recorder.outcomes.size(), 4u * kMany);
    EXPECT_EQ(to[0], to[1]);
    EXPECT_EQ(p.ends[0]->engine().orders.used() + p.ends[1]->engine().orders.used(), 0u);
}

// Messages and receives of one tag pair up in order, however they are asked for and wherever room
// is short, so which tags they have says what each receive must get.
TEST(one_sided, order__over_offers_asks_and_probes) {
    std::uint64_t direct = 0, asked = 0;
    for (const std::uint64_t seed : seeds(200)) {
        SCOPED_TRACE("seed " + std::to_string(seed));
        Prng prng(seed);
        Limits limits = ring_limits();
        limits.layout.slots = prng.chance(50) ? 4 : 64;
        OneSided p(limits);
        constexpr int kMany = 60;
        constexpr std::uint64_t kTags = 3;
        std::vector<std::uint64_t> tags(kMany);
        std::vector<std::vector<std::byte>> data, to(kMany, std::vector<std::byte>(64));
        for (std::uint64_t& tag : tags) tag = prng.below(kTags);
        for (int i = 0; i < kMany; ++i) data.push_back(pattern(64, static_cast<unsigned>(i)));
        int sent = 0;
        std::vector<int> posted;  // indices of messages, in an order that keeps that of each tag
        std::vector<int> next(kTags, 0);
        while (sent < kMany || posted.size() < kMany) {
            if (sent < kMany && prng.chance(50)) {
                p.send(0, 0, tags[sent], data[sent], sent);
                ++sent;
            } else if (const std::uint64_t tag = prng.below(kTags); posted.size() < kMany) {
                int& from = next[tag];
                while (from < kMany && tags[from] != tag) ++from;
                if (from == kMany) continue;
                p.receive(1, tag, to[posted.size()], 100 + static_cast<int>(posted.size()), nullptr,
                          prng.chance(30));
                posted.push_back(from++);
            }
            if (prng.chance(10)) {
                (void)p.ends[1]->probe({kAnySource, 0, 99, 0}, nullptr, nullptr);
            }
            if (prng.chance(30)) p.turns(prng.chance(50), 1 + static_cast<unsigned>(prng.below(9)));
        }
        p.settle();
        for (int i = 0; i < kMany; ++i) {
            ASSERT_TRUE(p.recorder.has(i) && p.recorder.has(100 + i)) << i;
            ASSERT_EQ(to[i], data[posted[i]]) << i;
        }
        direct += p.direct();
        asked += p.announced() - p.direct();
    }
    EXPECT_GT(direct, 500u);
    EXPECT_GT(asked, 1000u);
}

TEST(one_sided, send__is_found_among_ten_thousand) {
    OneSided p;
    constexpr int kMany = 10'000;
    auto data = pattern(8);
    std::vector<std::byte> to(8);
    for (int i = 0; i < kMany; ++i) p.send(0, 0, i, data, i);
    p.settle();
    for (int i = kMany; i-- > kMany - 100;) {
        p.receive(1, i, to, kMany + i);
        p.settle();
        ASSERT_TRUE(p.recorder.has(i) && p.recorder.has(kMany + i));
    }
    EXPECT_LT(p.peer(0).unasked.visits(), 2u * kMany) << "beyond those that made the index";
}

TEST(one_sided, hostile__asks_and_answers_to_none) {
    const auto given_up = [](const Protocol& protocol, auto story) {
        Forger forger(protocol);
        story(forger);
        return forger.gave_up();
    };
    const auto ask = [](Forger& f) { f.say(Kind::ask, HandleRecord{0}); };
    const auto answer = [](Forger& f) {
        f.say(Kind::announce, AnnounceRecord{7, 0, 100, 0, 3, 0, 0}, kAll);
    };
    EXPECT_FALSE(given_up(kOneSided, ask));
    EXPECT_TRUE(given_up(kEnhancedMixed, ask));
    EXPECT_TRUE(given_up(kOneSided, [&](Forger& f) { ask(f), ask(f); }));
    EXPECT_TRUE(given_up(kOneSided, answer));
    EXPECT_TRUE(given_up(kEnhancedMixed, answer));
    EXPECT_FALSE(given_up(kOneSided, [&](Forger& f) {
        f.posted(8, 100, kAnySource);
        EXPECT_EQ(Control::of(f.hear()).kind, Kind::ask);
        answer(f);
        EXPECT_EQ(Control::of(f.hear()).kind, Kind::ask) << "it did not fit";
        answer(f);
    }));
    EXPECT_TRUE(given_up(kOneSided, [&](Forger& f) {
        f.posted(7, 100, kAnySource);
        answer(f);
        answer(f);
    }));
    EXPECT_FALSE(given_up(kOneSided, [&](Forger& f) {
        ask(f);
        for (int i = 0; i < 3; ++i) {
            (void)f.announced();  // the first message ends the ask, the next one waits for another
            ask(f);
            f.recorder.outcomes.clear();
        }
    }));
}

TEST(one_sided, hostile__offers_of_everything_take_one_send_each) {
    Forger f(kOneSided);
    const iovec range{f.data.data(), f.data.size()};
    for (int i = 0; i < 5; ++i) {
        EXPECT_EQ(f.mp.send({f.there, 0, 0, 7, 0, {&range, 1}}, f.recorder.on(i), nullptr),
                  kAccepted);
    }
    EXPECT_EQ(f.mp.engine().peers[f.there].unasked.size(), 5u);
    for (std::uint32_t i = 1; i <= 3; ++i) {
        f.say(Kind::offer, OfferRecord{0, ~0ull, 0, 0, i, 0, 4096, 0, 0, 0});  // of no bytes
        EXPECT_EQ(unpack<AnnounceRecord>(f.hear()).receive, i);
        EXPECT_EQ(f.recorder.outcomes.size(), i);
    }
    f.say(Kind::ask, HandleRecord{0});
    EXPECT_EQ(Control::of(f.hear()).flags, 0);
    EXPECT_EQ(Control::of(f.hear()).flags, kAll);
    EXPECT_FALSE(f.gave_up());
}

}  // namespace
}  // namespace fci::mp::test
