// SPDX-License-Identifier: BSD-3-Clause
// Coming in: how long a guest may stand and say nothing, who makes room for whom, and when the door
// is closed. All by a clock that goes on only where the test sets it.
#include <cerrno>
#include <memory>
#include <vector>

#include "fci_core/ddi/crossing.h"
#include "test/unit/drivers/calls.h"
#include "test/unit/drivers/hand_clock.h"
#include "test/unit/drivers/shm_odd_host.h"
#include "test/unit/drivers/shm_party.h"
#include "test/unit/steps.h"

namespace fci::shm {
namespace {

constexpr std::size_t kOneGuest = 1;  // descriptors, of which a share lets in one at a time

struct ShmComingIn : testing::Test {
    explicit ShmComingIn(std::size_t descriptors = 0)
        : self(party_settings(), {.descriptors = descriptors, .clock = &clock}) {}
    void SetUp() override { calls = {}; }
    void TearDown() override { calls = {}; }

    host::Descriptor come() {
        host::Descriptor link = connect_to(self.device->card());
        EXPECT_TRUE(link);
        return link;
    }
    /// One that says who it is; `tries`: how often it came in vain.
    host::Descriptor knock(std::uint64_t tries = 0) {
        host::Descriptor link = come();
        card.host = self.device->card().host;
        ++card.incarnation;
        ++card.port;
        EXPECT_TRUE(say(link, make_hello(party_settings(), card, 0, &card, tries)));
        return link;
    }
    /// Turns at this very time: as many as it takes to do all that is due.
    void act() {
        for (unsigned i = 0; i < 40; ++i) self.turn();
    }
    void wait(Nanoseconds time) {
        clock.time += time;
        act();
    }
    /// Of a peer: where the two ways cross, the own one goes on, or that of the peer.
    [[nodiscard]] std::uint64_t incarnation_where(bool own_way) const {
        std::uint64_t peer = 4711;
        while (ddi::is_own_way(self.device->card().incarnation, peer) != own_way) ++peer;
        return peer;
    }
    static bool is_in(const host::Descriptor& link) { return !is_hung_up(link.get()); }
    /// A guest of the process at `host` that this one has called by `own` is told to wait for that.
    void expect_crossed(const host::Descriptor& guest, const OddHost& host,
                        const host::Descriptor& own) {
        ASSERT_TRUE(say(guest, make_hello(party_settings(), host.card, 0, &host)));
        act();
        Received received;
        EXPECT_EQ(hear(guest, &received), Kind::crossed);
        EXPECT_TRUE(is_hung_up(guest.get()));
        EXPECT_TRUE(is_in(own));
    }
    /// It was asked for its descriptors, so it came in.
    static bool is_asked(const host::Descriptor& link) {
        Received received;
        return hear(link, &received) == Kind::welcome;
    }

