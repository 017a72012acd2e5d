// SPDX-License-Identifier: BSD-3-Clause
// Verdicts of two processes about the way between them, and peers that go by TCP.
#include "test/unit/drivers/ucx_meetings.h"

namespace fci::ucx::test {
namespace {

struct ucx_verdict : ucx_meeting {
    /// The peer's hello, with what it finds.
    void say_of(Verdict verdict, nhi::PeerId id = kId) {
        Hello hello = hello_of_peer();
        hello.verdict = verdict;
        say(hello, id);
    }
    /// All is well as far as this process knows.
    void find_way() {
        begin();
        say_of(Verdict::unknown);
        hear_first();
        meeting.tend(kBegin);
    }
};

TEST_F(ucx_verdict, works__if_both_say_so) {
    find_way();
    EXPECT_EQ(said().verdict, Verdict::works);
    EXPECT_TRUE(goes_on());
    meeting.tend(kBegin + 100 * kLimit);
    EXPECT_TRUE(goes_on()) << "TCP tells of a peer that never says it";
    EXPECT_EQ(tcp.transfers, 2u) << "the hello, and the verdict once";
    EXPECT_EQ(said().key, peer().key) << "the rest is as it was";
    say_of(Verdict::works);
    meeting.tend(kBegin);
    expect_joined();
    EXPECT_FALSE(peer().is_by_tcp);
}

TEST_F(ucx_verdict, works__is_said_later_where_tcp_has_no_room) {
    begin();
    say_of(Verdict::works);
    meeting.tend(kBegin);
    hear_first();
    tcp.transfer_answer = Status::again;
    meeting.tend(kBegin);
    EXPECT_TRUE(goes_on());
    EXPECT_EQ(said().verdict, Verdict::unknown);
    tcp.transfer_answer = Status::ok;
    meeting.tend(kBegin);
    EXPECT_EQ(said().verdict, Verdict::works);
    expect_joined();
}

TEST_F(ucx_verdict, fails__if_the_peer_finds_no_way) {
    find_way();
    say_of(Verdict::fails);
    meeting.tend(kBegin);
    EXPECT_EQ(failure(), "it finds no way to this process");
    EXPECT_EQ(said().verdict, Verdict::works) << "it is said once";
}

/// Before this process has found one.
TEST_F(ucx_verdict, fails__at_once_if_the_peer_has_said_so) {
    begin();
    say_of(Verdict::fails);
    meeting.tend(kBegin);
    EXPECT_EQ(failure(), "it finds no way to this process");
    EXPECT_EQ(said().verdict, Verdict::fails);
}

TEST_F(ucx_verdict, fails__if_the_peer_says_another_number) {
    find_way();
    say_of(static_cast<Verdict>(77));
    meeting.tend(kBegin);
    EXPECT_EQ(failure(), "it finds no way to this process");
}

TEST_F(ucx_verdict, fails__is_said_later_where_tcp_has_no_room) {
    begin();
    meeting.tend(kBegin);
    tcp.transfer_answer = Status::again;
    meeting.tend(kBegin + kLimit);
    EXPECT_TRUE(goes_on());
    tcp.transfer_answer = Status::lost;
    meeting.tend(kBegin + kLimit);
    EXPECT_EQ(failure(), "no answer");
}

TEST_F(ucx_verdict, peer__without_ucx_has_no_way) {
    tcp.at(kId).tail_bytes = 0;
    begin();
    EXPECT_EQ(failure(), "it has none");
    EXPECT_EQ(tcp.transfers, 0u);
}

TEST_F(ucx_verdict, peer__without_room_for_a_hello_has_no_way) {
    tcp.at(kId).tail_bytes = kTail - 1;
    begin();
    EXPECT_EQ(failure(), "it has none");
}

// --- a peer that has ended ---

TEST_F(ucx_verdict, end__of_one_that_had_met_this_process) {
    find_way();
    say_of(Verdict::works);
    meeting.end(kId);
    EXPECT_EQ(peer().state, PeerState::joined);
    EXPECT_EQ(hear().attached, std::vector<nhi::PeerId>{kId});
    meeting.tend(kBegin);
    meeting.end(kId);
    EXPECT_FALSE(meeting.is_busy());
    EXPECT_TRUE(hear().attached.empty()) << "once";
}

TEST_F(ucx_verdict, end__of_one_that_had_not) {
    meeting.end(kId);
    find_way();
    meeting.end(kId);
    EXPECT_EQ(peer().state, PeerState::connecting);
    say_of(Verdict::fails);
    meeting.end(kId);
    EXPECT_EQ(peer().state, PeerState::connecting);
    EXPECT_TRUE(hear().attached.empty());
}

TEST_F(ucx_verdict, end__of_one_before_this_process_has_found_its_way) {
    begin();
    say_of(Verdict::works);
    meeting.tend(kBegin);
    meeting.end(kId);
    EXPECT_EQ(peer().state, PeerState::connecting);
}

// --- peers by TCP ---

struct ucx_or_tcp : ucx_verdict {
    static constexpr std::size_t kRoom = 4096;
    ucx_or_tcp() {
        for (const nhi::PeerId id : {1, 2}) {
            tcp.at(id).here->resize(kRoom + kTail);
            tcp.at(id).there->resize(kRoom + kTail);
        }
    }
    void start(nhi::PeerId id = kId) {
        tcp.at(id).is_met = true;
        beside.begin(id);
    }
    void expect_by_tcp(std::size_t room, nhi::PeerId id = kId) {
        EXPECT_EQ(hear().attached, std::vector<nhi::PeerId>{id});
        EXPECT_EQ(peer(id).state, PeerState::joined);
        EXPECT_TRUE(peer(id).is_by_tcp);
        EXPECT_EQ(peer(id).way, nullptr);
        EXPECT_EQ(peer(id).block_bytes, room);
    }
    Meeting beside{peers, *near.road, tcp, notices, kBlock, kLimit, true};
};

TEST_F(ucx_or_tcp, peer__with_ucx_goes_by_it) {
    start();
    say_of(Verdict::works);
    beside.tend(kBegin);
    hear_first();
    beside.tend(kBegin);
    EXPECT_EQ(said().verdict, Verdict::works) << "at the end of the block";
    EXPECT_EQ(said().block_bytes, kBlock);
    EXPECT_EQ(hear().attached, std::vector<nhi::PeerId>{kId});
    EXPECT_FALSE(peer().is_by_tcp);
    EXPECT_TRUE(std::ranges::all_of(std::span(*tcp.at(kId).there).first(kRoom),
                                    [](std::byte each) { return each == std::byte{}; }));
}

TEST_F(ucx_or_tcp, peer__without_ucx_goes_by_tcp) {
    tcp.at(kId).tail_bytes = 0;
    tcp.at(kId).there->resize(kRoom);
    testing::internal::CaptureStderr();
    start();
    EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
    EXPECT_FALSE(beside.is_busy());
    expect_by_tcp(kRoom);
    EXPECT_EQ(tcp.transfers, 0u);
}

TEST_F(ucx_or_tcp, peer__without_room_for_a_hello_goes_by_tcp) {
    tcp.at(kId).tail_bytes = kTail - 1;
    start();
    expect_by_tcp(kRoom + 1);
}

/// And the user hears why, once.
TEST_F(ucx_or_tcp, peer__that_is_not_reached_goes_by_tcp) {
    testing::internal::CaptureStderr();
    start();
    say_of(Verdict::unknown);
    beside.tend(kBegin);
    ASSERT_NE(peer().way, nullptr);
    beside.tend(kBegin + kLimit);
    EXPECT_EQ(said().verdict, Verdict::fails);
    EXPECT_TRUE(ucx.last_endpoint().is_closed);
    expect_by_tcp(kRoom);
    start(2);
    say_of(Verdict::fails, 2);
    beside.tend(kBegin);
    expect_by_tcp(kRoom, 2);
    EXPECT_EQ(testing::internal::GetCapturedStderr(),
              "fci: peer 1 is reached by TCP, and others may be: it has UCX, as this process has, "
              "but there is no way by it (no answer); UCX_NET_DEVICES and UCX_TLS choose one, "
              "FCI_FAR=tcp goes without\n");
}

TEST_F(ucx_or_tcp, peer__that_finds_no_way_goes_by_tcp) {
    start();
    say_of(Verdict::unknown);
    hear_first();
    beside.tend(kBegin);
    EXPECT_EQ(said().verdict, Verdict::works);
    say_of(Verdict::fails);
    testing::internal::CaptureStderr();
    beside.tend(kBegin);
    EXPECT_NE(testing::internal::GetCapturedStderr().find("(it finds no way to this process)"),
              std::string::npos);
    expect_by_tcp(kRoom);
}

/// It went by TCP, and has sent all before it ended.
TEST_F(ucx_or_tcp, end__of_one_that_found_no_way) {
    start();
    say_of(Verdict::fails);
    beside.end(kId);
    expect_by_tcp(kRoom);
    beside.tend(kBegin);
    EXPECT_FALSE(beside.is_busy());
}

}  // namespace
}  // namespace fci::ucx::test
