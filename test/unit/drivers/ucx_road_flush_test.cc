// SPDX-License-Identifier: BSD-3-Clause
// The road of the ucx driver: what has arrived, what a closed way still needs, and its sleep.
#include "test/unit/drivers/ucx_roads.h"

namespace fci::ucx::test {
namespace {

// --- flushes of a way ---

TEST_F(ucx_way, is_flushed__of_a_way_without_a_flush) {
    EXPECT_TRUE(near.road->is_flushed(way));
    near.road->begin_flush(way);
    EXPECT_EQ(endpoint.flushes, 1u);
    EXPECT_TRUE(near.road->is_flushed(way)) << "it was over at once";
}

TEST_F(ucx_way, is_flushed__when_ucx_says_so) {
    endpoint.flush_answer = UCS_INPROGRESS;
    near.road->begin_flush(way);
    near.road->begin_flush(way);
    EXPECT_EQ(endpoint.flushes, 1u) << "it is still under way";
    EXPECT_FALSE(near.road->is_flushed(way));
    ucx.finish(endpoint);
    EXPECT_TRUE(near.road->is_flushed(way));
    EXPECT_EQ(ucx.requests_left(), 0u);
    near.road->begin_flush(way);
    EXPECT_EQ(endpoint.flushes, 2u);
    EXPECT_FALSE(near.road->is_flushed(way));
}

TEST_F(ucx_way, is_flushed__after_all_frames_that_wait) {
    endpoint.takes = false;
    EXPECT_TRUE(near.send(way, "one"));
    EXPECT_TRUE(near.send(way, "two"));
    near.road->begin_flush(way);
    EXPECT_FALSE(near.road->is_flushed(way)) << "the flush is over before the frames";
    ucx.take(endpoint, 1);
    (void)near.road->progress();
    EXPECT_FALSE(near.road->is_flushed(way));
    ucx.take(endpoint);
    (void)near.road->progress();
    EXPECT_TRUE(near.road->is_flushed(way));
}

TEST_F(ucx_way, is_flushed__where_the_flush_fails) {
    endpoint.flush_answer = UCS_ERR_CONNECTION_RESET;
    near.road->begin_flush(way);
    EXPECT_TRUE(near.road->is_flushed(way));
    endpoint.flush_answer = UCS_INPROGRESS;
    near.road->begin_flush(way);
    ucx.finish(endpoint, UCS_ERR_CONNECTION_RESET);
    EXPECT_TRUE(near.road->is_flushed(way));
}

// --- whether all has arrived ---

TEST_F(ucx_way, is_idle__of_nothing_asks_nobody) {
    EXPECT_TRUE(near.road->is_idle());
    EXPECT_EQ(near.worker->flushes, 0u);
}

TEST_F(ucx_way, is_idle__flushes_once_for_all_that_was_sent) {
    EXPECT_TRUE(near.send(way, "one"));
    EXPECT_TRUE(near.send(way, "two"));
    EXPECT_TRUE(near.road->is_idle());
    EXPECT_TRUE(near.road->is_idle());
    EXPECT_EQ(near.worker->flushes, 1u);
    EXPECT_TRUE(near.send(way, "three"));
    EXPECT_TRUE(near.road->is_idle());
    EXPECT_EQ(near.worker->flushes, 2u);
    EXPECT_EQ(endpoint.flushes, 0u) << "that may need turns of the peer";
}

TEST_F(ucx_way, is_idle__after_its_flush) {
    near.worker->flush_answer = UCS_INPROGRESS;
    EXPECT_TRUE(near.send(way, "one"));
    EXPECT_FALSE(near.road->is_idle());
    EXPECT_FALSE(near.road->is_idle());
    EXPECT_EQ(near.worker->flushes, 1u);
    EXPECT_TRUE(near.send(way, "behind the flush"));
    ucx.finish_flush(*near.worker);
    EXPECT_FALSE(near.road->is_idle()) << "of what came later";
    EXPECT_EQ(near.worker->flushes, 2u);
    ucx.finish_flush(*near.worker);
    EXPECT_TRUE(near.road->is_idle());
    EXPECT_EQ(near.worker->flushes, 2u);
    EXPECT_EQ(ucx.requests_left(), 0u);
}

/// Two ways, so that what waits is looked for at all.
TEST_F(ucx_way, is_idle__after_all_frames_that_wait) {
    Road::Way* const another = near.open_way(far);
    UcxInMemory::Endpoint& its = ucx.last_endpoint();
    endpoint.takes = its.takes = false;
    EXPECT_TRUE(near.send(way, "one"));
    EXPECT_TRUE(near.send(another, "two"));
    EXPECT_FALSE(near.road->is_idle());
    ucx.take(endpoint);
    (void)near.road->progress();
    EXPECT_FALSE(near.road->is_idle());
    EXPECT_EQ(near.worker->flushes, 0u) << "a flush would not wait for the frames";
    ucx.take(its);
    (void)near.road->progress();
    EXPECT_TRUE(near.road->is_idle());
    EXPECT_EQ(near.worker->flushes, 1u);
    near.road->close(another);
}

/// Of a peer that takes nothing any more nothing arrives.
TEST_F(ucx_way, is_idle__asks_no_way_that_is_closed) {
    endpoint.takes = false;
    endpoint.close_answer = UCS_INPROGRESS;
    EXPECT_TRUE(near.send(way, "one"));
    EXPECT_FALSE(near.road->is_idle());
    close();
    EXPECT_TRUE(near.road->is_idle());
    EXPECT_TRUE(near.road->is_closing());
}

/// UCX's flush waits for such a way, even if it never ends.
TEST_F(ucx_way, is_idle__flushes_nothing_beside_a_way_that_closes) {
    Road::Way* const another = near.open_way(far);
    UcxInMemory::Endpoint& its = ucx.last_endpoint();
    near.worker->flush_answer = UCS_INPROGRESS;
    EXPECT_TRUE(near.send(way, "one"));
    EXPECT_FALSE(near.road->is_idle());
    endpoint.close_answer = UCS_INPROGRESS;
    close();
    its.takes = false;
    EXPECT_TRUE(near.send(another, "two"));
    EXPECT_FALSE(near.road->is_idle()) << "of the other";
    ucx.take(its);
    (void)near.road->progress();
    EXPECT_TRUE(near.road->is_idle());
    EXPECT_EQ(near.worker->flushes, 1u);
    ucx.finish(endpoint);
    (void)near.road->progress();
    EXPECT_FALSE(near.road->is_idle()) << "of the flush that is under way";
    ucx.finish_flush(*near.worker);
    EXPECT_FALSE(near.road->is_idle()) << "of the frame to the other";
    EXPECT_EQ(near.worker->flushes, 2u);
    ucx.finish_flush(*near.worker);
    EXPECT_TRUE(near.road->is_idle());
    near.road->close(another);
}

// --- closing ---

TEST_F(ucx_way, close__is_over_in_the_next_turn) {
    Road::Way* const closed = way;
    close();
    EXPECT_FALSE(near.road->has_broken());
    near.road->mark_broken(closed, "too late");
    EXPECT_FALSE(near.road->has_broken());
    EXPECT_TRUE(near.road->is_closing());
    EXPECT_EQ(near.road->ways(), 1u);
    (void)near.road->progress();
    EXPECT_FALSE(near.road->is_closing());
    EXPECT_EQ(near.road->ways(), 0u);
}

TEST_F(ucx_way, close__is_over_when_ucx_says_so) {
    Road::Way* const another = near.open_way(far);
    endpoint.close_answer = UCS_INPROGRESS;
    close();
    for (unsigned i = 0; i < 3; ++i) (void)near.road->progress();
    EXPECT_TRUE(near.road->is_closing());
    EXPECT_EQ(near.road->ways(), 2u);
    ucx.finish(endpoint);
    (void)near.road->progress();
    EXPECT_FALSE(near.road->is_closing());
    EXPECT_EQ(near.road->ways(), 1u);
    EXPECT_TRUE(near.send(another, "which is still open"));
    EXPECT_EQ(heard(), Texts{"which is still open"});
    near.road->close(another);
}

/// UCX calls for each of them, and uses its bytes until then.
TEST_F(ucx_way, close__waits_for_the_frames_that_wait) {
    endpoint.takes = false;
    endpoint.close_answer = UCS_INPROGRESS;
    EXPECT_TRUE(near.send(way, "given up"));
    close();
    ucx.requests.back()->status = UCS_OK;  // of the closing alone
    (void)near.road->progress();
    EXPECT_TRUE(near.road->is_closing());
    EXPECT_EQ(near.road->ways(), 1u);
    ucx.finish(endpoint);
    (void)near.road->progress();
    EXPECT_FALSE(near.road->is_closing());
    EXPECT_TRUE(heard().empty());
}

TEST_F(ucx_way, close__waits_for_the_flush) {
    endpoint.flush_answer = UCS_INPROGRESS;
    near.road->begin_flush(way);
    close();
    (void)near.road->progress();
    EXPECT_TRUE(near.road->is_closing());
    ucx.finish(endpoint);
    (void)near.road->progress();
    EXPECT_FALSE(near.road->is_closing());
}

TEST_F(ucx_way, close__of_two_one_after_the_other) {
    Road::Way* const another = near.open_way(far);
    UcxInMemory::Endpoint& its = ucx.last_endpoint();
    endpoint.close_answer = its.close_answer = UCS_INPROGRESS;
    close();
    near.road->close(another);
    ucx.finish(its);
    (void)near.road->progress();
    EXPECT_TRUE(near.road->is_closing());
    EXPECT_EQ(near.road->ways(), 1u);
    ucx.finish(endpoint);
    (void)near.road->progress();
    EXPECT_FALSE(near.road->is_closing());
    EXPECT_EQ(near.road->ways(), 0u);
}

// --- turns ---

TEST_F(ucx_way, progress__says_how_much_there_was) {
    EXPECT_EQ(near.road->progress(), 0u);
    const Bytes bytes(3);
    ucx.bring(*near.worker, bytes);
    ucx.bring(*near.worker, bytes);
    near.worker->at_once = 1;
    EXPECT_EQ(near.road->progress(), 1u);
    close();
    EXPECT_EQ(near.road->progress(), 1u);
    EXPECT_EQ(near.ear.frames.size(), 2u);
}

TEST_F(ucx_way, arm__unless_there_is_work) {
    EXPECT_TRUE(near.road->arm());
    near.worker->busy = 1;
    EXPECT_FALSE(near.road->arm());
    EXPECT_TRUE(near.road->arm());
    ucx.bring(*near.worker, Bytes(3));
    EXPECT_FALSE(near.road->arm());
    (void)near.road->progress();
    EXPECT_TRUE(near.road->arm());
}

}  // namespace
}  // namespace fci::ucx::test
