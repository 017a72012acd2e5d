// SPDX-License-Identifier: BSD-3-Clause
// Sleeps of the ucx driver, on UCX's descriptor and TCP's. Time is the test's: a sleep that lasts
// some microseconds of it ends when the clock in hand has moved so far.
#include <signal.h>
#include <sys/time.h>

#include "test/unit/drivers/ucx_stations.h"

namespace fci::ucx::test {
namespace {

constexpr Nanoseconds kLong = 1000 * kSecond;

struct ucx_sleep : ucx_stations {
    /// How much of the hand's time it took.
    Nanoseconds sleep(Nanoseconds timeout) {
        const Nanoseconds before = one->tcp.time;
        one->turn.sleep(timeout);
        return one->tcp.time - before;
    }
    /// How often it asked UCX whether there is work.
    unsigned arms_of_sleep(Nanoseconds timeout) {
        const unsigned before = one->worker->arms;
        one->turn.sleep(timeout);
        return one->worker->arms - before;
    }
    /// Something happens while it sleeps: after it has asked UCX.
    template <class Act>
    void meanwhile(Act act) {
        one->tcp.in_now = [this, act] {
            if (one->worker->is_armed) {
                one->tcp.in_now = {};
                act();
            }
        };
    }
    /// The peer has said so in its hello.
    void say_farewell(std::uint64_t frames) {
        const std::uint64_t farewell = frames + 1;
        std::memcpy(one->tcp.at(1).here->data() + offsetof(Hello, farewell), &farewell,
                    sizeof farewell);
        one->tcp.listener()->peer_lost(1, Status::not_found, "it has closed");
    }
};

// --- until its time is over ---

TEST_F(ucx_sleep, sleep__of_no_time_looks_once) {
    EXPECT_EQ(arms_of_sleep(0), 1u);
    EXPECT_TRUE(one->tcp.sleeps.empty());
}

TEST_F(ucx_sleep, sleep__lasts_until_its_time_is_over) {
    one->tcp.tick = 1000;
    const Nanoseconds took = sleep(10'000);
    EXPECT_GE(took, 10'000);
    EXPECT_LE(took, 14'000);
    one->tcp.tick = 1;
    EXPECT_EQ(arms_of_sleep(3), 2u) << "a nanosecond is left after the first";
}

TEST_F(ucx_sleep, sleep__goes_on_where_ucx_has_work) {
    one->worker->busy = 3;
    EXPECT_EQ(arms_of_sleep(0), 4u);
}

// --- until something has come ---

TEST_F(ucx_sleep, wake__ends_one_sleep) {
    one->turn.wake();
    EXPECT_EQ(arms_of_sleep(-1), 0u);
    EXPECT_EQ(arms_of_sleep(0), 1u) << "the next one";
}

TEST_F(ucx_sleep, sleep__ends_with_an_event_that_is_here) {
    ASSERT_NO_FATAL_FAILURE(attach());
    ASSERT_EQ(one->network.configure_event(3, {.flag = true, .interrupt = true}), Status::ok);
    ASSERT_EQ(other->network.initiate_transfer(nhi::Transfer(1).raise(3)), Status::ok);
    EXPECT_EQ(arms_of_sleep(-1), 0u);
    EXPECT_EQ(one->network.event_count(3), 1u);
    ASSERT_EQ(one->network.mask_event_interrupt(3, true), Status::ok);
    ASSERT_EQ(other->network.initiate_transfer(nhi::Transfer(1).raise(3)), Status::ok);
    EXPECT_EQ(arms_of_sleep(0), 1u) << "a masked one";
    EXPECT_EQ(one->network.event_count(3), 2u);
}

TEST_F(ucx_sleep, sleep__ends_with_an_event_that_comes_by_ucx) {
    ASSERT_NO_FATAL_FAILURE(attach());
    ASSERT_EQ(one->network.configure_event(3, {.flag = true, .interrupt = true}), Status::ok);
    meanwhile([&] {
        EXPECT_EQ(other->network.initiate_transfer(nhi::Transfer(1).raise(3)), Status::ok);
    });
    one->turn.sleep(kLong);
    EXPECT_EQ(one->network.event_count(3), 1u);
    EXPECT_TRUE(one->tcp.sleeps.empty()) << "TCP had nothing";
}

/// Over verbs UCX is armed, and does not tell of what came between its last turn and that.
TEST_F(ucx_sleep, sleep__ends_with_an_event_that_came_before_ucx_was_armed) {
    ASSERT_NO_FATAL_FAILURE(attach());
    ASSERT_EQ(one->network.configure_event(3, {.flag = true, .interrupt = true}), Status::ok);
    one->worker->is_blind = true;
    unsigned looks = 0;
    one->tcp.in_now = [&] {  // the second time is that between the turn and the arming
        if (++looks != 2) return;
        EXPECT_EQ(other->network.initiate_transfer(nhi::Transfer(1).raise(3)), Status::ok);
    };
    one->turn.sleep(kLong);
    EXPECT_EQ(one->network.event_count(3), 1u);
    EXPECT_EQ(one->worker->arms, 1u);
}

TEST_F(ucx_sleep, sleep__goes_on_after_a_frame_without_an_event) {
    ASSERT_NO_FATAL_FAILURE(attach());
    meanwhile([&] {
        EXPECT_EQ(put(*other, 8, "frame"), Status::ok);
        meanwhile([&] { one->tcp.ring(); });
    });
    one->turn.sleep(kLong);
    EXPECT_EQ(one->text(1, 8, 5), "frame");
    EXPECT_EQ(one->tcp.sleeps, std::vector<Nanoseconds>{1000});
}

TEST_F(ucx_sleep, sleep__ends_with_news_of_tcp_which_the_next_turn_takes_in) {
    (void)one->poll();
    const unsigned polls = one->tcp.polls;
    one->tcp.ring();
    EXPECT_EQ(arms_of_sleep(-1), 1u);
    EXPECT_EQ(one->tcp.sleeps, std::vector<Nanoseconds>{1000});
    EXPECT_EQ(one->tcp.polls, polls);
    (void)one->turn.poll(one->tcp.time);
    EXPECT_EQ(one->tcp.polls, polls + 1) << "though it is not due";
    EXPECT_FALSE(is_readable(one->turn.fd())) << "TCP took it in";
}

TEST_F(ucx_sleep, sleep__ends_with_news_of_both) {
    ASSERT_NO_FATAL_FAILURE(attach());
    meanwhile([&] {
        EXPECT_EQ(put(*other, 8, "frame"), Status::ok);
        one->tcp.ring();
    });
    one->turn.sleep(kLong);
    EXPECT_EQ(one->tcp.sleeps, std::vector<Nanoseconds>{1000});
}

TEST_F(ucx_sleep, sleep__ends_with_a_signal) {
    struct sigaction ours {}, before {};
    ours.sa_handler = [](int) {};
    ASSERT_EQ(sigaction(SIGALRM, &ours, &before), 0);
    // Again and again, as one may come before the sleep.
    const itimerval often{{0, 1000}, {0, 1000}}, never{};
    ASSERT_EQ(setitimer(ITIMER_REAL, &often, nullptr), 0);
    one->turn.sleep(-1);
    ASSERT_EQ(setitimer(ITIMER_REAL, &never, nullptr), 0);
    ASSERT_EQ(sigaction(SIGALRM, &before, nullptr), 0);
    EXPECT_TRUE(one->tcp.sleeps.empty());
}

// --- until a peer has come or gone ---

TEST_F(ucx_sleep, sleep__ends_when_a_peer_has_come) {
    meet_but_for_one_turn();
    EXPECT_EQ(one->state(), PeerState::connecting);
    EXPECT_EQ(arms_of_sleep(-1), 0u);
    EXPECT_EQ(one->state(), PeerState::joined);
    EXPECT_EQ(arms_of_sleep(-1), 0u) << "until the listener has heard";
}

/// It naps, as nothing but time ends the meeting.
TEST_F(ucx_sleep, sleep__ends_when_a_meeting_has_failed) {
    one->tcp.meet(1);
    (void)one->poll();
    one->tcp.tick = kSecond;
    EXPECT_GE(sleep(-1), 9 * kSecond);
    (void)one->poll();
    ASSERT_EQ(one->told.lost.size(), 1u);
}

TEST_F(ucx_sleep, sleep__ends_when_the_last_frame_of_a_peer_is_here) {
    ASSERT_NO_FATAL_FAILURE(attach());
    EXPECT_EQ(put(*other, 0, "last"), Status::ok);
    say_farewell(2);
    EXPECT_EQ(arms_of_sleep(-1), 0u);
    EXPECT_EQ(one->text(1, 0, 4), "last");
    (void)one->poll();
    EXPECT_EQ(one->told.lost.size(), 1u);
}

TEST_F(ucx_sleep, sleep__ends_when_a_peer_has_left_without_its_last_frame) {
    ASSERT_NO_FATAL_FAILURE(attach());
    say_farewell(100);
    one->tcp.tick = kSecond / 10;
    EXPECT_GE(sleep(-1), kSecond / 2);
    (void)one->poll();
    EXPECT_EQ(one->told.lost.size(), 1u);
}

// --- on the descriptor ---

TEST_F(ucx_sleep, watch__rings_once_where_ucx_has_work) {
    one->turn.watch();
    EXPECT_FALSE(is_readable(one->turn.fd()));
    EXPECT_EQ(one->worker->arms, 1u);
    one->worker->busy = 1;
    one->turn.watch();
    EXPECT_TRUE(is_readable(one->turn.fd()));
    EXPECT_EQ(one->worker->arms, 2u);
    one->turn.watch();
    EXPECT_EQ(one->worker->arms, 2u) << "it rings already";
    for (unsigned i = 0; i < 2; ++i) (void)one->poll();
    EXPECT_FALSE(is_readable(one->turn.fd()));
    one->turn.watch();
    EXPECT_EQ(one->worker->arms, 3u);
    EXPECT_FALSE(is_readable(one->turn.fd()));
}

TEST_F(ucx_sleep, watch__has_the_descriptor_readable_when_a_frame_comes) {
    one->turn.watch();
    ucx.bring(*one->worker, Bytes(4));
    EXPECT_TRUE(is_readable(one->turn.fd()));
}

TEST_F(ucx_sleep, watch__rings_where_a_frame_came_before_ucx_was_armed) {
    one->worker->is_blind = true;
    ucx.bring(*one->worker, Bytes(4));
    one->turn.watch();
    EXPECT_TRUE(is_readable(one->turn.fd()));
}

TEST_F(ucx_sleep, sleep__takes_the_ring_back) {
    one->worker->busy = 1;
    one->turn.watch();
    one->turn.sleep(0);
    EXPECT_FALSE(is_readable(one->turn.fd()));
}

}  // namespace
}  // namespace fci::ucx::test
