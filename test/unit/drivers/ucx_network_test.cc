// SPDX-License-Identifier: BSD-3-Clause
// Transfers of the ucx driver, and frames that come: of peers, of strangers, and out of place.
#include "drivers/ucx/ucx_network.h"

#include "test/unit/drivers/ucx_stations.h"

namespace fci::ucx::test {
namespace {

using nhi::LcsAddress;
using nhi::Transfer;

// --- to which peers ---

struct ucx_network : ucx_stations {};

TEST_F(ucx_network, transfer__to_peers_in_each_state) {
    EXPECT_EQ(put(*one, 0, "x", 1), Status::invalid) << "of no number";
    EXPECT_EQ(put(*one, 0, "x", nhi::kNoPeer), Status::invalid);
    one->peers.know(2);
    EXPECT_EQ(put(*one, 0, "x", 1), Status::unreachable) << "known by its card";
    EXPECT_EQ(put(*one, 0, "x", 3), Status::invalid);
    ASSERT_NO_FATAL_FAILURE(attach());
    EXPECT_EQ(put(*one, 0, "x"), Status::ok);
    const auto answer_in = [&](PeerState state) {
        one->peer().state = state;
        const Status answer = put(*one, 0, "x");
        one->peer().state = PeerState::attached;
        return answer;
    };
    EXPECT_EQ(answer_in(PeerState::connecting), Status::again);
    EXPECT_EQ(answer_in(PeerState::joined), Status::again);
    EXPECT_EQ(answer_in(PeerState::ending), Status::lost);
    EXPECT_EQ(answer_in(PeerState::lost), Status::lost);
    turns();
    EXPECT_EQ(other->peer().heard, 2u) << "the first frame, and the one that was sent";
}

TEST_F(ucx_network, link__of_an_attached_peer_only) {
    EXPECT_EQ(one->network.link(1).block_bytes, 0u);
    ASSERT_NO_FATAL_FAILURE(attach());
    EXPECT_EQ(one->network.link(1).block_bytes, kBlock);
    EXPECT_EQ(one->network.link(1).block, nullptr);
    EXPECT_EQ(one->network.link(nhi::kSelf).block_bytes, kBlock);
    one->peer().state = PeerState::ending;
    EXPECT_EQ(one->network.link(1).block_bytes, 0u);
}

// --- to which places ---

TEST_F(ucx_network, transfer__stays_within_the_block_that_the_peer_keeps) {
    ASSERT_NO_FATAL_FAILURE(attach());
    EXPECT_EQ(put(*one, kBlock - 2, "ab"), Status::ok);
    EXPECT_EQ(put(*one, kBlock, ""), Status::ok);
    EXPECT_EQ(put(*one, kBlock - 2, "abc"), Status::invalid);
    EXPECT_EQ(put(*one, kBlock, "a"), Status::invalid);
    EXPECT_EQ(put(*one, kBlock + 1, ""), Status::invalid);
    EXPECT_EQ(put(*one, nhi::kPairLimit - 1, "a"), Status::invalid);
    EXPECT_EQ(put(*one, nhi::kPairLimit, "a"), Status::ok) << "of a window";
    EXPECT_EQ(one->network.initiate_transfer(
                  Transfer(1).put(LcsAddress{0}, "a", 1).put(LcsAddress{kBlock}, "b", 1)),
              Status::invalid) << "each part counts";
    turns();
    EXPECT_EQ(other->text(1, kBlock - 2, 2), "ab");
    EXPECT_EQ(other->text(1, 0, 1), std::string(1, '\0'));
    EXPECT_EQ(other->peer().heard, 4u);
}

/// How large its block is, is not known yet.
TEST_F(ucx_network, transfer__to_a_peer_that_is_being_met) {
    ASSERT_NO_FATAL_FAILURE(attach());
    one->peer().state = PeerState::joined;
    EXPECT_EQ(put(*one, kBlock, "a"), Status::again);
    EXPECT_EQ(put(*one, nhi::kPairLimit - 1, "a"), Status::again);
    EXPECT_EQ(put(*one, nhi::kPairLimit - 1, "ab"), Status::invalid);
    one->peer().state = PeerState::attached;
}

TEST_F(ucx_network, transfer__for_which_ucx_has_no_room_leaves_no_trace) {
    ASSERT_NO_FATAL_FAILURE(attach());
    there->takes = false;
    for (unsigned i = 0; i < 64; ++i) ASSERT_EQ(put(*one, 8, std::to_string(i)), Status::ok) << i;
    EXPECT_EQ(put(*one, 0, "again"), Status::again);
    EXPECT_EQ(put(*one, 0, "again"), Status::again);
    EXPECT_FALSE(one->network.is_idle());
    ucx.take(*there, 1);
    turns(1);
    EXPECT_EQ(put(*one, 0, "later"), Status::ok);
    ucx.take(*there);
    there->takes = true;
    turns();
    EXPECT_TRUE(one->network.is_idle());
    EXPECT_EQ(other->peer().heard, 66u);
    EXPECT_EQ(other->text(1, 0, 5), "later");
    EXPECT_EQ(other->text(1, 8, 2), "63");
    EXPECT_EQ(Road::broken(other->peer().way), nullptr) << "no number is left out";
}

/// The numbers of frames begin again with 0.
TEST_F(ucx_network, transfer__after_four_thousand_million) {
    ASSERT_NO_FATAL_FAILURE(attach());
    one->peer().sent = other->peer().heard = 0xffff'fffe;
    for (const char* const text : {"last", "none", "next"}) {
        EXPECT_EQ(put(*one, 0, text), Status::ok);
    }
    turns();
    EXPECT_EQ(other->peer().heard, 1u);
    EXPECT_EQ(other->text(1, 0, 4), "next");
    EXPECT_EQ(Road::broken(other->peer().way), nullptr);
}

TEST_F(ucx_network, transfer__to_itself) {
    ASSERT_EQ(one->network.open_window(2, LcsAddress{nhi::kPairLimit},
                                       std::span(one->memory).first(64)), Status::ok);
    ASSERT_EQ(one->network.configure_event(3, {.flag = true, .interrupt = false}), Status::ok);
    EXPECT_EQ(one->network.initiate_transfer(Transfer(nhi::kSelf)
                                                 .put(LcsAddress{16}, "block", 5)
                                                 .put(LcsAddress{nhi::kPairLimit + 59}, "windw", 5)
                                                 .put(LcsAddress{nhi::kPairLimit + 60}, "wrong", 5)
                                                 .raise(3)),
              Status::ok);
    EXPECT_EQ(one->text(nhi::kSelf, 16, 5), "block");
    EXPECT_EQ(std::memcmp(one->memory.data() + 59, "windw", 5), 0);
    EXPECT_EQ(one->memory[64], std::byte{0});
    EXPECT_EQ(one->network.event_count(3), 1u);
    EXPECT_EQ(put(*one, ~std::uint64_t{0} - 1, "wraps", nhi::kSelf), Status::ok);
    EXPECT_EQ(put(*one, kBlock - 1, "ab", nhi::kSelf), Status::invalid);
    EXPECT_TRUE(ucx.endpoints.empty());
    EXPECT_TRUE(one->network.is_idle());
}

TEST_F(ucx_network, network__has_no_memory_of_peers) {
    EXPECT_EQ(one->network.map(1, LcsAddress{0}, 1), nullptr);
    EXPECT_EQ(one->network.copy(1, nhi::NetworkInterface::Direction::read, 0, nullptr, 0),
              Status::unsupported);
    EXPECT_EQ(one->network.hints(), nullptr);
    int hints = 0;
    one->tcp.its_hints = reinterpret_cast<nhi::Hints*>(&hints);
    EXPECT_EQ(one->network.hints(), one->tcp.its_hints) << "which are the TCP device's";
}

// --- frames that come ---

TEST_F(ucx_network, frame__is_written_and_raises_its_events) {
    ASSERT_NO_FATAL_FAILURE(attach());
    ASSERT_EQ(one->network.open_window(0, LcsAddress{nhi::kPairLimit + 8},
                                       std::span(one->memory).first(8)), Status::ok);
    ASSERT_EQ(one->network.configure_event(5, {.flag = true, .interrupt = false}), Status::ok);
    bring(head(), Transfer(1)
                      .put(LcsAddress{100}, "abc", 3)
                      .put(LcsAddress{nhi::kPairLimit + 8}, "window", 6)
                      .put(LcsAddress{103}, "de", 2)
                      .raise(5));
    EXPECT_EQ(one->text(1, 100, 5), "abcde");
    EXPECT_EQ(std::memcmp(one->memory.data(), "window", 6), 0);
    EXPECT_EQ(one->network.event_count(5), 1u);
    EXPECT_EQ(one->peer().heard, 2u);
}

/// The rest of the frame counts.
TEST_F(ucx_network, frame__with_places_that_are_not_here) {
    ASSERT_NO_FATAL_FAILURE(attach());
    ASSERT_EQ(one->network.configure_event(5, {.flag = true, .interrupt = false}), Status::ok);
    bring(head(), Transfer(1)
                      .put(LcsAddress{kBlock - 1}, "ab", 2)
                      .put(LcsAddress{nhi::kPairLimit}, "no window", 9)
                      .put(LcsAddress{~std::uint64_t{0} - 1}, "wraps", 5)
                      .put(LcsAddress{kBlock - 2}, "cd", 2)
                      .raise(5));
    EXPECT_EQ(one->text(1, kBlock - 2, 2), "cd");
    EXPECT_EQ(one->peer().heard, 2u);
    EXPECT_EQ(one->network.event_count(5), 1u);
}

struct ucx_frame_came : ucx_stations {
    void SetUp() override {
        attach();
        ASSERT_EQ(one->network.configure_event(5, {.flag = true, .interrupt = false}), Status::ok);
    }
    /// A frame with this head changes nothing of the process.
    void expect_ignored(const FrameHead& head) {
        const std::uint32_t heard = one->peer().heard, events = one->network.event_count(5);
        bring(head, Transfer(1).put(LcsAddress{0}, "bad", 3).raise(5));
        EXPECT_EQ(one->text(1, 0, 3), std::string(3, '\0'));
        EXPECT_EQ(one->text(nhi::kSelf, 0, 3), std::string(3, '\0'));
        EXPECT_EQ(one->peer().heard, heard);
        EXPECT_EQ(one->network.event_count(5), events);
    }
};

TEST_F(ucx_frame_came, frame__with_another_key) {
    FrameHead its = head();
    its.key ^= 1;
    expect_ignored(its);
    EXPECT_FALSE(one->turn.road().has_broken()) << "which a stranger may have sent";
}

TEST_F(ucx_frame_came, frame__of_no_peer) {
    FrameHead its = head();
    its.number = 2;
    expect_ignored(its);
    its.number = nhi::kNoPeer;
    expect_ignored(its);
}

/// It has no key.
TEST_F(ucx_frame_came, frame__as_of_the_process_itself) {
    expect_ignored({.key = 0, .number = nhi::kSelf, .sequence = 1, .events = 0, .parts = 0});
    EXPECT_EQ(one->peer(nhi::kSelf).heard, 0u);
}

/// Nor has one that this process calls, until TCP has met it.
TEST_F(ucx_frame_came, frame__of_a_peer_that_tcp_has_not_met) {
    one->turn.begin_call(2);
    bring({.key = 0, .number = 2, .sequence = 1, .events = 0, .parts = 0});
    EXPECT_EQ(one->peer(2).heard, 0u);
}

TEST_F(ucx_frame_came, frame__of_one_that_is_lost) {
    one->peer().state = PeerState::lost;
    expect_ignored(head());
    one->peer().state = PeerState::attached;
}

TEST_F(ucx_frame_came, frame__of_one_that_ends_is_taken) {
    one->peer().state = PeerState::ending;
    bring(head(), Transfer(1).put(LcsAddress{0}, "last", 4));
    EXPECT_EQ(one->text(1, 0, 4), "last");
    one->peer().state = PeerState::attached;
}

TEST_F(ucx_frame_came, frame__that_is_not_sound) {
    FrameHead its = head();
    its.parts = 1;
    for (const std::size_t bytes : {std::size_t{0}, std::size_t{1}, sizeof its - 1, sizeof its}) {
        const auto* const from = reinterpret_cast<const std::byte*>(&its);
        ucx.bring(*one->worker, std::span(from, bytes));
    }
    EXPECT_EQ(one->turn.road().progress(), 4u);
    EXPECT_EQ(one->peer().heard, 1u);
    EXPECT_FALSE(one->turn.road().has_broken());
}

TEST_F(ucx_frame_came, frame__that_comes_too_early_breaks_the_way) {
    FrameHead its = head();
    ++its.sequence;
    expect_ignored(its);
    EXPECT_STREQ(Road::broken(one->peer().way), "its frames come out of order");
}

TEST_F(ucx_frame_came, frame__that_comes_again_breaks_the_way) {
    FrameHead its = head();
    --its.sequence;
    expect_ignored(its);
    EXPECT_STREQ(Road::broken(one->peer().way), "its frames come out of order");
}

/// The peer has heard of this process before this one has of it.
TEST_F(ucx_network, frame__out_of_order_before_there_is_a_way) {
    one->tcp.meet(1);
    (void)one->poll();
    ASSERT_NE(one->peer().key, 0u);
    ASSERT_EQ(one->peer().way, nullptr);
    FrameHead its = head();
    ++its.sequence;
    bring(its);
    EXPECT_EQ(one->peer().heard, 0u);
    bring(head());
    EXPECT_EQ(one->peer().heard, 1u);
}

// --- events that wake ---

TEST_F(ucx_network, unmask__has_a_sleeper_rung_where_ucx_has_work) {
    const auto arms_of = [&](nhi::EventId event, bool masked, Status expected = Status::ok) {
        const unsigned before = one->worker->arms;
        EXPECT_EQ(one->network.mask_event_interrupt(event, masked), expected);
        return one->worker->arms - before;
    };
    EXPECT_EQ(arms_of(3, false), 0u) << "the event wakes nobody";
    ASSERT_EQ(one->network.configure_event(3, {.flag = false, .interrupt = true}), Status::ok);
    EXPECT_EQ(arms_of(3, true), 0u);
    EXPECT_EQ(arms_of(3, false), 1u);
    EXPECT_EQ(arms_of(nhi::kEventsMax, false, Status::invalid), 0u);
    EXPECT_EQ(arms_of(4, true), 0u) << "another one may still wake";
    EXPECT_FALSE(is_readable(one->turn.fd()));
    one->worker->busy = 1;
    EXPECT_EQ(arms_of(3, false), 1u);
    EXPECT_TRUE(is_readable(one->turn.fd()));
}

}  // namespace
}  // namespace fci::ucx::test
