// SPDX-License-Identifier: BSD-3-Clause
// Offers at their edges, fed by hand: which receives are offered, how far back notes reach, how
// many are kept, and what one that comes twice changes.
#include <gtest/gtest.h>

#include "test/unit/mp/forger.h"

namespace fci::mp::test {
namespace {

constexpr std::size_t kLong = 50'000;

/// Of the forger: a receive without room, so nothing comes but the announcement.
OfferRecord offer_of(std::uint64_t match, std::uint32_t receive, std::uint32_t seen = 0,
                     std::uint8_t epoch = 0) {
    return {match, 0, 0, 0, receive, seen, 4096, 0, static_cast<std::uint8_t>(Path::ring), epoch};
}

struct Offered : Forger {
    explicit Offered(const Limits& limits = Forger::limits())
        : Forger(kEnhancedMixed, {}, limits) {}
    explicit Offered(const sim::WorldOptions& options, const Limits& limits = Forger::limits())
        : Forger(kEnhancedMixed, options, limits) {}

    [[nodiscard]] const Counters& counters() const { return mp.engine().counters; }
    /// A receive of so many bytes is offered.
    bool offers(std::uint64_t match, std::size_t bytes) { return offers(match, bytes, there); }
    bool offers(std::uint64_t match, std::size_t bytes, nhi::PeerId source) {
        const std::uint64_t before = counters().receives_offered;
        posted(match, bytes, source);
        return counters().receives_offered != before;
    }
    /// A message of the process. `number`: of its completion.
    int send(std::uint64_t match, std::size_t bytes, int number = 1) {
        const iovec range{data.data(), bytes};
        return mp.send({there, 0, 0, match, 0, {&range, 1}}, recorder.on(number), nullptr);
    }
    bool send_fast(std::uint64_t match, std::size_t bytes) {
        return fast::send_far(mp.engine(), there, 0, 0, match, 0, data.data(), bytes);
    }
    /// The receive that a long message of the process is announced for; 0: for none.
    std::uint32_t announced_for(std::uint64_t match, int number = 1) {
        EXPECT_GE(send(match, kLong, number), 0);
        const gcs::Line line = hear();
        EXPECT_EQ(Control::of(line).kind, Kind::announce);
        return unpack<AnnounceRecord>(line).receive;
    }
    void expect_declined(std::uint8_t epoch) {
        const gcs::Line line = hear();
        EXPECT_EQ(Control::of(line).kind, Kind::decline);
        EXPECT_EQ(unpack<HandleRecord>(line).handle, epoch);
    }
    void expect_silence() {
        turns();
        EXPECT_FALSE(in.ready());
    }
};

Limits many_slots() {
    Limits limits = Forger::limits();
    limits.layout.slots = 256;
    return limits;
}

TEST(offers_edges, decline__written_twice_is_one) {
    Offered f;
    f.posted(7, kLong, f.there);
    EXPECT_EQ(unpack<OfferRecord>(f.hear()).epoch, 0);
    f.say(Kind::decline, HandleRecord{0});
    EXPECT_EQ(f.counters().receives_declined, 1u);
    EXPECT_FALSE(f.offers(7, kLong)) << "behind one that the peer does not know";
    EXPECT_TRUE(f.offers(8, kLong));
    EXPECT_EQ(unpack<OfferRecord>(f.hear()).epoch, 1);
    for (const std::uint64_t stale : {0, 2, 256 + 1}) f.say(Kind::decline, HandleRecord{stale});
    EXPECT_EQ(f.counters().receives_declined, 1u);
    EXPECT_TRUE(f.offers(8, kLong)) << "the one before stands";
    EXPECT_EQ(unpack<OfferRecord>(f.hear()).epoch, 1);
    f.say(Kind::decline, HandleRecord{1});
    EXPECT_EQ(f.counters().receives_declined, 2u);
    EXPECT_FALSE(f.offers(8, kLong));
    EXPECT_FALSE(f.gave_up());
}

TEST(offers_edges, decline__of_one_peer_leaves_the_offers_to_others_alone) {
    Offered f;
    const std::unique_ptr<ddi::Device> third = f.world.open(settings_for(f.own));
    third->set_listener(&f.nobody);
    nhi::PeerId other = 0;
    ASSERT_EQ(f.device->add_peer(third->card(), &other), Status::ok);
    ASSERT_EQ(f.device->connect(other), Status::ok);
    f.turns();
    EXPECT_TRUE(f.offers(7, kLong));
    EXPECT_TRUE(f.offers(8, kLong, other));
    f.say(Kind::decline, HandleRecord{0});
    EXPECT_FALSE(f.offers(7, kLong));
    EXPECT_TRUE(f.offers(8, kLong, other));
}

TEST(offers_edges, receive__of_each_length_that_is_offered) {
    {
        Offered f;
        EXPECT_FALSE(f.offers(1, f.own.offer_bytes - 1));
        EXPECT_TRUE(f.offers(2, f.own.offer_bytes));
        EXPECT_FALSE(f.offers(3, kLong, nhi::kSelf));
        EXPECT_FALSE(f.offers(4, kLong, kAnySource));
        EXPECT_TRUE(f.offers(5, kLong));
    }
    {
        Limits limits = Forger::limits();
        limits.offer_bytes = 1;
        Offered f(limits);
        EXPECT_FALSE(f.offers(1, limits.eager_bytes)) << "its message comes with its data";
        EXPECT_TRUE(f.offers(2, limits.eager_bytes + 1));
    }
    {
        Offered f(direct_options());
        EXPECT_FALSE(f.offers(1, kPushMost)) << "its message is pushed";
        EXPECT_TRUE(f.offers(2, kPushMost + 1));
    }
}

TEST(offers_edges, receive__of_one_that_is_not_met_is_not_offered) {
    Offered f;
    const std::unique_ptr<ddi::Device> third = f.world.open(settings_for(f.own));
    nhi::PeerId other = 0;
    ASSERT_EQ(f.device->add_peer(third->card(), &other), Status::ok);
    const iovec range{f.to.data(), kLong};
    EXPECT_EQ(f.mp.receive({other, 0, 7, 0}, {&range, 1}, f.recorder.on(2), nullptr, nullptr),
              kAccepted);
    EXPECT_EQ(f.counters().receives_offered, 0u);
}

TEST(offers_edges, offer__says_what_was_seen_and_where_the_data_goes) {
    Offered f;
    f.say(Kind::send, HandleRecord{99}, 0, 8);
    f.say(Kind::send, HandleRecord{99}, 0, 8);
    const std::uint32_t handle = f.posted(7, kLong, f.there);
    const gcs::Line line = f.hear();
    const auto record = unpack<OfferRecord>(line);
    EXPECT_EQ(Control::of(line).space(), 0u);
    EXPECT_EQ(record.match, 7u);
    EXPECT_EQ(record.ignore, 0u);
    EXPECT_EQ(record.address, reinterpret_cast<std::uint64_t>(f.to.data()));
    EXPECT_EQ(record.bytes, kLong);
    EXPECT_EQ(record.receive, handle);
    EXPECT_EQ(record.seen, 2u);
}

// Of each of the last kSentNotes requests there is a note, but of those of the fast path only from
// the first offer on.
TEST(offers_edges, offer__made_before_sends_that_are_remembered) {
    for (const bool too_far : {false, true}) {
        SCOPED_TRACE(too_far);
        Offered f(many_slots());
        EXPECT_EQ(f.send(1, 8), kDone);
        f.say(Kind::offer, offer_of(900, 9, 1));  // sees all there was
        for (unsigned i = 0; i < Peer::kSentNotes; ++i) EXPECT_EQ(f.send(2, 8), kDone);
        if (too_far) {
            EXPECT_EQ(f.send(2, 8), kDone);
        }
        for (unsigned i = 0; i < Peer::kSentNotes + too_far + 1; ++i) (void)f.hear();
        f.say(Kind::offer, offer_of(7, 10, 1));
        if (too_far) f.expect_declined(0);
        EXPECT_EQ(f.announced_for(7), too_far ? 0u : 10u);
        EXPECT_FALSE(f.gave_up());
    }
}

TEST(offers_edges, offer__made_before_a_send_of_which_there_is_no_note) {
    for (const bool is_fast : {true, false}) {
        for (const std::uint32_t seen : {0u, 1u}) {
            SCOPED_TRACE(testing::Message() << seen << (is_fast ? " by the fast path" : ""));
            Offered f;
            if (is_fast) {
                ASSERT_TRUE(f.send_fast(1, 8));
            } else {
                EXPECT_EQ(f.send(1, 8), kDone);
            }
            (void)f.hear();
            f.say(Kind::offer, offer_of(7, 9, seen));
            const bool is_declined = is_fast && seen == 0;
            if (is_declined) f.expect_declined(0);
            EXPECT_EQ(f.announced_for(7), is_declined ? 0u : 9u);
            EXPECT_FALSE(f.gave_up());
        }
    }
}

// One that fits uses it up, and what comes after that is not for this offer.
TEST(offers_edges, offer__that_crossed_a_send_before_one_of_which_there_is_no_note) {
    Offered f;
    EXPECT_EQ(f.send(7, 8), kDone);
    ASSERT_TRUE(f.send_fast(7, 8));
    for (int i = 0; i < 2; ++i) (void)f.hear();
    f.say(Kind::offer, offer_of(7, 9));
    f.expect_silence();
    f.say(Kind::offer, offer_of(7, 10));
    f.expect_declined(0);
    EXPECT_EQ(f.announced_for(7), 0u);
}

// Requests that are no messages: an answer, a piece of the ring.
TEST(offers_edges, offer__that_crossed_what_is_no_message_stands) {
    for (const bool is_piece : {true, false}) {
        SCOPED_TRACE(is_piece);
        Offered f;
        if (is_piece) {
            f.say(Kind::clear_to_send,
                  ClearToSendRecord{f.announced(), 9, 0, 1000, 4096, 0,
                                    static_cast<std::uint8_t>(Path::ring), 0});
            EXPECT_EQ(Control::of(f.hear()).kind, Kind::piece);
        } else {
            f.say(Kind::withdraw, HandleRecord{99});
            EXPECT_EQ(Control::of(f.hear()).kind, Kind::withdrawn);
        }
        f.say(Kind::offer, offer_of(0, 10, is_piece ? 1 : 0));
        f.expect_silence();
        EXPECT_EQ(f.announced_for(0, 3), 10u);
        EXPECT_FALSE(f.gave_up());
    }
}

TEST(offers_edges, offer__that_crossed_an_answer_that_had_to_wait_stands) {
    Limits limits = Forger::limits();
    limits.layout.slots = 4;
    Offered f(limits);
    for (std::uint64_t i = 0; i < 5; ++i) f.say(Kind::withdraw, HandleRecord{90 + i});
    for (std::uint64_t i = 0; i < 4; ++i) (void)f.hear();
    f.expect_silence();  // there was no slot for the last one
    ASSERT_EQ(f.in.return_credit(f.bad->network()), Status::ok);
    EXPECT_EQ(unpack<HandleRecord>(f.hear()).handle, 94u);
    f.say(Kind::offer, offer_of(0, 10));
    f.expect_silence();
    EXPECT_EQ(f.announced_for(0), 10u);
}

TEST(offers_edges, offer__that_crossed_an_active_message_stands) {
    Offered f;
    for (const std::size_t bytes : {std::size_t{8}, kLong}) {
        const iovec range{f.data.data(), bytes};
        EXPECT_GE(
            f.mp.send({f.there, kActiveSpace, 0, 5, 0, {&range, 1}}, f.recorder.on(4), nullptr), 0);
        (void)f.hear();
        f.recorder.outcomes.clear();
    }
    f.say(Kind::offer, offer_of(5, 9));
    f.expect_silence();
    EXPECT_EQ(f.announced_for(5), 9u);
}

TEST(offers_edges, offer__of_who_has_seen_what_was_not_sent_is_declined) {
    for (const std::uint32_t seen : {3u, 100u, 1u << 31, 0u - Peer::kSentNotes, 0u - 1}) {
        SCOPED_TRACE(seen);
        Offered f;
        for (int i = 0; i < 2; ++i) EXPECT_EQ(f.send(1, 8), kDone);
        for (int i = 0; i < 2; ++i) (void)f.hear();
        f.say(Kind::offer, offer_of(7, 9, seen));
        f.expect_declined(0);
        EXPECT_EQ(f.announced_for(7), 0u);
        EXPECT_FALSE(f.gave_up());
    }
}

enum class Fast : std::uint8_t { line, eager, far };

class offers_by_the_fast_path : public ::testing::TestWithParam<Fast> {
protected:
    /// A message of 8 bytes in its line, or of 1000 in the ring.
    bool send(Pair& p) {
        const bool is_far = GetParam() == Fast::far;
        Engine& end = p.ends[0]->engine();
        return is_far ? fast::send_far(end, p.there[0], 0, 0, 5, 0, data.data(), data.size())
                      : p.send_fast(0, p.there[0], 0, 5, 0, data);
    }
    std::vector<std::byte> data = pattern(GetParam() == Fast::line ? 8 : 1000);
};
INSTANTIATE_TEST_SUITE_P(ways, offers_by_the_fast_path,
                         ::testing::Values(Fast::line, Fast::eager, Fast::far),
                         [](const auto& p) {
                             return p.param == Fast::line    ? "line"
                                    : p.param == Fast::eager ? "eager"
                                                             : "far";
                         });

// Of a message that was under way when the first offer came there is no note.
TEST_P(offers_by_the_fast_path, message__that_crosses_the_first_offer_declines_it) {
    const bool stores = GetParam() != Fast::far;
    Pair p(kEnhancedMixed, {.mapped = stores, .stores = stores});
    p.attach();
    for (int round = 0; round < 3; ++round) {
        SCOPED_TRACE(round);
        auto big = pattern(kLong);
        std::vector<std::byte> little(kLong), to(kLong);
        EXPECT_EQ(p.send(0, 0, 9, data, 4), kDone);  // after which the fast path is taken
        p.settle();
        ASSERT_TRUE(send(p));
        p.receive(1, 5, little, 1);
        p.settle();
        ASSERT_TRUE(p.recorder.has(1));
        EXPECT_EQ(p.recorder.outcomes[1].length, data.size());
        EXPECT_EQ(p.ends[1]->engine().counters.receives_declined, 1u) << "the first alone";
        EXPECT_EQ(p.ends[1]->engine().counters.receives_offered, round + 1u);
        EXPECT_EQ(p.send(0, 0, 5, big, 2), kAccepted);
        p.settle();
        EXPECT_EQ(p.ends[0]->engine().counters.sent_one_sided, 0u) << "the offer is used up";
        p.receive(1, 5, to, 3);
        p.settle();
        EXPECT_EQ(to, big);
        p.recorder.outcomes.clear();
    }
    EXPECT_EQ(p.ends[0]->engine().counters.bad_requests, 0u);
}

// The message was on its way, so the offer is used up; only the oldest one that fits uses it.
TEST(offers_edges, offer__that_crossed_a_send_is_used_up) {
    Offered f;
    f.say(Kind::offer, offer_of(900, 9));
    for (const std::uint64_t match : {1, 7, 2, 7}) EXPECT_EQ(f.send(match, 8), kDone);
    for (int i = 0; i < 4; ++i) (void)f.hear();
    f.say(Kind::offer, offer_of(7, 10));
    f.say(Kind::offer, offer_of(7, 11));
    f.say(Kind::offer, offer_of(7, 12));
    EXPECT_EQ(f.announced_for(7, 1), 12u) << "two had gone out";
    EXPECT_FALSE(f.gave_up());
}

TEST(offers_edges, offer__of_another_space_fits_no_send_that_crossed_it) {
    Offered f;
    f.say(Kind::offer, offer_of(900, 9));
    EXPECT_EQ(f.send(7, 8), kDone);
    (void)f.hear();
    f.say(Kind::offer, offer_of(7, 10), 1 << kSpaceShift);
    f.say(Kind::offer, offer_of(7, 11));
    EXPECT_EQ(f.announced_for(7, 1), 0u) << "the one of its space was used up";
    const iovec range{f.data.data(), kLong};
    EXPECT_GE(f.mp.send({f.there, 1, 0, 7, 0, {&range, 1}}, f.recorder.on(2), nullptr), 0);
    EXPECT_EQ(unpack<AnnounceRecord>(f.hear()).receive, 10u);
}

TEST(offers_edges, offers__as_many_as_are_kept_and_one_more) {
    Offered f(many_slots());
    for (std::uint32_t i = 0; i < Peer::kOffersMost; ++i) f.say(Kind::offer, offer_of(i, 100 + i));
    f.expect_silence();
    f.say(Kind::offer, offer_of(50, 200));
    f.expect_declined(0);
    f.say(Kind::withdraw, HandleRecord{100});
    EXPECT_EQ(unpack<HandleRecord>(f.hear()).handle, 100u);
    f.say(Kind::offer, offer_of(51, 201));  // of the epoch that was declined
    f.expect_silence();
    f.say(Kind::offer, offer_of(52, 202, 1, 1));
    f.expect_silence();
    EXPECT_EQ(f.announced_for(52, 1), 202u);
    EXPECT_EQ(f.announced_for(51, 2), 0u);
    EXPECT_EQ(f.announced_for(50, 3), 0u);
    EXPECT_EQ(f.announced_for(0, 4), 0u) << "was taken back";
    EXPECT_EQ(f.announced_for(1, 5), 101u);
    EXPECT_FALSE(f.gave_up());
}

TEST(offers_edges, withdraw__takes_back_that_one_alone) {
    Offered f;
    for (const std::uint32_t receive : {9, 10, 11}) f.say(Kind::offer, offer_of(7, receive));
    f.say(Kind::withdraw, HandleRecord{10});
    const gcs::Line line = f.hear();
    EXPECT_EQ(Control::of(line).kind, Kind::withdrawn);
    EXPECT_EQ(unpack<HandleRecord>(line).handle, 10u);
    EXPECT_EQ(f.announced_for(7, 1), 9u);
    EXPECT_EQ(f.announced_for(7, 2), 11u);
    EXPECT_EQ(f.announced_for(7, 3), 0u);
}

// A message for which an offer may be waiting does not go out at once, whatever else does.
TEST(offers_edges, offer__ends_the_fast_path) {
    Pair p(kEnhancedMixed, {.mapped = true, .stores = true});
    p.attach();
    auto tiny = pattern(8), longer = pattern(60), big = pattern(kLong);
    std::vector<std::byte> to[4] = {std::vector<std::byte>(8), std::vector<std::byte>(60),
                                    std::vector<std::byte>(kLong), std::vector<std::byte>(kLong)};
    p.receive(1, 1, to[0], 1);
    p.receive(1, 2, to[1], 2);
    EXPECT_EQ(p.send(0, 0, 2, longer, 12), kDone);
    ASSERT_TRUE(p.send_fast(0, p.there[0], 0, 1, 0, tiny));
    p.settle();
    p.receive(1, 5, to[2], 3);
    p.receive(1, 5, to[3], 4);
    p.settle();
    EXPECT_FALSE(p.send_fast(0, p.there[0], 0, 5, 0, tiny));
    EXPECT_EQ(p.send(0, 0, 5, tiny, 13), kDone);
    EXPECT_EQ(p.send(0, 0, 5, big, 14), kAccepted);
    p.settle();
    EXPECT_EQ(p.recorder.outcomes[3].length, tiny.size());
    EXPECT_EQ(p.recorder.outcomes[4].length, big.size());
    EXPECT_EQ(to[3], big);
    EXPECT_EQ(p.ends[0]->engine().counters.sent_one_sided, 1u);
}

}  // namespace
}  // namespace fci::mp::test
