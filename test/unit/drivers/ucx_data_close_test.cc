// SPDX-License-Identifier: BSD-3-Clause
// Data of the ucx driver at the end of this process.
#include "test/unit/drivers/ucx_data_target.h"

namespace fci::ucx::test {
namespace {

TEST_F(ucx_data_end, close__gives_peers_time_to_read) {
    ASSERT_EQ(send(7, kLong), Status::ok);
    one->tcp.in_now = [&, looks = 0]() mutable {
        if (++looks == 100) (void)other->poll();
    };
    const Nanoseconds took = close(*one);
    EXPECT_GE(took, 90 * kMs);
    EXPECT_LT(took, 200 * kMs);
    EXPECT_EQ(far.came, Names{7});
    EXPECT_TRUE(is_there(kLong));
    EXPECT_NE(one->peer().way, nullptr) << "which frames may still need";
}

TEST_F(ucx_data_end, close__waits_for_a_second_at_most) {
    ASSERT_EQ(send(7, kLong), Status::ok);
    const Nanoseconds took = close(*one);
    EXPECT_GE(took, kGrace);
    EXPECT_LT(took, kGrace + 20 * kMs);
    EXPECT_TRUE(there->is_closed);
    EXPECT_EQ(one->peer().way, nullptr);
}

TEST_F(ucx_data_end, close__gives_ucx_no_turn_after_the_grace) {
    there->close_answer = UCS_INPROGRESS;
    ASSERT_EQ(send(7, kLong), Status::ok);
    one->tcp.tick = kGrace;
    const unsigned turns = one->worker->turns;
    (void)close(*one);
    EXPECT_EQ(one->worker->turns, turns);
    EXPECT_TRUE(there->is_closed);
    EXPECT_EQ(one->peer().way, nullptr);
}

TEST_F(ucx_data_end, close__waits_for_nobody_that_reads_no_more) {
    ASSERT_EQ(send(7, kLong), Status::ok);
    one->turn.road().mark_broken(one->peer().way, "broken");
    EXPECT_LT(close(*one), 20 * kMs);
    EXPECT_EQ(one->peer().way, nullptr);
}

TEST_F(ucx_data_end, close__waits_for_no_peer_that_leaves) {
    ASSERT_EQ(send(7, kLong), Status::ok);
    one->peer().state = PeerState::ending;
    EXPECT_LT(close(*one), 20 * kMs);
    EXPECT_EQ(one->peer().way, nullptr);
    one->peer().state = PeerState::attached;
}

/// Two that close at once do not wait for each other's data.
TEST_F(ucx_data_end, close__drops_what_came_before_it_waits) {
    far.early = true;
    ASSERT_EQ(send(7, kLong), Status::ok);
    ASSERT_EQ(receiver().send(1, {8, 0, kLong}, bytes.data(), 0), Status::ok);
    (void)other->poll();
    ASSERT_EQ(ucx.kept(*other->worker), 1u);
    other->tcp.in_now = [&] {
        EXPECT_EQ(ucx.kept(*other->worker), 0u);
        (void)one->turn.road().progress();
    };
    (void)close(*other);
    EXPECT_EQ(loans(), 0u);
    one->tcp.tick = 0;
}

/// Each of two peers would take a second.
TEST_F(ucx_data_end, close__waits_for_all_peers_at_once) {
    Peer& second = one->peers.make(2);
    std::string error;
    second.way = one->turn.road().open_way(other->turn.road().address().data(), &error);
    ASSERT_NE(second.way, nullptr) << error;
    second.state = PeerState::attached;
    there->close_answer = ucx.last_endpoint().close_answer = UCS_INPROGRESS;
    ASSERT_EQ(send(7, kLong), Status::ok);
    ASSERT_EQ(send(7, kLong, 0, 2), Status::ok);
    const Nanoseconds took = close(*one);
    EXPECT_GE(took, 2 * kGrace) << "for peers to read, and for UCX";
    EXPECT_LT(took, 2 * kGrace + 20 * kMs);
    EXPECT_EQ(one->peer().way, nullptr);
    EXPECT_EQ(second.way, nullptr);
}

/// A fetch to buffers whose owner closes is not waited for without end.
TEST_F(ucx_data_end, close__with_a_fetch_that_never_ends) {
    other->worker->is_reading_on = true;
    ASSERT_NO_FATAL_FAILURE(begin_fetch());
    const Nanoseconds took = close(*other);
    EXPECT_GE(took, kGrace);
    EXPECT_LT(took, kGrace + 20 * kMs);
    ucx.end_fetches(*other->worker);
    (void)other->poll();
    EXPECT_TRUE(far.came.empty()) << "nobody is there to hear it";
    EXPECT_EQ(events(), 0u);
}

/// A child of fork() closes what its parent goes on with.
TEST_F(ucx_data_end, close__in_a_child_asks_nothing_of_ucx) {
    far.early = true;
    ASSERT_EQ(send(7, kLong), Status::ok);
    (void)other->poll();
    ASSERT_EQ(ucx.kept(*other->worker), 1u);
    const unsigned turns = other->worker->turns;
    other->turn.abandon();
    EXPECT_LT(close(*other), 20 * kMs);
    receiver().give_back(1);
    other.reset();
    EXPECT_EQ(ucx.workers.back()->turns + ucx.workers.front()->turns, turns + one->worker->turns);
    EXPECT_EQ(ucx.kept(*ucx.workers.back()) + ucx.kept(*ucx.workers.front()), 1u)
        << "which is the parent's";
    EXPECT_FALSE(back->is_closed);
    ucx.forgive();
}

/// UCX calls at the end of the worker for all that it holds.
TEST_F(ucx_data_end, close__of_the_turn_with_requests_that_ucx_holds) {
    one->worker->is_reading_on = true;
    one->worker->fetch_answer = UCS_INPROGRESS;
    ASSERT_EQ(receiver().send(1, {8, 0, kLong}, bytes.data(), 0), Status::ok);
    (void)one->poll();
    ASSERT_EQ(ucx.fetches(*one->worker), 1u);
    ASSERT_EQ(send(7, kLong), Status::ok);
    there->takes = false;
    ASSERT_EQ(put(*one, 0, "waits"), Status::ok);
    there->close_answer = there->flush_answer = UCS_INPROGRESS;
    one->turn.close();
    EXPECT_FALSE(one->worker->is_there);
    EXPECT_FALSE(one->peer().is_fetching);
    EXPECT_TRUE(near.came.empty());
    EXPECT_EQ(ucx.fetches(*one->worker), 0u);
    other->tcp.time += kGrace;
    near.asked.clear();
    one.reset();
    there = nullptr;
}

}  // namespace
}  // namespace fci::ucx::test
