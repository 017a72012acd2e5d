// SPDX-License-Identifier: BSD-3-Clause
// The ends of peers of the ucx driver, in order or not, and the goodbye of this process.
#include "drivers/ucx/leaving.h"

#include "test/unit/drivers/ucx_peers.h"

namespace fci::ucx::test {
namespace {

constexpr Nanoseconds kNow = 50 * kSecond, kGrace = kSecond;

struct ucx_leaving : ucx_peers {
    /// A peer with a way, whose first frame is here.
    Peer& attach(nhi::PeerId id = kId, PeerState state = PeerState::attached) {
        Peer& made = peers.make(id);
        made.state = state;
        made.way = near.open_way(far);
        made.sent = made.heard = 1;
        tcp.at(id).is_met = true;
        endpoints.push_back(&ucx.last_endpoint());
        return made;
    }
    void begin(nhi::PeerId id = kId) { leaving.begin(ddi::died(id, "it"), kNow); }
    /// The peer has closed after so many frames.
    void say_farewell(std::uint64_t frames, nhi::PeerId id = kId) {
        Hello hello = hello_of_peer();
        hello.farewell = frames + 1;
        say(hello, id);
    }
    /// How often the end of the peer was told since.
    std::size_t ends() { return hear().lost.size(); }
    std::size_t ends_after(Nanoseconds time) {
        leaving.tend(kNow + time);
        return ends();
    }

