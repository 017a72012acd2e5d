// SPDX-License-Identifier: BSD-3-Clause
// Data of the ucx driver at the end of a peer: nothing of them is read or written any more once the
// driver has said so.
#include "test/unit/drivers/ucx_data_target.h"

namespace fci::ucx::test {
namespace {

// --- of a peer ---

TEST_F(ucx_data_end, give_back__of_nobody) {
    EXPECT_LT(give_back(*one, nhi::kSelf), kMs + 1);
    EXPECT_LT(give_back(*one, 99), kMs + 1);
    EXPECT_FALSE(there->is_closed);
}

TEST_F(ucx_data_end, give_back__of_a_peer_with_nothing_under_way_keeps_the_way) {
    far.early = true;
    ASSERT_EQ(send(7, kLong), Status::ok);
    ASSERT_EQ(send(8, kShort), Status::ok);
    (void)other->poll();
    EXPECT_LE(give_back(*other), kMs) << "one look at the clock";
    EXPECT_EQ(ucx.kept(*other->worker), 0u) << "what came before is dropped";
    far.early = false;
    (void)one->poll();
    EXPECT_EQ(loans(), 0u);
    EXPECT_FALSE(back->is_closed);
    ASSERT_EQ(send(9, kShort), Status::ok);
    (void)other->poll();
    EXPECT_EQ(far.came, Names{9});
}

TEST_F(ucx_data_end, give_back__of_bytes_that_are_lent_closes_the_way) {
    ASSERT_EQ(send(7, kLong), Status::ok);
    (void)other->turn.road().progress();
    EXPECT_LT(give_back(*one), 20 * kMs);
    EXPECT_TRUE(there->is_closed);
    EXPECT_EQ(one->peer().way, nullptr);
    EXPECT_EQ(one->state(), PeerState::attached) << "of its end TCP tells";
    bytes.assign(bytes.size(), std::byte{1});
    EXPECT_EQ(send(8, kLong), Status::lost);
    EXPECT_EQ(put(*one, 0, "x"), Status::lost);
    EXPECT_FALSE(sender().has_taken(1));
    EXPECT_FALSE(one->turn.road().has_broken());
    turns();
    EXPECT_TRUE(far.came.empty());
    EXPECT_STREQ(broken(*other), "data of it could not be read");
    EXPECT_EQ(one->turn.road().ways(), 0u);
    EXPECT_LT(give_back(*one), 20 * kMs) << "once more";
}

TEST_F(ucx_data_end, give_back__of_bytes_that_ucx_never_gives_back) {
    ASSERT_EQ(send(7, kLong), Status::ok);
    there->close_answer = UCS_INPROGRESS;
    const Nanoseconds took = give_back(*one);
    EXPECT_GE(took, kGrace);
    EXPECT_LT(took, kGrace + 20 * kMs);
    EXPECT_EQ(one->peer().way, nullptr);
    EXPECT_TRUE(one->turn.road().is_closing());
    ucx.finish(*there);
    (void)one->poll();
    EXPECT_EQ(one->turn.road().ways(), 0u) << "the way is forgotten";
}

TEST_F(ucx_data_end, give_back__ends_a_fetch_with_the_way) {
    ASSERT_NO_FATAL_FAILURE(begin_fetch());
    EXPECT_LT(give_back(*other), 20 * kMs);
    EXPECT_TRUE(back->is_closed);
    EXPECT_EQ(ucx.fetches(*other->worker), 0u);
    EXPECT_FALSE(other->peer().is_fetching);
    EXPECT_TRUE(far.came.empty());
    EXPECT_EQ(events(), 0u);
}

TEST_F(ucx_data_end, give_back__where_ucx_calls_while_it_closes) {
    back->calls_in_close = true;
    ASSERT_NO_FATAL_FAILURE(begin_fetch());
    EXPECT_LT(give_back(*other), 20 * kMs);
    EXPECT_FALSE(other->peer().is_fetching);
    EXPECT_FALSE(other->turn.road().has_broken());
    (void)other->poll();
    EXPECT_EQ(other->turn.road().ways(), 0u);
}

/// The way is over, and freed, before the fetch is.
TEST_F(ucx_data_end, give_back__waits_for_what_a_living_peer_may_still_write) {
    other->worker->is_reading_on = true;
    ASSERT_NO_FATAL_FAILURE(begin_fetch());
    const unsigned polls = other->tcp.polls;
    other->tcp.in_poll = [&] {
        if (other->tcp.polls == polls + 3) {
            EXPECT_EQ(other->turn.road().ways(), 0u);
        }
        if (other->tcp.polls == polls + 5000) ucx.end_fetches(*other->worker);
    };
    EXPECT_GE(give_back(*other), 2 * kGrace);
    EXPECT_FALSE(other->peer().is_fetching);
    EXPECT_EQ(other->peer().way, nullptr);
    EXPECT_EQ(ucx.fetches(*other->worker), 0u);
}

TEST_F(ucx_data_end, give_back__waits_no_longer_for_a_peer_that_is_gone) {
    other->worker->is_reading_on = true;
    back->close_answer = UCS_INPROGRESS;
    ASSERT_NO_FATAL_FAILURE(begin_fetch());
    const unsigned polls = other->tcp.polls;
    other->tcp.in_poll = [&] {
        if (other->tcp.polls == polls + 1000) other->tcp.lose(1, Status::lost, "it has died");
    };
    const Nanoseconds took = give_back(*other);
    EXPECT_GE(took, 2 * kGrace);
    EXPECT_LT(took, 2 * kGrace + 20 * kMs);
    EXPECT_EQ(other->peer().way, nullptr);
    EXPECT_TRUE(other->turn.road().is_closing());
}

TEST_F(ucx_data_end, give_back__takes_no_data_that_come_meanwhile) {
    ASSERT_NO_FATAL_FAILURE(begin_fetch());
    back->close_answer = UCS_INPROGRESS;
    const unsigned polls = other->tcp.polls;
    other->tcp.in_poll = [&] {
        if (other->tcp.polls == polls + 1) {
            EXPECT_EQ(send(8, kShort), Status::ok);
        }
        if (other->tcp.polls == polls + 3) ucx.finish(*back);
    };
    (void)give_back(*other);
    EXPECT_EQ(other->peer().way, nullptr);
    ASSERT_EQ(send(9, kLong), Status::ok);
    (void)other->turn.road().progress();
    EXPECT_EQ(ucx.kept(*other->worker), 1u) << "not kept where there is no way";
    (void)other->poll();
    EXPECT_EQ(ucx.kept(*other->worker), 0u);
    EXPECT_EQ(far.asked, Names{7});
    EXPECT_EQ(other->peer().heard, 4u) << "frames count";
}

// --- of a peer that leaves ---

TEST_F(ucx_data_end, loss__is_told_when_no_fetch_is_under_way) {
    other->worker->is_reading_on = true;
    ASSERT_NO_FATAL_FAILURE(begin_fetch());
    EXPECT_EQ(send(8, kShort), Status::ok);
    say_farewell(*other, 3);
    other->tcp.lose(1, Status::not_found, "it has closed");
    for (unsigned i = 0; i < 3; ++i) (void)other->poll();
    EXPECT_EQ(other->peer().heard, 3u) << "all its frames are here";
    EXPECT_FALSE(other->peer().is_cut);
    ucx.end_fetches(*other->worker);
    for (unsigned i = 0; i < 3; ++i) (void)other->poll();
    EXPECT_EQ(far.came, (Names{7, 8})) << "it was read in time";
    ASSERT_EQ(other->told.lost.size(), 1u);
    EXPECT_EQ(other->state(), PeerState::lost);
}

TEST_F(ucx_data_end, loss__is_told_when_data_that_are_early_were_looked_at) {
    far.early = true;
    ASSERT_EQ(send(7, kShort), Status::ok);
    say_farewell(*other, 2);
    other->tcp.lose(1, Status::not_found, "it has closed");
    for (unsigned i = 0; i < 3; ++i) (void)other->poll();
    EXPECT_TRUE(other->told.lost.empty());
    far.early = false;
    for (unsigned i = 0; i < 3; ++i) (void)other->poll();
    EXPECT_EQ(far.came, Names{7});
    EXPECT_EQ(other->told.lost.size(), 1u);
}

TEST_F(ucx_data_end, loss__is_known_in_the_sleep_that_brings_the_last_data) {
    ASSERT_EQ(send(7, kShort), Status::ok);
    say_farewell(*other, 2);
    other->tcp.lose(1, Status::not_found, "it has closed");
    (void)other->tcp.network().poll(0);
    EXPECT_EQ(other->peer().heard, 1u);
    other->turn.sleep(0);
    EXPECT_EQ(far.came, Names{7});
    EXPECT_FALSE(other->peer().end.has_value()) << "it waits for the listener";
}

/// After a second nothing more is wanted of it, and after another one UCX is not asked.
TEST_F(ucx_data_end, loss__of_one_that_is_gone_waits_two_seconds_at_most) {
    other->tcp.tick = 0;
    other->worker->is_reading_on = true;
    back->close_answer = UCS_INPROGRESS;
    ASSERT_NO_FATAL_FAILURE(begin_fetch());
    EXPECT_EQ(send(8, kShort), Status::ok);
    say_farewell(*other, 3);
    other->tcp.lose(1, Status::not_found, "it has closed");
    (void)other->poll();
    EXPECT_EQ(ucx.kept(*other->worker), 1u);
    const Nanoseconds begin = other->tcp.time;
    const auto poll_after = [&](Nanoseconds time) {
        (void)other->turn.poll(other->tcp.time = begin + time);
    };
    poll_after(kGrace - 1);
    EXPECT_FALSE(other->peer().is_cut);
    poll_after(kGrace);
    EXPECT_TRUE(other->peer().is_cut);
    EXPECT_TRUE(back->is_closed);
    poll_after(kGrace);
    EXPECT_EQ(ucx.kept(*other->worker), 0u) << "what came is dropped";
    poll_after(2 * kGrace - 1);
    EXPECT_TRUE(other->told.lost.empty());
    EXPECT_EQ(other->state(), PeerState::ending);
    poll_after(2 * kGrace);
    ASSERT_EQ(other->told.lost.size(), 1u);
    EXPECT_EQ(other->peer().way, nullptr);
    other->tcp.tick = kMs;
    EXPECT_LT(give_back(*other), 20 * kMs) << "it was cut off already";
    ucx.end_fetches(*other->worker);
    (void)other->poll();
    EXPECT_TRUE(far.came.empty()) << "of one that is lost";
    EXPECT_EQ(events(), 0u);
}

/// Of a process that lives, UCX writes on: of that one UCX has said that it is lost.
TEST_F(ucx_data_end, loss__of_one_that_lives_waits_until_ucx_is_done) {
    other->worker->is_reading_on = true;
    ASSERT_NO_FATAL_FAILURE(begin_fetch());
    UcxInMemory::fail(*back, UCS_ERR_ENDPOINT_TIMEOUT);
    (void)other->poll();
    for (unsigned i = 0; i < 5; ++i) {
        other->tcp.time += kGrace;
        (void)other->poll();
    }
    EXPECT_TRUE(other->peer().is_cut);
    EXPECT_EQ(other->peer().way, nullptr) << "the way is over";
    EXPECT_TRUE(other->told.lost.empty()) << "and the fetch is not";
    ucx.end_fetches(*other->worker);
    (void)other->poll();
    EXPECT_EQ(other->told.lost.size(), 1u);
}

TEST_F(ucx_data_end, loss__of_one_that_lives_waits_until_its_bytes_are_back) {
    there->close_answer = UCS_INPROGRESS;
    ASSERT_EQ(send(7, kLong), Status::ok);
    one->turn.road().mark_broken(one->peer().way, "broken");
    (void)one->poll();
    for (unsigned i = 0; i < 5; ++i) {
        one->tcp.time += kGrace;
        (void)one->poll();
    }
    EXPECT_EQ(one->state(), PeerState::ending);
    EXPECT_TRUE(one->told.lost.empty());
    ASSERT_NE(one->peer().way, nullptr);
    EXPECT_EQ(loans(), 1u);
    ucx.finish(*there);
    for (unsigned i = 0; i < 2; ++i) (void)one->poll();
    EXPECT_EQ(one->told.lost.size(), 1u);
    EXPECT_EQ(one->peer().way, nullptr);
}

/// The way was over before, and its fetch still writes.
TEST_F(ucx_data_end, give_back__of_a_peer_that_is_cut_off_waits_for_the_fetch) {
    other->worker->is_reading_on = true;
    ASSERT_NO_FATAL_FAILURE(begin_fetch());
    UcxInMemory::fail(*back, UCS_ERR_ENDPOINT_TIMEOUT);
    (void)other->poll();
    for (unsigned i = 0; i < 3; ++i) {
        other->tcp.time += kGrace;
        (void)other->poll();
    }
    ASSERT_EQ(other->peer().way, nullptr);
    ASSERT_TRUE(other->peer().is_fetching);
    const unsigned polls = other->tcp.polls;
    other->tcp.in_poll = [&] {
        if (other->tcp.polls == polls + 9) ucx.end_fetches(*other->worker);
    };
    (void)give_back(*other);
    EXPECT_EQ(other->tcp.polls, polls + 10) << "nothing is written later";
    EXPECT_FALSE(other->peer().is_fetching);
}

}  // namespace
}  // namespace fci::ucx::test
