// SPDX-License-Identifier: BSD-3-Clause
// Data of the ucx driver: to which peers they go, in which order they come, and what is refused.
#include "drivers/ucx/ucx_data.h"

#include "test/unit/drivers/ucx_data_target.h"

namespace fci::ucx::test {
namespace {

// --- sending ---

TEST_F(ucx_data, send__to_peers_in_each_state) {
    one->peers.know(2);
    EXPECT_EQ(send(7, kLong, 0, nhi::kSelf), Status::invalid);
    EXPECT_EQ(send(7, kLong, 0, 3), Status::invalid);
    EXPECT_EQ(send(7, kLong, 0, nhi::kNoPeer), Status::invalid);
    EXPECT_EQ(send(7, 0), Status::invalid);
    EXPECT_EQ(send(7, kLong, 0, 2), Status::unreachable);
    const auto answer_in = [&](PeerState state) {
        one->peer().state = state;
        const Status answer = send(7, kLong);
        one->peer().state = PeerState::attached;
        return answer;
    };
    EXPECT_EQ(answer_in(PeerState::connecting), Status::unreachable);
    EXPECT_EQ(answer_in(PeerState::joined), Status::unreachable);
    EXPECT_EQ(answer_in(PeerState::ending), Status::lost);
    EXPECT_EQ(answer_in(PeerState::lost), Status::lost);
    EXPECT_TRUE(sender().has_taken(1)) << "nothing was sent";
    EXPECT_EQ(send(7, kLong), Status::ok);
    turns();
    EXPECT_EQ(other->peer().heard, 2u) << "the first frame, and what was sent";
    EXPECT_TRUE(is_there(kLong));
}

TEST_F(ucx_data, send__for_which_there_is_no_room_leaves_no_trace) {
    for (unsigned i = 0; i < 8; ++i) ASSERT_EQ(send(i, kLong), Status::ok) << i;
    EXPECT_EQ(send(8, kLong), Status::again);
    EXPECT_EQ(send(8, kLong), Status::again);
    EXPECT_FALSE(one->network.is_idle() && sender().has_taken(1));
    turns();
    EXPECT_EQ(send(9, kLong), Status::ok);
    turns();
    EXPECT_EQ(far.came, (Names{0, 1, 2, 3, 4, 5, 6, 7, 9}));
    EXPECT_EQ(broken(*other), nullptr) << "no number is left out";
}

TEST_F(ucx_data, has_taken__once_nothing_is_lent) {
    one->peers.know(2);
    EXPECT_FALSE(sender().has_taken(2));
    EXPECT_FALSE(sender().has_taken(99));
    EXPECT_TRUE(sender().has_taken(1));
    EXPECT_EQ(send(7, kLong), Status::ok);
    EXPECT_FALSE(sender().has_taken(1));
    (void)other->poll();
    EXPECT_FALSE(sender().has_taken(1)) << "as far as is known here";
    (void)one->poll();
    EXPECT_TRUE(sender().has_taken(1));
    one->peer().state = PeerState::ending;
    EXPECT_FALSE(sender().has_taken(1));
    one->peer().state = PeerState::attached;
    UcxInMemory::fail(*there, UCS_ERR_ENDPOINT_TIMEOUT);
    (void)one->turn.road().progress();
    EXPECT_FALSE(sender().has_taken(1)) << "nothing arrives by a way that is broken";
}

// --- receiving ---

TEST_F(ucx_data, data__stay_in_order_with_transfers) {
    EXPECT_EQ(put(*one, 8, "before"), Status::ok);
    EXPECT_EQ(send(7, kLong, 1000), Status::ok);
    EXPECT_EQ(put(*one, 16, "after"), Status::ok);
    EXPECT_EQ(send(9, kShort), Status::ok);
    turns(2);
    EXPECT_EQ(other->text(1, 8, 6), "before");
    EXPECT_EQ(other->text(1, 16, 5), "after");
    EXPECT_EQ(far.came, (Names{7, 9}));
    EXPECT_TRUE(is_there(kLong, 1000));
    EXPECT_TRUE(is_there(kShort));
    EXPECT_EQ(events(), 2u);
    EXPECT_EQ(other->peer().heard, 5u);
}

TEST_F(ucx_data, data__raise_their_events_once_they_are_whole) {
    ASSERT_NO_FATAL_FAILURE(begin_fetch());
    (void)other->poll();
    EXPECT_EQ(far.asked, Names{7});
    EXPECT_TRUE(far.came.empty());
    EXPECT_EQ(events(), 0u);
    ucx.end_fetches(*other->worker);
    (void)other->poll();
    EXPECT_EQ(far.came, Names{7});
    EXPECT_EQ(events(), 1u);
    EXPECT_TRUE(is_there(kLong));
}

TEST_F(ucx_data, data__of_one_peer_come_one_after_the_other) {
    ASSERT_NO_FATAL_FAILURE(begin_fetch());
    EXPECT_EQ(send(8, kShort), Status::ok);
    EXPECT_EQ(send(9, kLong), Status::ok);
    for (unsigned i = 0; i < 3; ++i) (void)other->poll();
    EXPECT_EQ(far.asked, Names{7}) << "though the others are here";
    ucx.end_fetches(*other->worker);
    (void)other->poll();
    EXPECT_EQ(far.asked, (Names{7, 8, 9}));
    EXPECT_EQ(far.came, (Names{7, 8}));
    ucx.end_fetches(*other->worker);
    (void)other->poll();
    EXPECT_EQ(far.came, (Names{7, 8, 9}));
}

TEST_F(ucx_data, poll__counts_data_that_are_brought) {
    (void)other->poll();
    ASSERT_EQ(send(7, kShort), Status::ok);
    ASSERT_EQ(send(8, kShort), Status::ok);
    EXPECT_EQ(other->turn.poll(other->tcp.time), 4u) << "two messages, and their data";
    EXPECT_EQ(other->turn.poll(other->tcp.time), 0u);
    far.early = true;
    ASSERT_EQ(send(9, kShort), Status::ok);
    EXPECT_EQ(other->turn.poll(other->tcp.time), 1u);
    EXPECT_EQ(other->turn.poll(other->tcp.time), 0u);
}

TEST_F(ucx_data, data__that_are_early_wait_for_their_request) {
    far.early = true;
    EXPECT_EQ(send(7, kLong), Status::ok);
    EXPECT_EQ(send(8, kShort), Status::ok);
    EXPECT_FALSE(receiver().waits());
    (void)other->poll();
    EXPECT_TRUE(receiver().waits());
    other->turn.sleep(-1);  // which is no time to sleep
    EXPECT_TRUE(far.asked.empty());
    EXPECT_EQ(ucx.kept(*other->worker), 2u);
    far.early = false;
    (void)other->poll();
    EXPECT_FALSE(receiver().waits());
    EXPECT_EQ(far.came, (Names{7, 8}));
    EXPECT_EQ(events(), 2u);
}

/// They came in the sleep itself.
TEST_F(ucx_data, sleep__ends_where_data_are_early) {
    far.early = true;
    EXPECT_EQ(send(7, kLong), Status::ok);
    other->turn.sleep(-1);
    EXPECT_TRUE(receiver().waits());
    EXPECT_EQ(ucx.kept(*other->worker), 1u);
}

TEST_F(ucx_data, data__that_are_whole_but_belong_nowhere) {
    far.is_good = false;
    EXPECT_EQ(send(7, kLong), Status::ok);
    EXPECT_EQ(send(8, kShort), Status::ok);
    turns(1);
    EXPECT_EQ(far.came, (Names{7, 8}));
    EXPECT_EQ(events(), 0u);
    EXPECT_EQ(broken(*other), nullptr);
}

TEST_F(ucx_data, data__that_belong_nowhere_are_dropped) {
    far.is_known = false;
    EXPECT_EQ(send(7, kLong), Status::ok);
    EXPECT_EQ(send(8, kShort), Status::ok);
    turns();
    EXPECT_EQ(far.asked, (Names{7, 8}));
    EXPECT_TRUE(far.came.empty());
    EXPECT_EQ(events(), 0u);
    EXPECT_TRUE(sender().has_taken(1));
    EXPECT_EQ(broken(*other), nullptr);
    EXPECT_EQ(ucx.kept(*other->worker), 0u);
}

TEST_F(ucx_data, data__that_cannot_be_read_break_the_way) {
    ASSERT_NO_FATAL_FAILURE(begin_fetch());
    EXPECT_EQ(send(8, kShort), Status::ok);
    ucx.end_fetches(*other->worker, UCS_ERR_CONNECTION_RESET);
    (void)other->poll();
    EXPECT_STREQ(broken(*other), "data of it could not be read");
    EXPECT_EQ(far.came, Names{8});
    EXPECT_EQ(events(), 1u) << "of the short ones, which are here";
}

TEST_F(ucx_data, data__that_nobody_expects_are_dropped) {
    receiver().set_target(nullptr);
    EXPECT_EQ(send(7, kLong), Status::ok);
    EXPECT_EQ(send(8, kShort), Status::ok);
    turns();
    EXPECT_TRUE(sender().has_taken(1));
    EXPECT_TRUE(far.asked.empty());
    EXPECT_EQ(other->peer().heard, 3u);
    EXPECT_EQ(ucx.kept(*other->worker), 0u);
}

// --- what anybody may send ---

struct ucx_data_came : ucx_data {
    /// The head of the next data of the one.
    DataHead next(std::uint64_t count = kShort) {
        const Peer& peer = other->peer();
        return {{.key = peer.key, .number = 1, .sequence = peer.heard + 1, .events = 1u << kEvent,
                 .parts = 0},
                {7, 0, count}};
    }
    void come(const DataHead& head, std::size_t head_bytes = sizeof(DataHead),
              std::uint32_t attributes = UCP_AM_RECV_ATTR_FLAG_RNDV) {
        ucx.bring_data(*other->worker, std::as_bytes(std::span(&head, 1)).first(head_bytes),
                       std::span(bytes).first(kShort), attributes);
        (void)other->turn.road().progress();
        EXPECT_EQ(ucx.kept(*other->worker), far.asked.size()) << "nothing is kept";
        (void)other->poll();
        EXPECT_EQ(ucx.kept(*other->worker), 0u);
    }
    void expect_ignored(const DataHead& head, std::size_t head_bytes = sizeof(DataHead)) {
        const std::uint32_t heard = other->peer().heard;
        come(head, head_bytes);
        EXPECT_TRUE(far.asked.empty());
        EXPECT_EQ(other->peer().heard, heard);
        EXPECT_EQ(events(), 0u);
    }
};

TEST_F(ucx_data_came, data__with_a_head_of_another_length) {
    for (const std::size_t count : {std::size_t{0}, std::size_t{1}, sizeof(DataHead) - 1}) {
        expect_ignored(next(), count);
    }
    EXPECT_EQ(broken(*other), nullptr);
}

TEST_F(ucx_data_came, data__with_another_key) {
    DataHead head = next();
    head.frame.key ^= 1;
    expect_ignored(head);
    EXPECT_EQ(broken(*other), nullptr) << "which a stranger may have sent";
}

TEST_F(ucx_data_came, data__of_no_peer) {
    DataHead head = next();
    head.frame.number = 2;
    expect_ignored(head);
    expect_ignored({{.key = 0, .number = nhi::kSelf, .sequence = 1, .events = 0, .parts = 0},
                    {7, 0, kShort}});
}

TEST_F(ucx_data_came, data__out_of_order_break_the_way) {
    DataHead head = next();
    ++head.frame.sequence;
    expect_ignored(head);
    EXPECT_STREQ(broken(*other), "its frames come out of order");
}

TEST_F(ucx_data_came, data__of_one_that_is_lost) {
    other->peer().state = PeerState::lost;
    expect_ignored(next());
    other->peer().state = PeerState::attached;
}

/// Its frame counts.
TEST_F(ucx_data_came, data__of_another_length_than_their_head_says) {
    come(next(kShort + 1));
    come(next(kShort - 1));
    come(next(0));
    EXPECT_TRUE(far.asked.empty());
    EXPECT_EQ(other->peer().heard, 4u);
    EXPECT_EQ(events(), 0u);
}

/// The owner of the bytes looks at its orders, and sends the next part.
TEST_F(ucx_data, sleep__ends_when_bytes_come_back) {
    ASSERT_EQ(send(7, kLong), Status::ok);
    EXPECT_FALSE(sender().has_taken(1));
    (void)other->poll();
    const unsigned arms = one->worker->arms;
    one->tcp.tick = kMs;
    one->turn.sleep(kMs);
    EXPECT_TRUE(sender().has_taken(1));
    EXPECT_EQ(one->worker->arms, arms) << "it did not sleep";
}

}  // namespace
}  // namespace fci::ucx::test
