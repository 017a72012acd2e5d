// SPDX-License-Identifier: BSD-3-Clause
// Turns: how often the sockets are looked at, and for when a sleeper is called.
#include <arpa/inet.h>
#include <fcntl.h>

#include <memory>
#include <vector>

#include "drivers/shm/meeting_rules.h"
#include "test/unit/drivers/alarm_clock.h"
#include "test/unit/drivers/calls.h"
#include "test/unit/drivers/shm_odd_host.h"
#include "test/unit/drivers/shm_party.h"
#include "test/unit/steps.h"

namespace fci::shm {
namespace {

constexpr Nanoseconds kNever = Clock::kNever;

struct ShmTurn : testing::Test {
    void SetUp() override { calls = {}; }
    void TearDown() override { calls = {}; }
    void act() {
        for (unsigned i = 0; i < 40; ++i) self.turn();
    }
    AlarmClock clock;
    Party self{party_settings(), {.descriptors = 1, .clock = &clock}};
};

// A turn costs a system call: of those that are offered at one time every sixteenth is taken.
TEST_F(ShmTurn, turn__is_taken_now_and_then) {
    act();
    for (unsigned round = 0; round < 4; ++round) {
        const host::Descriptor link = connect_to(self.device->card());
        ASSERT_TRUE(say(link, make_word(Kind::bye)));
        const unsigned before = calls.accepted;
        unsigned offered = 0;
        for (; calls.accepted == before && offered < 100; ++offered) self.turn();
        if (round == 0) continue;  // from here on the last one was taken
        EXPECT_EQ(offered, 16u);
    }
}

TEST_F(ShmTurn, turn__is_taken_where_something_is_to_be_told) {
    clock.time += kMs;
    self.turn();
    ddi::Card elsewhere = self.device->card();
    elsewhere.host = htonl(0xcb007163);  // 203.0.113.99
    ++elsewhere.incarnation;
    self.meet(elsewhere);
    EXPECT_TRUE(self.lost.empty()) << "it is not told within connect()";
    EXPECT_EQ(self.device->network().poll(clock.time), 1u);
    EXPECT_EQ(self.lost.size(), 1u);
}

TEST_F(ShmTurn, turn__is_taken_when_so_much_time_has_passed) {
    for (const Nanoseconds passed : {19'999, 20'000, -1}) {
        SCOPED_TRACE(passed);
        act();
        clock.time += 1000 * kMs;
        self.turn();  // is taken, and nothing was there
        const host::Descriptor link = connect_to(self.device->card());
        const unsigned before = calls.accepted;
        clock.time += passed;
        self.turn();
        EXPECT_EQ(calls.accepted - before, passed == 19'999 ? 0u : 1u);
        act();
        clock.time += 100 * kMs;
        act();
    }
}

TEST_F(ShmTurn, poll__is_wanted_often_while_somebody_is_being_met) {
    const nhi::NetworkInterface& network = self.device->network();
    act();
    EXPECT_EQ(network.idle_poll_every(), 128u);
    OddHost host;
    self.meet(host.card);
    clock.time += kMs;
    self.turn();
    const host::Descriptor link = host.accept();
    ASSERT_TRUE(say(link, make_word(Kind::welcome)));
    act();
    EXPECT_EQ(network.idle_poll_every(), 1u) << "going out";
    const Shown shown(host.card);
    ASSERT_TRUE(say(link, shown.hello, shown.files()));
    act();
    ASSERT_EQ(self.attached.size(), 1u);
    EXPECT_EQ(network.idle_poll_every(), 128u);
    host::Descriptor guest = connect_to(self.device->card());
    clock.time += kMs;
    act();
    EXPECT_EQ(network.idle_poll_every(), 1u) << "coming in";
    guest.close();
    act();
    clock.time += kMs;
    act();
    EXPECT_EQ(network.idle_poll_every(), 128u);
}

TEST_F(ShmTurn, timer__for_a_guest_who_says_nothing) {
    act();
    EXPECT_EQ(clock.rings_at, kNever);
    const Nanoseconds came = clock.time += kMs;
    const host::Descriptor link = connect_to(self.device->card());
    act();
    EXPECT_EQ(clock.rings_at, came + patience_with(0));
    EXPECT_EQ(self.device->network().idle_poll_every(), 1u);
    clock.time = clock.rings_at;
    act();
    EXPECT_TRUE(is_hung_up(link.get()));
    EXPECT_EQ(clock.rings_at, kNever);
    EXPECT_EQ(self.device->network().idle_poll_every(), 128u) << "nobody is being met any more";
}

// A guest that has knocked makes room only when another one comes, which cannot be seen while the
// door is closed: so it is opened then.
TEST_F(ShmTurn, timer__for_a_door_that_is_full) {
    const Nanoseconds came = clock.time += kMs;
    const host::Descriptor link = connect_to(self.device->card());
    ddi::Card card = self.device->card();
    ++card.port;
    ++card.incarnation;
    ASSERT_TRUE(say(link, make_hello(party_settings(), card, 0, &card, 2)));
    act();
    EXPECT_EQ(clock.rings_at, came + patience_with(2));
    clock.time = clock.rings_at;
    act();
    EXPECT_FALSE(is_hung_up(link.get()));
    EXPECT_EQ(clock.rings_at, kNever) << "the door is open again";
}

TEST_F(ShmTurn, timer__for_a_door_that_rests) {
    const Nanoseconds came = clock.time += kMs;
    for (unsigned i = 0; i < 8; ++i) {
        const host::Descriptor link = connect_to(self.device->card());
        ASSERT_TRUE(say(link, make_word(Kind::met)));
        act();
    }
    EXPECT_EQ(self.strangers, 8u);
    EXPECT_EQ(clock.rings_at, came + kMs);
    clock.time = clock.rings_at;
    act();
    EXPECT_EQ(clock.rings_at, kNever);
}

TEST_F(ShmTurn, timer__for_who_is_to_be_tried_again) {
    ddi::Card card;
    card.host = self.device->card().host;
    card.port = 1;  // nobody
    card.incarnation = 4711;
    const Nanoseconds asked = clock.time += kMs;
    self.meet(card);
    EXPECT_GE(clock.rings_at, asked + kMs / 2);
    EXPECT_LE(clock.rings_at, asked + 3 * kMs / 2);
    for (unsigned i = 0; self.lost.empty() && i < 1000; ++i) {
        ASSERT_LT(clock.rings_at, kNever) << "nobody would call a sleeper";
        ASSERT_GE(clock.rings_at, clock.time);
        clock.time = clock.rings_at;
        self.turn();
    }
    EXPECT_EQ(self.lost.size(), 1u);
    self.turn();
    EXPECT_EQ(clock.rings_at, kNever);
}

// It has come by itself meanwhile, so nobody is to be called any more.
TEST_F(ShmTurn, timer__for_one_who_is_awaited_ends_when_he_has_come) {
    OddHost host;
    const Nanoseconds asked = clock.time += kMs;
    self.meet(host.card);
    {
        const host::Descriptor link = host.accept();
        ASSERT_TRUE(say(link, make_word(Kind::crossed)));
        act();
    }
    EXPECT_EQ(clock.rings_at, asked + 500 * kMs);
    const host::Descriptor guest = connect_to(self.device->card());
    const Shown shown(host.card);
    ASSERT_TRUE(say(guest, shown.hello));
    act();
    ASSERT_TRUE(say(guest, shown.hello, shown.files()));
    act();
    ASSERT_TRUE(say(guest, make_word(Kind::met)));
    act();
    ASSERT_EQ(self.attached.size(), 1u);
    act();
    EXPECT_EQ(clock.rings_at, kNever);
    clock.time += 1000 * kMs;
    act();
    EXPECT_FALSE(host.accept());
    EXPECT_EQ(self.device->network().idle_poll_every(), 128u);
}

// To tell the clock of the kernel a time is a system call.
TEST_F(ShmTurn, timer__is_told_a_time_that_is_another_one) {
    OddHost host;
    clock.time += kMs;
    self.meet(host.card);
    const host::Descriptor link = host.accept();
    act();
    const unsigned before = clock.told;
    act();
    EXPECT_EQ(clock.told, before);
    ASSERT_TRUE(say(link, make_word(Kind::crossed)));
    act();
    EXPECT_EQ(clock.told, before + 1);
}

// The descriptor of a clock that rings stays readable until the clock is told a time.
TEST_F(ShmTurn, timer__that_rings_too_early_is_set_again) {
    const Nanoseconds came = clock.time += kMs;
    const host::Descriptor link = connect_to(self.device->card());
    act();
    ASSERT_EQ(clock.rings_at, came + patience_with(0));
    clock.ring();
    clock.time += 20'000;
    EXPECT_EQ(self.device->network().poll(clock.time), 0u);
    EXPECT_FALSE(is_readable(clock.fd())) << "it would keep a sleeper awake";
    EXPECT_EQ(clock.rings_at, came + patience_with(0));
}

/// A guest of another user, who says nothing until he is let go.
int stand_at(const ddi::Card& card, const Steps& steps) {
    if (setgid(60'123) != 0 || setuid(60'123) != 0) return 1;
    const host::Descriptor link = connect_to(card, 0);
    if (!link) return 2;
    steps.child_goes_on();
    return steps.child_waits() ? 0 : 3;
}

/// The input of this process, which it has closed for a while if `closes`: then what is opened next
/// has the number 0.
class Input {
public:
    explicit Input(bool closes) : kept_(closes ? fcntl(0, F_DUPFD_CLOEXEC, 3) : -1) {
        if (closes) close(0);
    }
    ~Input() {
        if (kept_) dup2(kept_.get(), 0);
    }
    Input(const Input&) = delete;
    Input& operator=(const Input&) = delete;

private:
    host::Descriptor kept_;
};

TEST_F(ShmTurn, timer__for_a_guest_of_another_user_who_says_nothing) {
    if (geteuid() != 0) GTEST_SKIP() << "two users at a time take a test that runs as root";
    for (const bool first : {false, true}) {
        const Steps steps;
        act();
        const Nanoseconds came = clock.time += kMs;
        Child guest([&] { return stand_at(self.device->card(), steps); });
        ASSERT_TRUE(steps.waits());
        const Input input(first);
        act();
        const host::Descriptor another = connect_to(self.device->card());
        ASSERT_TRUE(say(another, make_word(Kind::bye)));
        act();
        ASSERT_TRUE(is_hung_up(another.get()));
        const unsigned before = self.strangers;
        EXPECT_EQ(clock.rings_at, came + patience_with(0)) << "the first one still stands there";
        clock.time = clock.rings_at - 1;
        act();
        EXPECT_EQ(self.strangers, before);
        ++clock.time;
        act();
        EXPECT_EQ(self.strangers, before + 1);
        EXPECT_EQ(clock.rings_at, kNever);
        steps.go_on();
        EXPECT_EQ(guest.result(), 0);
    }
}

TEST_F(ShmTurn, timer__for_a_look_at_those_who_do_not_answer) {
    OddHost host;
    const Nanoseconds asked = clock.time += kMs;
    self.meet(host.card);
    const Nanoseconds quarter = Tuning{}.answer_limit / 4;
    EXPECT_EQ(clock.rings_at, asked + quarter);
    clock.time = clock.rings_at;
    act();
    EXPECT_EQ(clock.rings_at, asked + 2 * quarter);
}

// Whoever does not answer gives his place to the next one, who is invited and waits for it.
TEST_F(ShmTurn, timer__for_one_who_holds_the_place_of_another) {
    OddHost first(4711), second(4712);
    const Nanoseconds asked = clock.time += kMs;
    self.meet(first.card);
    self.meet(second.card);
    const host::Descriptor slow = first.accept(), next = second.accept();
    Received received;
    ASSERT_EQ(hear(slow, &received), Kind::hello);
    ASSERT_EQ(hear(next, &received), Kind::hello);
    const Nanoseconds sent = clock.time += kMs;
    ASSERT_TRUE(say(slow, make_word(Kind::welcome)));
    act();
    ASSERT_EQ(hear(slow, &received), Kind::hello);
    EXPECT_EQ(clock.rings_at, asked + Tuning{}.answer_limit / 4) << "nobody waits for the place";
    clock.time += kMs;
    ASSERT_TRUE(say(next, make_word(Kind::welcome)));
    act();
    EXPECT_EQ(clock.rings_at, sent + patience_with(0));
    clock.time = clock.rings_at - 1;
    act();
    EXPECT_FALSE(is_readable(next.get()));
    ++clock.time;
    self.turn();
    EXPECT_EQ(hear(slow, &received), Kind::bye);
    ASSERT_EQ(hear(next, &received), Kind::hello);
    EXPECT_EQ(received.file_count, kHelloFiles);
}

TEST_F(ShmTurn, poll__tells_how_much_was_done) {
    OddHost host;
    act();
    self.meet(host.card);
    nhi::NetworkInterface& network = self.device->network();
    EXPECT_EQ(network.poll(clock.time), 0u);
    const host::Descriptor link = host.accept();
    ASSERT_TRUE(say(link, make_word(Kind::crossed)));
    EXPECT_EQ(network.poll(clock.time), 1u) << "a record";
    EXPECT_EQ(network.poll(clock.time), 0u);
    clock.time = clock.rings_at;
    EXPECT_EQ(network.poll(clock.time), 1u) << "it was tried again";
    const host::Descriptor again = host.accept();
    EXPECT_TRUE(again);
    EXPECT_EQ(network.poll(clock.time), 0u);
    EXPECT_FALSE(host.accept()) << "it was tried once";
}

TEST_F(ShmTurn, poll__that_hears_the_waker_alone_has_done_nothing) {
    nhi::NetworkInterface& network = self.device->network();
    ASSERT_EQ(network.configure_event(0, {.flag = false, .interrupt = true}), Status::ok);
    act();
    ASSERT_EQ(self.put(nhi::kSelf, 0, 1), Status::ok);
    clock.time += kMs;
    EXPECT_EQ(network.poll(clock.time), 0u);
}

// More has happened than one turn takes, so the next one is taken at once.
TEST_F(ShmTurn, turn__that_sees_all_that_it_can_is_not_the_last_one) {
    constexpr unsigned kMore = 34;  // than the events of one turn
    std::vector<host::Descriptor> links;
    for (unsigned i = 0; i < kMore; ++i) {
        OddHost host(4711 + i);
        const Shown shown(host.card);
        self.meet(host.card);
        links.push_back(host.accept());
        ASSERT_TRUE(say(links.back(), make_word(Kind::welcome)));
        self.turn();
        ASSERT_TRUE(say(links.back(), shown.hello, shown.files()));
        self.turn();
    }
    ASSERT_EQ(self.attached.size(), kMore);
    clock.time += kMs;
    self.turn();
    links.clear();
    clock.time += kMs;
    self.turn();
    EXPECT_EQ(self.lost.size(), 32u);
    self.turn();
    EXPECT_EQ(self.lost.size(), kMore);
}

// A process that something else has woken is still to be called by the next writer.
TEST_F(ShmTurn, sleep__that_an_arrival_ends_begins_no_cycle) {
    nhi::NetworkInterface& network = self.device->network();
    ASSERT_EQ(network.configure_event(0, {.flag = false, .interrupt = true}), Status::ok);
    const auto& own = *reinterpret_cast<const SharedHeader*>(
        self.device->communication_memory().data() - kSharedHeaderBytes);
    act();
    const std::uint64_t before = own.wanted_events;
    const host::Descriptor link = connect_to(self.device->card());
    self.device->sleep(kForEver);
    EXPECT_EQ(own.wanted_events, before);
    act();
    ASSERT_EQ(self.put(nhi::kSelf, 0, 1), Status::ok);
    self.device->sleep(kForEver);
    EXPECT_NE(own.wanted_events, before) << "by a writer";
}

TEST_F(ShmTurn, describe__whoever_it_is) {
    EXPECT_EQ(self.device->describe(99), "no known process");
    OddHost host;
    nhi::PeerId id = 0;
    ASSERT_EQ(self.device->add_peer(host.card, &id), Status::ok);
    EXPECT_EQ(self.device->describe(id).find("the process at 127.0.0.1:"), 0u);
    EXPECT_EQ(self.device->describe(nhi::kSelf).find("pid " + std::to_string(getpid())), 0u);
}

}  // namespace
}  // namespace fci::shm