    std::vector<UcxInMemory::Endpoint*> endpoints;
    Leaving leaving{peers, *near.road, tcp, notices};
};

// --- ends that TCP tells of ---

TEST_F(ucx_leaving, begin__of_a_peer_that_is_being_met_is_its_end) {
    attach(kId, PeerState::connecting);
    begin();
    EXPECT_EQ(peer().state, PeerState::ending);
    EXPECT_FALSE(leaving.is_busy());
    EXPECT_EQ(ends(), 1u);
    begin();
    EXPECT_FALSE(leaving.is_busy());
    EXPECT_EQ(ends_after(0), 0u) << "once is enough";
}

TEST_F(ucx_leaving, begin__of_a_peer_that_is_known_by_its_card) {
    begin(3);
    EXPECT_EQ(peers.state(3), PeerState::ending);
    EXPECT_EQ(ends(), 1u);
}

TEST_F(ucx_leaving, begin__of_one_that_is_lost_already) {
    attach(kId, PeerState::lost);
    begin();
    EXPECT_FALSE(leaving.is_busy());
    EXPECT_EQ(ends_after(0), 0u);
}

TEST_F(ucx_leaving, end__of_one_that_has_died_with_nothing_under_way) {
    attach();
    EXPECT_FALSE(leaving.is_busy());
    begin();
    EXPECT_EQ(peer().state, PeerState::ending);
    EXPECT_TRUE(leaving.is_busy());
    EXPECT_EQ(ends(), 0u) << "not before the next turn";
    leaving.tend(kNow);
    const Told told = hear();
    ASSERT_EQ(told.lost.size(), 1u);
    EXPECT_EQ(told.lost[0].id, kId);
    EXPECT_EQ(told.lost[0].why, Status::lost);
    EXPECT_FALSE(leaving.is_busy());
    EXPECT_EQ(ends_after(0), 0u);
}

TEST_F(ucx_leaving, end__after_all_that_ucx_still_has_of_the_dead) {
    attach();
    begin();
    near.worker->at_once = 1;
    for (unsigned i = 0; i < 2; ++i) ucx.bring(*near.worker, Bytes(4));
    EXPECT_EQ(ends_after(0), 0u);
    EXPECT_EQ(near.ear.frames.size(), 1u);
    EXPECT_EQ(ends_after(0), 0u);
    EXPECT_EQ(ends_after(0), 1u);
    EXPECT_EQ(near.ear.frames.size(), 2u);
}

TEST_F(ucx_leaving, end__of_the_dead_after_the_grace_at_the_latest) {
    attach();
    begin();
    EXPECT_EQ(peer().give_up, kNow + kGrace);
    near.worker->at_once = 1;
    for (unsigned i = 0; i < 9; ++i) ucx.bring(*near.worker, Bytes(4));
    EXPECT_EQ(ends_after(kGrace - 1), 0u);
    EXPECT_EQ(ends_after(kGrace), 1u);
}

TEST_F(ucx_leaving, end__of_one_that_closed_when_all_its_frames_are_here) {
    attach();
    say_farewell(3);
    begin();
    EXPECT_EQ(ends_after(0), 0u);
    peer().heard = 2;
    EXPECT_EQ(ends_after(0), 0u);
    peer().heard = 3;
    EXPECT_EQ(ends_after(0), 1u);
}

TEST_F(ucx_leaving, end__of_one_that_closed_with_no_frame_more) {
    attach();
    say_farewell(0);
    begin();
    EXPECT_EQ(ends_after(0), 0u) << "it has sent one, as is known here";
    EXPECT_EQ(ends_after(kGrace - 1), 0u);
    EXPECT_EQ(ends_after(kGrace), 1u) << "whatever it said";
}

TEST_F(ucx_leaving, end__of_one_that_is_joined_after_it_was_told_to_have_come) {
    attach(kId, PeerState::joined);
    begin();
    begin();
    EXPECT_EQ(peer().state, PeerState::joined);
    EXPECT_TRUE(leaving.is_busy());
    EXPECT_EQ(ends_after(2 * kGrace), 0u);
    EXPECT_TRUE(leaving.is_busy());
    peer().state = PeerState::ending;
    EXPECT_EQ(ends_after(2 * kGrace), 1u);
    EXPECT_FALSE(leaving.is_busy());
}

TEST_F(ucx_leaving, end__of_two_one_after_the_other) {
    attach();
    attach(2);
    say_farewell(1);
    say_farewell(2, 2);
    begin();
    begin(2);
    leaving.tend(kNow);
    Told told = hear();
    ASSERT_EQ(told.lost.size(), 1u);
    EXPECT_EQ(told.lost[0].id, kId);
    EXPECT_TRUE(leaving.is_busy());
    peer(2).heard = 2;
    leaving.tend(kNow);
    told = hear();
    ASSERT_EQ(told.lost.size(), 1u);
    EXPECT_EQ(told.lost[0].id, 2u);
}

// --- ends that UCX knows first ---

struct ucx_leaving_broken : ucx_leaving {
    ucx_leaving_broken() {
        attach();
        attach(2);
        break_way(0);
    }
    void break_way(unsigned number) {
        UcxInMemory::fail(*endpoints[number], UCS_ERR_ENDPOINT_TIMEOUT);
        (void)near.road->progress();
    }
};

TEST_F(ucx_leaving_broken, way__is_the_end_of_its_peer_after_the_grace) {
    EXPECT_TRUE(leaving.is_busy());
    say_farewell(99);  // nothing more comes by a way that is broken
    EXPECT_EQ(ends_after(0), 0u);
    EXPECT_EQ(peer().state, PeerState::attached);
    EXPECT_EQ(ends_after(kGrace - 1), 0u);
    leaving.tend(kNow + kGrace);
    const Told told = hear();
    ASSERT_EQ(told.lost.size(), 1u);
    EXPECT_EQ(told.lost[0].id, kId);
    EXPECT_EQ(told.lost[0].why, Status::lost);
    EXPECT_EQ(told.lost[0].reason, "peer 1: UCX says: Endpoint timeout");
    EXPECT_EQ(peer().state, PeerState::ending);
    EXPECT_EQ(ends_after(2 * kGrace), 0u);
    EXPECT_EQ(peer(2).state, PeerState::attached);
    EXPECT_EQ(peer(2).give_up, 0) << "its way is not broken";
}

TEST_F(ucx_leaving_broken, way__of_a_peer_of_which_tcp_tells_in_the_grace) {
    EXPECT_EQ(ends_after(0), 0u);
    begin();
    leaving.tend(kNow + 1);
    const Told told = hear();
    ASSERT_EQ(told.lost.size(), 1u);
    EXPECT_EQ(told.lost[0].reason.rfind("it has died", 0), 0u) << told.lost[0].reason;
    EXPECT_EQ(ends_after(2 * kGrace), 0u);
}

TEST_F(ucx_leaving_broken, way__of_a_peer_that_is_being_met_is_left_to_the_meeting) {
    peer().state = PeerState::joined;
    EXPECT_EQ(ends_after(0), 0u);
    EXPECT_EQ(ends_after(2 * kGrace), 0u);
    EXPECT_EQ(peer().give_up, 0);
    EXPECT_EQ(peer().state, PeerState::joined);
}

// --- goodbye ---

struct ucx_goodbye : ucx_leaving {
    ucx_goodbye() { tcp.tick = kMs; }
    std::uint64_t farewell_to(nhi::PeerId id) { return said(id).farewell; }
    /// How long it took.
    Nanoseconds goodbye() {
        const Nanoseconds before = tcp.time;
        leaving.say_goodbye();
        return tcp.time - before;
    }
};

TEST_F(ucx_goodbye, goodbye__tells_each_peer_how_much_was_sent) {
    attach().sent = 5;
    attach(2, PeerState::joined);
    attach(3, PeerState::connecting);
    peers.know(7);
    peers.make(5).state = PeerState::connecting;
    EXPECT_LT(goodbye(), 10 * kMs);
    EXPECT_EQ(farewell_to(kId), 6u);
    EXPECT_EQ(farewell_to(2), 2u);
    EXPECT_EQ(farewell_to(3), 0u) << "which was not met";
    EXPECT_EQ(tcp.transfers, 2u);
    EXPECT_EQ(tcp.polls, 2u) << "one look at the flushes, and one so that it goes out";
    for (const UcxInMemory::Endpoint* const each : endpoints) {
        EXPECT_TRUE(each->is_closed);
        EXPECT_EQ(each->flushes, 1u);
    }
    EXPECT_EQ(peer().way, nullptr);
    EXPECT_FALSE(near.road->is_closing());
    EXPECT_EQ(near.road->ways(), 0u);
}

TEST_F(ucx_goodbye, goodbye__after_four_thousand_million_frames) {
    attach().sent = 0;
    (void)goodbye();
    EXPECT_EQ(farewell_to(kId), 1u);
}

TEST_F(ucx_goodbye, goodbye__flushes_before) {
    attach();
    attach(2);
    ASSERT_TRUE(near.send(peer().way, "frame"));
    endpoints[0]->flush_answer = endpoints[1]->flush_answer = UCS_INPROGRESS;
    tcp.in_poll = [&] {
        EXPECT_EQ(farewell_to(kId), tcp.polls <= 5 ? 0u : 2u) << tcp.polls;
        if (tcp.polls == 3) ucx.finish(*endpoints[1]);
        if (tcp.polls == 5) ucx.finish(*endpoints[0]);
    };
    EXPECT_LT(goodbye(), kGrace);
    EXPECT_EQ(tcp.polls, 6u);
    EXPECT_EQ(farewell_to(kId), 2u);
    EXPECT_EQ(endpoints[0]->flushes, 1u);
    EXPECT_EQ(endpoints[1]->flushes, 1u);
    EXPECT_FALSE(near.road->is_closing());
}

TEST_F(ucx_goodbye, goodbye__waits_for_frames_that_wait) {
    attach();
    endpoints[0]->takes = false;
    ASSERT_TRUE(near.send(peer().way, "frame"));
    tcp.in_poll = [&] {
        if (tcp.polls == 4) ucx.take(*endpoints[0]);
    };
    EXPECT_LT(goodbye(), kGrace);
    EXPECT_EQ(tcp.polls, 6u) << "one more turn to hear of it, and the last one";
    (void)far.road->progress();
    EXPECT_EQ(far.ear.frames, Texts{"frame"});
    EXPECT_EQ(farewell_to(kId), 2u);
}

TEST_F(ucx_goodbye, goodbye__waits_for_no_longer_than_the_grace) {
    attach();
    ASSERT_TRUE(near.send(peer().way, "frame"));
    endpoints[0]->flush_answer = UCS_INPROGRESS;
    endpoints[0]->close_answer = UCS_INPROGRESS;
    const Nanoseconds took = goodbye();
    EXPECT_GE(took, 2 * kGrace) << "for the flush, and for the closing";
    EXPECT_LT(took, 2 * kGrace + 20 * kMs);
    EXPECT_EQ(farewell_to(kId), 2u) << "it may still arrive";
    EXPECT_TRUE(endpoints[0]->is_closed);
}

/// A way that was closed is waited for though nothing more is to be flushed, and the other way.
TEST_F(ucx_goodbye, goodbye__waits_until_ucx_has_closed_and_flushed) {
    attach();
    endpoints[0]->close_answer = UCS_INPROGRESS;
    EXPECT_GE(goodbye(), kGrace);
    EXPECT_TRUE(near.road->is_closing());
    ucx.finish(*endpoints[0]);
    attach(2);
    ASSERT_TRUE(near.send(peer(2).way, "frame"));
    endpoints[1]->flush_answer = UCS_INPROGRESS;
    EXPECT_GE(goodbye(), kGrace);
    EXPECT_TRUE(near.road->is_closing());
    ucx.finish(*endpoints[1]);
    (void)near.road->progress();
    EXPECT_FALSE(near.road->is_closing());
}

TEST_F(ucx_goodbye, goodbye__gives_ucx_no_turn_after_the_grace) {
    attach();
    endpoints[0]->close_answer = UCS_INPROGRESS;
    tcp.tick = kGrace;
    const unsigned turns = near.worker->turns;
    (void)goodbye();
    EXPECT_EQ(near.worker->turns, turns);
}

TEST_F(ucx_goodbye, goodbye__waits_for_nobody_that_has_gone) {
    attach();
    attach(2);
    attach(3);
    attach(4);
    for (UcxInMemory::Endpoint* const each : endpoints) each->flush_answer = UCS_INPROGRESS;
    ASSERT_TRUE(near.send(peer().way, "frame"));
    peer().state = PeerState::ending;
    begin(2);
    peer(3).state = PeerState::lost;
    near.road->mark_broken(peer(4).way, "broken");
    (void)goodbye();
    EXPECT_EQ(tcp.polls, 2u) << "one look at the flushes, and the last one";
    for (nhi::PeerId id = 1; id <= 4; ++id) {
        EXPECT_EQ(farewell_to(id), 0u);
        EXPECT_TRUE(endpoints[id - 1]->is_closed);
    }
    EXPECT_EQ(tcp.transfers, 0u);
}

/// One that is joined, of whose end TCP has told already.
TEST_F(ucx_goodbye, goodbye__says_nothing_to_one_whose_end_is_known) {
    attach(kId, PeerState::joined);
    endpoints[0]->flush_answer = UCS_INPROGRESS;
    ASSERT_TRUE(near.send(peer().way, "frame"));
    begin();
    (void)goodbye();
    EXPECT_EQ(tcp.polls, 2u);
    EXPECT_EQ(farewell_to(kId), 0u);
}

}  // namespace
}  // namespace fci::ucx::test