    HandClock clock;
    Party self;
    ddi::Card card{.port = 1, .host = 0, .incarnation = 4711};
};

struct ShmOneGuest : ShmComingIn {
    ShmOneGuest() : ShmComingIn(kOneGuest) {}
};

TEST_F(ShmComingIn, guest__who_says_nothing_leaves_after_his_patience) {
    const host::Descriptor link = come();
    act();
    EXPECT_EQ(calls.accepted, 1u);
    wait(patience_with(0) - 1);
    EXPECT_TRUE(is_in(link));
    EXPECT_EQ(self.strangers, 0u);
    wait(1);
    EXPECT_FALSE(is_in(link));
    EXPECT_EQ(self.strangers, 1u);
}

TEST_F(ShmComingIn, guest__who_has_knocked_may_take_his_time) {
    const host::Descriptor link = knock();
    act();
    EXPECT_TRUE(is_asked(link));
    wait(1000 * patience_with(0));
    EXPECT_TRUE(is_in(link));
    EXPECT_EQ(self.strangers, 0u);
}

TEST_F(ShmComingIn, guest__who_leaves_without_a_word_is_a_stranger) {
    come();
    act();
    EXPECT_EQ(self.strangers, 1u);
    knock();
    act();
    EXPECT_EQ(self.strangers, 1u) << "who says who he is is none";
}

TEST_F(ShmComingIn, guest__who_says_anything_else_is_sent_away) {
    for (const Kind kind : {Kind::welcome, Kind::met, Kind::crossed, Kind::refusal}) {
        const unsigned before = self.strangers;
        const host::Descriptor link = come();
        ASSERT_TRUE(say(link, make_word(kind)));
        act();
        EXPECT_FALSE(is_in(link));
        EXPECT_EQ(self.strangers, before + 1);
    }
    const host::Descriptor link = come();
    ASSERT_TRUE(say(link, make_word(Kind::bye)));
    act();
    EXPECT_FALSE(is_in(link));
    EXPECT_TRUE(self.lost.empty());
}

// His patience grows with each time that he came in vain.
TEST_F(ShmOneGuest, place__is_taken_from_one_who_does_not_go_on_when_another_comes) {
    for (const std::uint64_t tries : {0, 1, 3}) {
        SCOPED_TRACE(tries);
        const host::Descriptor first = knock(tries);
        act();
        ASSERT_TRUE(is_asked(first));
        const host::Descriptor second = knock(9);
        wait(patience_with(tries) - 1);
        EXPECT_TRUE(is_in(first));
        EXPECT_FALSE(is_asked(second));
        wait(1);
        EXPECT_FALSE(is_in(first));
        EXPECT_TRUE(is_asked(second));
        ASSERT_TRUE(say(second, make_word(Kind::bye)));
        act();
        EXPECT_FALSE(is_in(second));
    }
    EXPECT_TRUE(self.lost.empty());
}

// The guest's word of just now counts, though the patience with it is over.
TEST_F(ShmOneGuest, place__is_kept_by_one_who_goes_on_at_last) {
    const host::Descriptor first = knock();
    act();
    ASSERT_TRUE(is_asked(first));
    const Shown shown(card);
    const host::Descriptor second = knock();
    clock.time += 10 * patience_with(0);
    ASSERT_TRUE(say(first, shown.hello, shown.files()));
    act();
    EXPECT_TRUE(is_in(first));
    Received received;
    EXPECT_EQ(hear(first, &received), Kind::hello);
    EXPECT_EQ(received.file_count, kHelloFiles);
    EXPECT_TRUE(is_asked(second)) << "who was answered takes no guest's place";
    ASSERT_TRUE(say(first, make_word(Kind::met)));
    act();
    EXPECT_EQ(self.attached.size(), 1u);
}

// Somebody knocks at a door that is open for him, and is heard before the guest's last word is.
TEST_F(ShmOneGuest, place__is_kept_by_one_whose_word_came_behind_a_knock) {
    const host::Descriptor first = knock();
    const Shown shown(card);
    act();
    ASSERT_TRUE(is_asked(first));
    wait(10 * patience_with(0));
    const host::Descriptor second = knock();
    ASSERT_TRUE(say(first, shown.hello, shown.files()));
    act();
    EXPECT_TRUE(is_in(first));
    Received received;
    EXPECT_EQ(hear(first, &received), Kind::hello);
    EXPECT_TRUE(is_asked(second));
}

TEST_F(ShmOneGuest, place__is_free_as_soon_as_a_guest_leaves) {
    host::Descriptor first = knock();
    act();
    ASSERT_TRUE(is_asked(first));
    const host::Descriptor second = knock();
    act();
    EXPECT_FALSE(is_asked(second));
    first.close();
    act();
    EXPECT_TRUE(is_asked(second));
}

TEST_F(ShmComingIn, strangers__after_eight_the_door_is_closed_for_a_while) {
    const auto strangers_come = [&](unsigned count) {
        std::vector<host::Descriptor> links;
        for (unsigned i = 0; i < count; ++i) {
            links.push_back(come());
            ASSERT_TRUE(say(links.back(), make_word(Kind::met)));
        }
        act();
    };
    strangers_come(7);
    EXPECT_EQ(self.strangers, 7u);
    const host::Descriptor friendly = knock();
    act();
    EXPECT_TRUE(is_asked(friendly));
    strangers_come(1);
    EXPECT_EQ(self.strangers, 8u);
    const host::Descriptor late = knock();
    wait(kMs - 1);
    EXPECT_FALSE(is_asked(late));
    wait(1);
    EXPECT_TRUE(is_asked(late));
    strangers_come(7);  // they are counted from the beginning
    const host::Descriptor next = knock();
    act();
    EXPECT_TRUE(is_asked(next));
}

TEST_F(ShmComingIn, accept__without_descriptors_is_tried_again_after_a_while) {
    for (const int error : {EMFILE, ENFILE}) {
        unsigned tried = 0;
        calls.fail_accept = [&] { return ++tried, error; };
        const host::Descriptor link = knock();
        act();
        EXPECT_EQ(tried, 1u);
        wait(50 * kMs - 1);
        EXPECT_EQ(tried, 1u);
        wait(1);
        EXPECT_EQ(tried, 2u);
        calls.fail_accept = {};
        wait(50 * kMs);
        EXPECT_TRUE(is_asked(link));
    }
}

TEST_F(ShmComingIn, accept__of_one_who_has_gone_again_closes_no_door) {
    unsigned tried = 0;
    calls.fail_accept = [&] { return ++tried == 1 ? ECONNABORTED : 0; };
    const host::Descriptor link = knock();
    act();
    EXPECT_GE(tried, 2u);
    EXPECT_TRUE(is_asked(link));
}

/// Two guests of another user, of whom the first one may stay. 0: the other one was sent away.
int stand_twice(const ddi::Card& door, const Steps& steps) {
    if (setgid(60'124) != 0 || setuid(60'124) != 0) return 1;
    const host::Descriptor first = connect_to(door, 0), second = connect_to(door, 0);
    if (!first || !second) return 2;
    steps.child_goes_on();
    if (!steps.child_waits()) return 3;
    if (is_hung_up(first.get())) return 4;
    return is_hung_up(second.get()) ? 0 : 5;
}

TEST_F(ShmComingIn, guest__of_another_user_stands_there_alone) {
    if (geteuid() != 0) GTEST_SKIP() << "two users at a time take a test that runs as root";
    const Steps steps;
    Child guests([&] { return stand_twice(self.device->card(), steps); });
    ASSERT_TRUE(steps.waits());
    act();
    EXPECT_EQ(calls.accepted, 2u);
    EXPECT_EQ(self.strangers, 1u);
    const host::Descriptor own = knock();
    act();
    EXPECT_TRUE(is_asked(own)) << "they take no place of others";
    steps.go_on();
    EXPECT_EQ(guests.result(), 0);
}

/// The kind of word that a guest hears after a knock that is changed so.
Kind heard_after(Party& self, const std::function<void(Hello&)>& change) {
    OddHost own(99);
    const host::Descriptor link = connect_to(self.device->card());
    Hello hello = make_hello(party_settings(), own.card, self.device->card().incarnation, &own);
    change(hello);
    EXPECT_TRUE(say(link, hello));
    for (unsigned i = 0; i < 40; ++i) self.turn();
    Received received;
    const Kind kind = hear(link, &received);
    EXPECT_EQ(is_hung_up(link.get()), kind != Kind::welcome);
    return kind;
}

TEST_F(ShmComingIn, knock__is_welcome_refused_or_not_answered) {
    EXPECT_EQ(heard_after(self, [](Hello&) {}), Kind::welcome);
    EXPECT_EQ(heard_after(self, [](Hello& hello) { hello.expects = 0; }), Kind::welcome);
    EXPECT_EQ(heard_after(self, [](Hello& hello) { ++hello.expects; }), Kind::refusal);
    EXPECT_EQ(heard_after(self, [](Hello& hello) { ++hello.job; }), Kind::refusal);
    EXPECT_EQ(heard_after(self, [](Hello& hello) { ++hello.layout_digest; }), Kind::refusal);
    EXPECT_EQ(heard_after(self, [](Hello& hello) { ++hello.prologue.version; }), Kind::refusal);
    EXPECT_EQ(self.strangers, 0u);
    EXPECT_EQ(heard_after(self, [](Hello& hello) { hello.card.port = 0; }), Kind{});
    EXPECT_EQ(self.strangers, 1u);
    EXPECT_EQ(heard_after(self, [](Hello& hello) { ++hello.header_bytes; }), Kind{});
    EXPECT_EQ(self.strangers, 2u);
    EXPECT_EQ(self.device->peers(), 1u) << "only who brings all that it takes gets an id";
}

TEST_F(ShmComingIn, knock__with_descriptors_is_none) {
    const host::Descriptor link = come();
    const Shown shown(card);
    ASSERT_TRUE(say(link, shown.hello, shown.files()));
    act();
    EXPECT_FALSE(is_in(link));
    EXPECT_EQ(self.strangers, 1u);
}

// It says Met, and only then both are there; who leaves before that was never met.
TEST_F(ShmComingIn, met__is_the_last_word) {
    for (const bool says_it : {false, true}) {
        const std::size_t before = self.attached.size();
        host::Descriptor link = knock();
        act();
        ASSERT_TRUE(is_asked(link));
        const Shown shown(card);
        ASSERT_TRUE(say(link, shown.hello, shown.files()));
        act();
        Received received;
        ASSERT_EQ(hear(link, &received), Kind::hello);
        EXPECT_EQ(self.attached.size(), before);
        EXPECT_EQ(self.device->peers(), 2u + says_it);
        if (says_it) {
            ASSERT_TRUE(say(link, make_word(Kind::met)));
        }
        act();
        EXPECT_EQ(self.attached.size(), before + says_it);
        EXPECT_EQ(self.device->network().idle_poll_every(), says_it ? 128u : 1u);
        link.close();
        act();
        EXPECT_EQ(self.lost.size(), says_it ? 1u : 0u);
    }
}

// A process and a peer are on the way to each other, and the way of the peer goes on.
TEST_F(ShmComingIn, knock__of_one_whose_way_goes_on_ends_the_own_one_with_a_bye) {
    OddHost host(incarnation_where(false));
    self.meet(host.card);
    const host::Descriptor own = host.accept();
    Received received;
    ASSERT_EQ(hear(own, &received), Kind::hello);
    const host::Descriptor guest = come();
    ASSERT_TRUE(say(guest, make_hello(party_settings(), host.card, 0, &host)));
    act();
    EXPECT_EQ(hear(guest, &received), Kind::welcome);
    EXPECT_EQ(hear(own, &received), Kind::bye) << "it would be a death otherwise";
    EXPECT_TRUE(is_hung_up(own.get()));
}

// It asked for the descriptors already, so it can wait for them.
TEST_F(ShmComingIn, knock__of_one_who_has_welcomed_this_process_is_told_to_wait) {
    OddHost host(incarnation_where(false));
    self.meet(host.card);
    const host::Descriptor own = host.accept();
    ASSERT_TRUE(say(own, make_word(Kind::welcome)));
    act();
    const host::Descriptor guest = come();
    expect_crossed(guest, host, own);
}

TEST_F(ShmComingIn, knock__of_one_to_whom_the_own_way_goes_on_is_told_so) {
    OddHost host(incarnation_where(true));
    self.meet(host.card);
    const host::Descriptor own = host.accept();
    const host::Descriptor guest = come();
    expect_crossed(guest, host, own);
}

}  // namespace
}  // namespace fci::shm
