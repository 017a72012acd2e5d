// SPDX-License-Identifier: BSD-3-Clause
// Meetings of the ucx driver: hellos by TCP, first frames by UCX, and all that may be wrong with
// either.
#include "drivers/ucx/frame.h"
#include "test/unit/drivers/ucx_meetings.h"

namespace fci::ucx::test {
namespace {

TEST_F(ucx_meeting, begin__says_hello_once) {
    EXPECT_FALSE(meeting.is_busy());
    begin();
    EXPECT_TRUE(goes_on());
    for (unsigned i = 0; i < 3; ++i) meeting.tend(kBegin + i);
    const std::span<const std::byte> address = near.road->address();
    const Hello hello = said();
    EXPECT_EQ(hello.address_bytes, address.size());
    EXPECT_NE(hello.key, 0u);
    EXPECT_EQ(hello.key, peer().key);
    EXPECT_EQ(hello.block_bytes, kBlock);
    EXPECT_EQ(hello.number, kId);
    EXPECT_EQ(hello.verdict, Verdict::unknown);
    EXPECT_EQ(hello.farewell, 0u);
    EXPECT_EQ(std::memcmp(tcp.at(kId).there->data() + sizeof hello, address.data(),
                          address.size()), 0);
    EXPECT_EQ(peer().block.span().size(), kBlock);
    EXPECT_EQ(peer().give_up, kBegin + kLimit);
    EXPECT_EQ(tcp.transfers, 1u);
    EXPECT_TRUE(ucx.endpoints.empty()) << "the peer has not said where it is";
    EXPECT_TRUE(goes_on());
}

TEST_F(ucx_meeting, hello__for_which_tcp_has_no_room_is_said_later) {
    begin();
    tcp.transfer_answer = Status::again;
    meeting.tend(kBegin);
    EXPECT_EQ(said().address_bytes, 0u);
    EXPECT_TRUE(goes_on());
    tcp.transfer_answer = Status::ok;
    meeting.tend(kBegin + 1);
    EXPECT_EQ(said().address_bytes, near.road->address().size());
    EXPECT_EQ(peer().give_up, kBegin + kLimit) << "of the first turn";
}

TEST_F(ucx_meeting, hello__for_which_tcp_has_no_room_though_the_peers_is_here) {
    begin();
    say(hello_of_peer());
    tcp.transfer_answer = Status::again;
    meeting.tend(kBegin);
    EXPECT_TRUE(goes_on());
    EXPECT_TRUE(ucx.endpoints.empty()) << "the peer would not know a frame";
    tcp.transfer_answer = Status::ok;
    meeting.tend(kBegin);
    EXPECT_EQ(ucx.last_endpoint().sends, 1u);
    hear_first();
    meeting.tend(kBegin);
    expect_joined();
}

/// Each peer is told another key.
TEST_F(ucx_meeting, begin__of_two_peers) {
    begin();
    begin(2);
    meeting.tend(kBegin);
    EXPECT_NE(said().key, said(2).key);
    EXPECT_EQ(said(2).number, 2u);
    say(hello_of_peer(), 2);
    meeting.tend(kBegin);
    peer(2).heard = 1;
    meeting.tend(kBegin);
    EXPECT_EQ(peer(2).state, PeerState::joined);
    EXPECT_TRUE(meeting.is_busy()) << "with the other one";
    EXPECT_EQ(peer().state, PeerState::connecting);
    say(hello_of_peer());
    hear_first();
    meeting.tend(kBegin);
    EXPECT_FALSE(meeting.is_busy());
    EXPECT_EQ(hear().attached, (std::vector<nhi::PeerId>{2, 1}));
}

// --- what the peer says ---

TEST_F(ucx_meeting, hello__is_answered_by_a_first_frame) {
    begin();
    say(hello_of_peer());
    meeting.tend(kBegin);
    ASSERT_EQ(ucx.endpoints.size(), 1u);
    EXPECT_EQ(ucx.last_endpoint().to, far.worker);
    EXPECT_EQ(ucx.last_endpoint().flushed, 1u) << "the flush is of the frame";
    (void)far.road->progress();
    ASSERT_EQ(far.ear.frames.size(), 1u);
    const FrameReader frame(std::as_bytes(std::span(far.ear.frames[0])));
    ASSERT_TRUE(frame.is_sound());
    EXPECT_EQ(far.ear.frames[0].size(), sizeof(FrameHead));
    EXPECT_EQ(frame.head().key, 0x1234u);
    EXPECT_EQ(frame.head().number, 7u);
    EXPECT_EQ(frame.head().sequence, 1u);
    EXPECT_EQ(frame.head().events, 0u);
    EXPECT_EQ(peer().key_there, 0x1234u);
    EXPECT_EQ(peer().number_there, 7u);
    EXPECT_EQ(peer().block_bytes, 4096u);
    EXPECT_EQ(peer().sent, 1u);
    for (unsigned i = 0; i < 3; ++i) meeting.tend(kBegin + i);
    EXPECT_EQ(ucx.endpoints.size(), 1u);
    EXPECT_EQ(ucx.last_endpoint().sends, 1u);
    EXPECT_TRUE(goes_on()) << "its first frame is not here";
}

TEST_F(ucx_meeting, hello__that_is_there_first) {
    say(hello_of_peer());
    begin();
    meeting.tend(kBegin);
    hear_first();
    meeting.tend(kBegin);
    expect_joined();
}

TEST_F(ucx_meeting, hello__whose_length_is_not_there_yet_is_not_read) {
    begin();
    Hello hello = hello_of_peer();
    hello.address_bytes = 0;
    hello.block_bytes = 0;
    say(hello);
    meeting.tend(kBegin);
    EXPECT_TRUE(ucx.endpoints.empty());
    EXPECT_TRUE(goes_on());
}

TEST_F(ucx_meeting, hello__in_a_block_that_is_too_short_is_not_read) {
    begin();
    say(hello_of_peer());
    tcp.at(kId).is_met = false;  // there is none
    meeting.tend(kBegin);
    EXPECT_TRUE(goes_on());
    tcp.at(kId).is_met = true;
    tcp.at(kId).here->resize(kTail - 1);
    meeting.tend(kBegin);
    EXPECT_TRUE(ucx.endpoints.empty());
    EXPECT_TRUE(goes_on());
}

TEST_F(ucx_meeting, hello__at_its_limits_is_taken) {
    begin();
    Hello hello = hello_of_peer();
    hello.address_bytes = kAddressMost;
    hello.block_bytes = nhi::kPairLimit;
    say(hello);
    meeting.tend(kBegin);
    EXPECT_TRUE(goes_on());
    EXPECT_EQ(peer().block_bytes, nhi::kPairLimit);
    begin(2);
    hello.address_bytes = 1;
    hello.block_bytes = 1;
    say(hello, 2);
    meeting.tend(kBegin);
    EXPECT_EQ(peer(2).block_bytes, 1u);
    EXPECT_EQ(ucx.endpoints.size(), 2u);
}

struct ucx_meeting_nonsense : ucx_meeting {
    void expect_refused(const Hello& hello) {
        begin();
        say(hello);
        meeting.tend(kBegin);
        EXPECT_EQ(failure(), "its hello makes no sense");
        EXPECT_TRUE(ucx.endpoints.empty());
        EXPECT_EQ(peer().way, nullptr);
    }
    Hello hello = hello_of_peer();
};

TEST_F(ucx_meeting_nonsense, address__longer_than_the_block) {
    hello.address_bytes = kAddressMost + 1;
    expect_refused(hello);
}

TEST_F(ucx_meeting_nonsense, address__of_any_length) {
    hello.address_bytes = ~std::uint64_t{0};
    expect_refused(hello);
}

TEST_F(ucx_meeting_nonsense, block__of_no_bytes) {
    hello.block_bytes = 0;
    expect_refused(hello);
}

/// Addresses beyond are of windows.
TEST_F(ucx_meeting_nonsense, block__larger_than_there_are_addresses_for) {
    hello.block_bytes = nhi::kPairLimit + 1;
    expect_refused(hello);
}

TEST_F(ucx_meeting, address__that_ucx_does_not_know) {
    begin();
    say(hello_of_peer());
    tcp.at(kId).here->at(sizeof(Hello)) ^= std::byte{1};
    meeting.tend(kBegin);
    EXPECT_EQ(failure(), "Invalid address");
}

// --- ways ---

/// The frame of the peer is here, but the first one to it may still be under way.
TEST_F(ucx_meeting, first_frame__has_to_arrive) {
    ucx.like.flush_answer = UCS_INPROGRESS;
    begin();
    say(hello_of_peer());
    hear_first();
    for (unsigned i = 0; i < 3; ++i) meeting.tend(kBegin);
    EXPECT_TRUE(goes_on());
    EXPECT_EQ(ucx.last_endpoint().flushes, 1u);
    ucx.finish(ucx.last_endpoint());
    meeting.tend(kBegin);
    expect_joined();
}

/// As in a shortage of memory.
TEST_F(ucx_meeting, first_frame__that_cannot_be_sent_is_sent_later) {
    begin();
    meeting.tend(kBegin);
    peer().way = near.open_way(far);
    peer().block_bytes = 4096;
    ucx.last_endpoint().takes = false;
    for (unsigned i = 0; i < 64; ++i) ASSERT_TRUE(near.send(peer().way, "in its way"));
    hear_first();
    meeting.tend(kBegin);
    EXPECT_EQ(peer().sent, 0u);
    ucx.take(ucx.last_endpoint());
    (void)near.road->progress();
    EXPECT_TRUE(near.road->is_flushed(peer().way));
    ucx.last_endpoint().takes = true;
    EXPECT_TRUE(goes_on()) << "the peer waits for it";
    say(hello_of_peer());
    meeting.tend(kBegin);
    EXPECT_EQ(peer().sent, 1u);
    EXPECT_EQ(ucx.last_endpoint().sends, 65u);
    expect_joined();
}

TEST_F(ucx_meeting, way__that_breaks_ends_the_meeting) {
    begin();
    say(hello_of_peer());
    meeting.tend(kBegin);
    UcxInMemory::fail(ucx.last_endpoint(), UCS_ERR_UNREACHABLE);
    (void)near.road->progress();
    meeting.tend(kBegin + kLimit);
    EXPECT_EQ(failure(), "Destination is unreachable") << "which says more than the time";
}

TEST_F(ucx_meeting, limit__ends_a_meeting_without_an_answer) {
    begin();
    meeting.tend(kBegin);
    meeting.tend(kBegin + kLimit - 1);
    EXPECT_TRUE(goes_on());
    meeting.tend(kBegin + kLimit);
    EXPECT_EQ(failure(), "no answer");
    meeting.tend(kBegin + kLimit + 1);
    EXPECT_TRUE(hear().lost.empty());
}

TEST_F(ucx_meeting, limit__ends_one_whose_peer_has_said_hello_only) {
    begin();
    say(hello_of_peer());
    meeting.tend(kBegin);
    meeting.tend(kBegin + kLimit - 1);
    EXPECT_TRUE(goes_on());
    meeting.tend(kBegin + kLimit);
    EXPECT_EQ(failure(), "no answer");
}

TEST_F(ucx_meeting, peer__that_has_gone_meanwhile_is_forgotten) {
    begin();
    meeting.tend(kBegin);
    peer().state = PeerState::ending;
    say(hello_of_peer());
    meeting.tend(kBegin);
    EXPECT_FALSE(meeting.is_busy());
    EXPECT_TRUE(ucx.endpoints.empty());
    EXPECT_TRUE(hear().lost.empty());
}

TEST_F(ucx_meeting, memory__that_is_short_is_waited_for) {
    Meeting large(peers, *near.road, tcp, notices, std::size_t{1} << 60, kLimit);
    tcp.at(kId).is_met = true;
    large.begin(kId);
    large.tend(kBegin);
    EXPECT_TRUE(large.is_busy());
    EXPECT_EQ(peer().state, PeerState::connecting);
    EXPECT_EQ(tcp.transfers, 0u);
    EXPECT_TRUE(hear().lost.empty());
}

}  // namespace
}  // namespace fci::ucx::test
