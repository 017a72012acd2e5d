// SPDX-License-Identifier: BSD-3-Clause
// A tcp device that is polled, and that sleeps: fed by hand, in virtual time.
#include <climits>

#include "test/unit/drivers/hand_party.h"

namespace fci::tcp::test {
namespace {

constexpr unsigned kLookEvery = 64;

struct TcpTurn : testing::Test {
    static constexpr nhi::EventId kEvent = 4;

    TcpTurn() { party.system->looks = 0; }

    /// A transfer without parts, which raises an event.
    void raise(int stream) {
        party.system->bring(stream, FrameHead{FrameKind::transfer, 0, 0, 1u << kEvent});
    }
    /// Whether that event has come, since this was asked last.
    bool has_event() {
        const std::uint32_t now = party.network().event_count(kEvent);
        return std::exchange(counted, now) != now;
    }
    void want_event(bool interrupt) {
        EXPECT_EQ(party.network().configure_event(kEvent, {true, interrupt}), Status::ok);
        EXPECT_EQ(party.network().mask_event_interrupt(kEvent, !interrupt), Status::ok);
    }

    HandParty party;
    std::uint32_t counted = 0;
};

TEST_F(TcpTurn, poll__asks_the_system_each_time_while_there_is_no_peer) {
    party.turns(10);
    EXPECT_EQ(party.system->looks, 10u);
}

/// That costs as much as the reading.
TEST_F(TcpTurn, poll__two_peers_are_read_without_asking_the_system) {
    want_event(false);
    const int streams[] = {party.peer(1), party.peer(2)};
    unsigned looks_of_others = 0;
    party.turns(kLookEvery);
    const unsigned looks = party.system->looks;
    for (unsigned i = 0; i < 3 * kLookEvery; ++i) {
        raise(streams[i % 2]);
        const unsigned before = party.system->looks;
        EXPECT_EQ(party.turn(), 1u);
        EXPECT_TRUE(has_event());
        looks_of_others += party.system->looks - before;
    }
    EXPECT_EQ(looks_of_others, 3u) << "for all others";
    EXPECT_EQ(party.system->looks - looks, 3u);
    (void)party.peer(3);
    const unsigned then = party.system->looks;
    party.turns(10);
    EXPECT_EQ(party.system->looks - then, 10u) << "three are more";
}

TEST_F(TcpTurn, poll__asks_the_system_while_somebody_is_met) {
    (void)party.peer(1);
    party.turns(kLookEvery);
    const unsigned before = party.system->looks;
    party.system->room_of_calls = 0;
    (void)party.call(card_of(9));
    party.turns(10);
    EXPECT_EQ(party.system->looks - before, 10u) << "it calls";
}

TEST_F(TcpTurn, poll__asks_the_system_while_somebody_stands_at_the_door) {
    (void)party.peer(1);
    party.knock(party.hello_of(card_of(9)), 1);
    party.turns(kLookEvery);
    ASSERT_TRUE(party.system->queue.empty());
    const unsigned before = party.system->looks;
    party.turns(10);
    EXPECT_EQ(party.system->looks - before, 10u);
}

/// A process that does not sleep needs no word of the system for a few bytes; others do.
TEST_F(TcpTurn, poll__few_peers_are_quiet_while_nothing_may_wake) {
    const int stream = party.peer(1);
    party.turns(2 * kLookEvery);
    EXPECT_EQ(party.one(stream).tells_from, 1) << "somebody may sleep";
    want_event(false);
    party.turns(2 * kLookEvery);
    EXPECT_GT(party.one(stream).tells_from, 1);
    want_event(true);
    EXPECT_EQ(party.one(stream).tells_from, 1) << "at once";
    party.turns(2 * kLookEvery);
    EXPECT_EQ(party.one(stream).tells_from, 1);
    want_event(false);
    party.turns(2 * kLookEvery);
    EXPECT_GT(party.one(stream).tells_from, 1);
    (void)party.peer(2);
    party.turns(2 * kLookEvery);
    EXPECT_GT(party.one(stream).tells_from, 1);
    (void)party.peer(3);
    party.turn();
    EXPECT_EQ(party.one(stream).tells_from, 1) << "three are asked for";
}

TEST_F(TcpTurn, poll__few_peers_are_not_quiet_while_somebody_is_met) {
    const int stream = party.peer(1);
    want_event(false);
    party.turns(2 * kLookEvery);
    ASSERT_GT(party.one(stream).tells_from, 1);
    party.system->room_of_calls = 0;
    (void)party.call(card_of(9));
    party.turn();
    EXPECT_EQ(party.one(stream).tells_from, 1) << "the system is asked for all";
}

TEST_F(TcpTurn, poll__is_work_where_something_came_and_where_something_is_told) {
    EXPECT_EQ(party.turn(), 0u);
    party.knock(party.hello_of(card_of(1)));
    EXPECT_EQ(party.turn(), 0u);
    EXPECT_EQ(party.turn(), 1u) << "the listener was told of a peer";
    const int stream = party.system->last;
    raise(stream);
    raise(stream);
    unsigned work = 0;
    for (unsigned i = 0; i < 10; ++i) work += party.turn();
    EXPECT_EQ(work, 1u);
    party.system->at(stream).at_its_end = 0;
    EXPECT_EQ(party.turn(), 2u) << "it ended, and the listener was told";
    EXPECT_EQ(party.turn(), 0u);
}

TEST_F(TcpTurn, poll__strangers_are_told_one_by_one) {
    for (unsigned i = 0; i < 3; ++i) {
        HandStreams::One one;
        one.at_its_end = 0;
        party.system->queue.push_back(one);
    }
    party.turns(2);
    EXPECT_EQ(party.listener.strangers, 3u);
    party.turns();
    EXPECT_EQ(party.listener.strangers, 3u);
    party.device->set_listener(nullptr);
    HandStreams::One one;
    one.at_its_end = 0;
    party.system->queue.push_back(one);
    party.turns(2);
    EXPECT_EQ(party.listener.strangers, 3u);
}

/// The system may tell of what was given up just now.
TEST_F(TcpTurn, poll__what_is_stale_is_nobodys) {
    const int stream = party.peer(1);
    const nhi::PeerId id = party.listener.attached.at(0);
    party.system->at(stream).at_its_end = 0;
    party.system->also.push_back({Streams::Source::peer, id});
    party.system->also.push_back({Streams::Source::caller, 999});
    party.system->also.push_back({Streams::Source::hints, 0});
    party.turns();
    EXPECT_EQ(party.listener.lost.size(), 1u);
    party.system->also.push_back({Streams::Source::peer, id});
    party.system->also.push_back({Streams::Source::peer, nhi::kSelf + 1});
    party.turns();
    EXPECT_EQ(party.listener.lost.size(), 1u);
}

/// A turn that ends rings for what is due first.
TEST_F(TcpTurn, ring_at__is_the_first_of_meetings_and_connections) {
    const int stream = party.peer(1);
    const nhi::PeerId id = party.listener.attached.at(0);
    party.turns();
    EXPECT_EQ(party.system->rings_at, 0);
    const std::uint64_t word = 1;
    nhi::Transfer transfer(id);
    transfer.put(nhi::LcsAddress{0}, &word, sizeof word);
    party.system->at(stream).has_sign = true;
    party.system->at(stream).under_way = 8;
    ASSERT_EQ(party.network().initiate_transfer(transfer), Status::ok);
    party.turn();
    EXPECT_EQ(party.system->rings_at, party.system->time + 500 * kMs);
    party.system->room_of_calls = 0;
    (void)party.call(card_of(9));
    party.turn();
    EXPECT_EQ(party.system->rings_at, party.system->time + 500 * kMs);
    party.system->at(stream).under_way = 0;
    const Nanoseconds began = party.system->time;
    party.system->time += 500 * kMs;
    party.turn();
    EXPECT_EQ(party.system->rings_at, began + 10 * kSecond);
}

// --- sleep ---

TEST_F(TcpTurn, sleep__ends_when_the_time_is_over) {
    const Nanoseconds began = party.system->time;
    party.device->sleep(3 * kSecond);
    EXPECT_EQ(party.system->time, began + 3 * kSecond);
    EXPECT_EQ(party.system->waits, std::vector<Nanoseconds>{3 * kSecond});
    party.device->sleep(0);
    EXPECT_EQ(party.system->time, began + 3 * kSecond);
    EXPECT_EQ(party.system->waits.size(), 1u) << "it does not wait at all";
}

TEST_F(TcpTurn, sleep__what_is_due_by_time_is_done_meanwhile_and_the_rest_is_slept) {
    party.knock(party.hello_of(card_of(9)), 1);
    party.turns(2);
    const Nanoseconds began = party.system->time;
    party.device->sleep(8 * kSecond);
    EXPECT_EQ(party.system->time, began + 8 * kSecond);
    EXPECT_EQ(party.listener.strangers, 1u) << "after five seconds";
    EXPECT_EQ(party.system->waits.back(), 3 * kSecond);
}

TEST_F(TcpTurn, sleep__a_transfer_comes_while_it_sleeps_and_an_event_ends_that) {
    const int stream = party.peer(1);
    want_event(true);
    const nhi::EventId other = kEvent + 1;
    unsigned times = 0;
    party.system->meanwhile = [&] {
        ++times;
        party.system->time += kMs;
        if (times == 1)
            party.system->bring(stream, FrameHead{FrameKind::transfer, 0, 0, 1u << other});
        if (times == 2) raise(stream);
        ASSERT_LT(times, 3u);
    };
    party.device->sleep(-1);
    EXPECT_EQ(times, 2u);
    EXPECT_TRUE(has_event());
    EXPECT_EQ(party.system->waits, (std::vector<Nanoseconds>{-1, -1}));
    // It ends one sleep.
    party.system->meanwhile = {};
    party.device->sleep(kMs);
    EXPECT_EQ(party.system->waits.size(), 3u);
}

/// Of the own transfers, too.
TEST_F(TcpTurn, sleep__not_after_an_event_that_is_here) {
    want_event(true);
    nhi::Transfer transfer(nhi::kSelf);
    transfer.raise(kEvent);
    ASSERT_EQ(party.network().initiate_transfer(transfer), Status::ok);
    party.device->sleep(-1);
    EXPECT_TRUE(party.system->waits.empty());
    want_event(false);
    ASSERT_EQ(party.network().initiate_transfer(transfer), Status::ok);
    party.device->sleep(kMs);
    EXPECT_EQ(party.system->waits.size(), 1u) << "masked, it wakes nobody";
}

TEST_F(TcpTurn, sleep__a_peer_that_comes_ends_it_and_is_told_of_later) {
    party.knock(party.hello_of(card_of(1)));
    party.device->sleep(-1);
    EXPECT_TRUE(party.listener.attached.empty());
    const std::size_t before = party.system->waits.size();
    party.device->sleep(-1);
    EXPECT_EQ(party.system->waits.size(), before) << "it was not told of yet";
    party.turn();
    EXPECT_EQ(party.listener.attached.size(), 1u);
}

/// The reader of the message that names their buffer may have read it meanwhile.
TEST_F(TcpTurn, sleep__not_while_early_data_wait) {
    struct Early final : nhi::DataTarget {
        bool expects(nhi::PeerId) const noexcept override { return true; }
        bool is_early(nhi::PeerId, const nhi::Data&) const noexcept override { return is; }
        std::byte* locate(nhi::PeerId, const nhi::Data&) noexcept override { return bytes; }
        bool arrived(nhi::PeerId, const nhi::Data&) noexcept override { return ++times != 0; }
        bool is = true;
        unsigned times = 0;
        std::byte bytes[100];
    } early;
    party.network().data()->set_target(&early);
    const int stream = party.peer(1);
    party.system->bring(stream, FrameHead{FrameKind::data, 0, 0, 0});
    party.system->bring(stream, nhi::Data{7, 0, 100});
    party.system->bring(stream, early.bytes);
    party.turn();
    EXPECT_TRUE(party.network().data()->waits());
    party.device->sleep(-1);
    EXPECT_TRUE(party.system->waits.empty());
    early.is = false;
    party.turn();
    EXPECT_EQ(early.times, 1u);
    EXPECT_FALSE(party.network().data()->waits());
    party.device->sleep(kMs);
    EXPECT_EQ(party.system->waits.size(), 1u);
    party.network().data()->set_target(nullptr);
}

/// A transfer that was written waits for no turn while its writer sleeps.
TEST_F(TcpTurn, sleep__gives_what_waits) {
    const int stream = party.peer(1);
    const nhi::PeerId id = party.listener.attached.at(0);
    const std::uint64_t word = 1;
    nhi::Transfer transfer(id);
    transfer.put(nhi::LcsAddress{0}, &word, sizeof word).let_wait();
    ASSERT_EQ(party.network().initiate_transfer(transfer), Status::ok);
    EXPECT_TRUE(party.one(stream).sent.empty());
    party.one(stream).room = 10;
    party.system->meanwhile = [&] { party.one(stream).room = SIZE_MAX; };
    party.device->sleep(kMs);
    EXPECT_EQ(party.one(stream).sent.size(), 8u + 16 + 8);
    EXPECT_TRUE(party.network().is_idle());
}

TEST_F(TcpTurn, sleep__quiet_streams_wake_it) {
    const int stream = party.peer(1);
    want_event(false);
    party.turns(2 * kLookEvery);
    ASSERT_GT(party.one(stream).tells_from, 1);
    party.device->sleep(kMs);
    EXPECT_EQ(party.one(stream).tells_from, 1);
}

}  // namespace
}  // namespace fci::tcp::test
