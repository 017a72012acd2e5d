// SPDX-License-Identifier: BSD-3-Clause
// Asks: which peers are asked, once, and which sends an ask lets go.
#include "fci_core/mp/asks.h"

#include <gtest/gtest.h>

#include "test/unit/mp/forger.h"

namespace fci::mp::test {
namespace {

/// A process under the one-sided protocol, the forger, and one more that says nothing.
struct Asked : Forger {
    Asked() : Forger(kOneSided) {
        third->set_listener(&nobody);
        EXPECT_EQ(device->add_peer(third->card(), &other), Status::ok);
    }
    void meet_other() {
        EXPECT_EQ(device->connect(other), Status::ok);
        turns();
        EXPECT_TRUE(peer(other).attached);
    }
    Peer& peer(nhi::PeerId id) { return mp.engine().peers[id]; }
    int send(std::uint64_t match, int number = 1) {
        const iovec range{data.data(), 100};
        return mp.send({there, 0, 0, match, 0, {&range, 1}}, recorder.on(number), nullptr);
    }
    void answer(std::uint64_t match, std::uint8_t flags) {
        say(Kind::announce, AnnounceRecord{match, 0, 100, 0, 3, 0, 0}, flags);
    }
    /// How often it was asked since this was asked last.
    unsigned asks() {
        turns();
        unsigned count = 0;
        while (in.ready()) count += Control::of(in.take()).kind == Kind::ask;
        return count;
    }
    /// The match of what is announced next, and whether it is the last.
    std::pair<std::uint64_t, bool> announced_next() {
        const gcs::Line line = hear();
        EXPECT_EQ(Control::of(line).kind, Kind::announce);
        return {unpack<AnnounceRecord>(line).match, (Control::of(line).flags & kAll) != 0};
    }
    std::unique_ptr<ddi::Device> third = world.open(settings_for(own));
    nhi::PeerId other = 0;
};

TEST(asks, probe__asks_the_one_it_names_or_everybody) {
    Asked f;
    f.meet_other();
    EXPECT_EQ(f.mp.probe({f.there, 0, 7, 0}, nullptr, nullptr), kNoMessage);
    EXPECT_EQ(f.asks(), 1u);
    EXPECT_EQ(f.peer(f.other).out.sent(), 0u);
    EXPECT_EQ(f.mp.probe({kAnySource, 0, 7, 0}, nullptr, nullptr), kNoMessage);
    EXPECT_EQ(f.asks(), 0u) << "it stands";
    EXPECT_EQ(f.peer(f.other).out.sent(), 1u);
    EXPECT_EQ(f.mp.probe({kAnySource, 0, 7, 0}, nullptr, nullptr), kNoMessage);
    EXPECT_EQ(f.peer(f.other).out.sent(), 1u);
}

TEST(asks, receive__from_anybody_asks_those_who_come_later_too) {
    Asked f;
    f.posted(7, 100, kAnySource);
    EXPECT_EQ(f.asks(), 1u);
    f.meet_other();
    EXPECT_EQ(f.peer(f.other).out.sent(), 1u);
    EXPECT_TRUE(f.peer(f.other).ask_stands);
}

TEST(asks, peer__that_comes_while_nobody_waits_is_not_asked) {
    Asked f;
    f.posted(7, 50'000, f.there);  // is offered
    EXPECT_EQ(Control::of(f.hear()).kind, Kind::offer);
    f.meet_other();
    EXPECT_EQ(f.peer(f.other).out.sent(), 0u);
    EXPECT_EQ(f.asks(), 0u);
}

// The last of the announcements ends the ask; it is renewed while somebody waits.
TEST(asks, answer__ends_the_ask_that_is_renewed_while_it_is_needed) {
    Asked f;
    f.posted(7, 100, kAnySource);
    EXPECT_EQ(f.asks(), 1u);
    f.answer(1, 0);
    EXPECT_EQ(f.asks(), 0u) << "more comes";
    f.answer(2, kAll);
    EXPECT_EQ(f.asks(), 1u);
    f.answer(7, kAll);
    EXPECT_EQ(f.asks(), 0u) << "nobody waits any more";
    EXPECT_FALSE(f.gave_up());
}

TEST(asks, decline__makes_the_receive_one_that_is_asked_for) {
    Asked f;
    f.posted(7, 100, f.there);
    EXPECT_EQ(Control::of(f.hear()).kind, Kind::offer);
    f.say(Kind::decline, HandleRecord{0});
    EXPECT_EQ(f.asks(), 1u);
}

// All that waits goes, in order; where nothing waits, the next one that would.
TEST(asks, ask__lets_go_what_waits_or_the_next_one) {
    Asked f;
    for (const std::uint64_t match : {1, 2, 3}) EXPECT_EQ(f.send(match), kAccepted);
    f.turns();
    EXPECT_FALSE(f.in.ready());
    f.say(Kind::ask, HandleRecord{0});
    EXPECT_EQ(f.announced_next(), std::pair(std::uint64_t{1}, false));
    EXPECT_EQ(f.announced_next(), std::pair(std::uint64_t{2}, false));
    EXPECT_EQ(f.announced_next(), std::pair(std::uint64_t{3}, true));
    EXPECT_EQ(f.send(4), kAccepted);
    f.turns();
    EXPECT_FALSE(f.in.ready()) << "the ask has ended";
    f.say(Kind::ask, HandleRecord{0});
    EXPECT_EQ(f.announced_next(), std::pair(std::uint64_t{4}, true));
    f.say(Kind::ask, HandleRecord{0});
    f.turns();
    EXPECT_FALSE(f.in.ready());
    EXPECT_EQ(f.send(5), kAccepted);
    EXPECT_EQ(f.announced_next(), std::pair(std::uint64_t{5}, true));
    EXPECT_FALSE(f.gave_up());
}

// By offers first, so that what is announced without one fits none.
TEST(asks, ask__is_answered_by_what_no_offer_fits) {
    Asked f;
    for (const std::uint64_t match : {1, 2, 3}) EXPECT_EQ(f.send(match), kAccepted);
    const gcs::Line said[] = {
        pack(Control{Kind::ask, 0, 0}, HandleRecord{0}),
        pack(Control{Kind::offer, 0, 0}, OfferRecord{2, 0, 0, 0, 9, 0, 4096, 0, 0, 0})};
    for (const gcs::Line& line : said) EXPECT_EQ(f.out.put(f.bad->network(), line), Status::ok);
    while (!f.world.idle()) f.device->network().poll(0);
    const gcs::Line first = f.hear();
    EXPECT_EQ(unpack<AnnounceRecord>(first).match, 2u);
    EXPECT_EQ(unpack<AnnounceRecord>(first).receive, 9u);
    EXPECT_EQ(Control::of(first).flags & kAll, 0) << "it answers no ask";
    EXPECT_EQ(f.announced_next(), std::pair(std::uint64_t{1}, false));
    EXPECT_EQ(f.announced_next(), std::pair(std::uint64_t{3}, true));
}

// More than there are slots: the rest goes as soon as there is room, and nothing else happens.
TEST(asks, ask__is_answered_to_the_end_where_room_is_short) {
    Asked f;
    const std::uint64_t slots = f.own.layout.slots;
    for (std::uint64_t i = 0; i < slots + 5; ++i) {
        EXPECT_EQ(f.send(i, static_cast<int>(i)), kAccepted);
    }
    f.say(Kind::ask, HandleRecord{0});
    for (std::uint64_t i = 0; i < slots; ++i) {
        EXPECT_EQ(f.announced_next(), std::pair(i, false));
    }
    f.turns();
    EXPECT_FALSE(f.in.ready());
    EXPECT_EQ(f.in.return_credit(f.bad->network()), Status::ok);
    for (std::uint64_t i = slots; i < slots + 5; ++i) {
        EXPECT_EQ(f.announced_next(), std::pair(i, i == slots + 4));
    }
}

// Its receiver may have left the group, and asks for nothing.
TEST(asks, send__of_a_word_of_a_group_waits_for_none_and_answers_none) {
    Asked f;
    const auto say_word = [&](std::uint64_t match, std::uint32_t space) {
        return f.mp.send({f.there, space, kSendImmediate, match, 5, {}}, {}, nullptr);
    };
    EXPECT_EQ(f.send(1), kAccepted);
    EXPECT_EQ(say_word(2, kGroupSpace), kAccepted);
    EXPECT_EQ(f.announced_next(), std::pair(std::uint64_t{2}, false));
    EXPECT_EQ(say_word(3, 0), kAccepted);
    const iovec range{f.data.data(), 100};
    EXPECT_EQ(f.mp.send({f.there, kGroupSpace, 0, 4, 0, {&range, 1}}, {}, nullptr), kAccepted);
    f.turns();
    EXPECT_FALSE(f.in.ready()) << "a program's, and data";
    f.say(Kind::ask, HandleRecord{0});
    for (const std::uint64_t match : {1, 3, 4}) {
        EXPECT_EQ(f.announced_next(), std::pair(match, match == 4));
    }
    f.say(Kind::ask, HandleRecord{0});
    EXPECT_EQ(say_word(5, kGroupSpace), kAccepted);
    EXPECT_EQ(f.announced_next(), std::pair(std::uint64_t{5}, false));
    EXPECT_EQ(f.send(6), kAccepted);
    EXPECT_EQ(f.announced_next(), std::pair(std::uint64_t{6}, true)) << "the ask stood";
    EXPECT_FALSE(f.gave_up());
}

TEST(asks, cancel__of_one_that_waits_tells_nobody) {
    Asked f;
    const iovec range{f.data.data(), 100};
    std::uint32_t handle = 0;
    EXPECT_EQ(f.mp.send({f.there, 0, 0, 7, 0, {&range, 1}}, f.recorder.on(1), &handle), kAccepted);
    EXPECT_EQ(f.mp.cancel(handle), kSuccess);
    f.turns();
    EXPECT_EQ(f.recorder.error(1), kCanceled);
    EXPECT_FALSE(f.in.ready());
    f.say(Kind::ask, HandleRecord{0});
    f.turns();
    EXPECT_FALSE(f.in.ready()) << "nothing waits";
}

}  // namespace
}  // namespace fci::mp::test
