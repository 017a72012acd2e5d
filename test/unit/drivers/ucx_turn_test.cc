// SPDX-License-Identifier: BSD-3-Clause
// Turns of the ucx driver: how it opens, when it looks at TCP, and what its listener hears.
#include "drivers/ucx/turn.h"

#include <fcntl.h>

#include <algorithm>

#include "test/unit/drivers/ucx_stations.h"

namespace fci::ucx::test {
namespace {

// --- opening and closing ---

/// Nothing comes.
struct Nowhere final : Arrivals {
    void frame_came(std::span<const std::byte>) noexcept override { ADD_FAILURE(); }
    bool data_came(std::span<const std::byte>, const Load&) noexcept override { return false; }
    void fetched(nhi::PeerId, bool) noexcept override { ADD_FAILURE(); }
    void gave_back() noexcept override { ADD_FAILURE(); }
    unsigned look() noexcept override { return 0; }
    [[nodiscard]] bool waits() const noexcept override { return false; }
};

struct ucx_turn_open : testing::Test {
    ~ucx_turn_open() override {
        turn.reset();
        EXPECT_EQ(ucx.mistakes(), Texts());
    }
    Status open() {
        turn = std::make_unique<Turn>(peers, tcp);
        return turn->open(ucx.library(), nowhere, station_settings(), &error);
    }
    UcxInMemory ucx;
    HandTcp tcp;
    Peers peers;
    Nowhere nowhere;
    std::unique_ptr<Turn> turn;
    std::string error;
};

TEST_F(ucx_turn_open, open__hears_tcp_until_its_end) {
    EXPECT_EQ(open(), Status::ok) << error;
    EXPECT_NE(tcp.listener(), nullptr);
    EXPECT_EQ(&turn->tcp(), &tcp);
    EXPECT_GE(turn->fd(), 0);
    EXPECT_FALSE(is_readable(turn->fd()));
    turn.reset();
    EXPECT_EQ(tcp.listener(), nullptr);
}

TEST_F(ucx_turn_open, open__keeps_its_descriptors_from_programs_that_are_started) {
    std::vector<int> before;
    const auto for_each_open = [](auto act) {
        for (int fd = 0; fd < 1024; ++fd) {
            if (const int flags = fcntl(fd, F_GETFD); flags >= 0) act(fd, flags);
        }
    };
    for_each_open([&](int fd, int) { before.push_back(fd); });
    ASSERT_EQ(open(), Status::ok) << error;
    unsigned made = 0;
    for_each_open([&](int fd, int flags) {
        if (std::ranges::find(before, fd) != before.end()) return;
        ++made;
        EXPECT_NE(flags & FD_CLOEXEC, 0) << fd;
    });
    EXPECT_EQ(made, 3u) << "of UCX in memory, of the sleep, and the bell";
}

TEST_F(ucx_turn_open, open__where_ucx_cannot) {
    ucx.worker_answer = UCS_ERR_NO_MEMORY;
    EXPECT_EQ(open(), Status::unsupported);
    EXPECT_EQ(error, "UCX 1.99.7 cannot make a worker: Out of memory");
    turn->close();
}

TEST_F(ucx_turn_open, open__with_an_address_as_long_as_can_be_told) {
    ucx.address_bytes = kAddressMost;
    EXPECT_EQ(open(), Status::ok) << error;
    ucx.address_bytes = kAddressMost + 1;
    EXPECT_EQ(open(), Status::unsupported);
    EXPECT_EQ(error, "UCX's address of this process has 16345 bytes, 16344 can be told; "
                     "UCX_NET_DEVICES names fewer devices");
}

TEST_F(ucx_turn_open, open__without_a_descriptor_to_sleep_on) {
    tcp.has_event = false;
    EXPECT_EQ(open(), Status::exhausted);
    EXPECT_EQ(error, "no descriptor left: Bad file descriptor");
}

TEST_F(ucx_turn_open, abandon__leaves_all_to_the_parent) {
    ASSERT_EQ(open(), Status::ok);
    turn->abandon();
    const unsigned turns = ucx.last_worker().turns;
    turn->close();
    EXPECT_EQ(ucx.last_worker().turns, turns);
    turn.reset();
    EXPECT_TRUE(ucx.last_worker().is_there);
    ucx.forgive();
}

// --- when TCP is looked at ---

struct ucx_turn : ucx_stations {};

TEST_F(ucx_turn, poll__looks_at_tcp_after_a_while) {
    const auto looks_at = [&](Nanoseconds time) {
        const unsigned before = one->tcp.polls;
        (void)one->turn.poll(time);
        return one->tcp.polls - before;
    };
    EXPECT_EQ(looks_at(kSecond), 1u);
    EXPECT_EQ(looks_at(kSecond), 0u);
    EXPECT_EQ(looks_at(kSecond + 99'999), 0u);
    EXPECT_EQ(looks_at(kSecond + 100'000), 1u);
    EXPECT_EQ(looks_at(kSecond + 199'999), 0u) << "after the last look";
    EXPECT_EQ(looks_at(kSecond + 99'999), 1u) << "a clock that goes back";
    EXPECT_EQ(looks_at(0), 1u);
    EXPECT_EQ(one->worker->turns, 7u) << "UCX has its turn each time";
}

TEST_F(ucx_turn, poll__looks_at_tcp_each_time_while_a_peer_is_called) {
    (void)one->poll();
    one->turn.begin_call(1);
    one->turn.begin_call(2);
    const auto looks = [&](Station& at) {
        const unsigned before = at.tcp.polls;
        for (unsigned i = 0; i < 3; ++i) (void)at.turn.poll(at.tcp.time);
        return at.tcp.polls - before;
    };
    EXPECT_EQ(looks(*one), 3u);
    one->tcp.lose(2, Status::unreachable, "it is not there");
    EXPECT_EQ(looks(*one), 3u);
    EXPECT_EQ(looks(*one), 3u) << "one is still called";
    one->tcp.meet(1);
    EXPECT_EQ(looks(*one), 3u);
    EXPECT_EQ(looks(*one), 3u) << "and now it is met";
    other->tcp.meet(1);
    turns();
    ASSERT_EQ(one->state(), PeerState::attached);
    EXPECT_EQ(looks(*one), 0u);
    EXPECT_EQ(looks(*other), 0u) << "which has called nobody";
    UcxInMemory::fail(ucx.last_endpoint(), UCS_ERR_ENDPOINT_TIMEOUT);
    (void)one->poll();
    (void)other->poll();
    EXPECT_EQ(looks(*one) + looks(*other), 3u) << "TCP may know why a way has broken";
}

TEST_F(ucx_turn, poll__looks_at_tcp_each_time_while_a_peer_leaves) {
    ASSERT_NO_FATAL_FAILURE(attach());
    say_farewell(*one, 99);
    one->tcp.lose(1, Status::not_found, "it has closed");
    (void)one->poll();
    const unsigned before = one->tcp.polls;
    for (unsigned i = 0; i < 3; ++i) (void)one->turn.poll(one->tcp.time);
    EXPECT_EQ(one->tcp.polls - before, 3u);
    EXPECT_TRUE(one->told.lost.empty());
}

/// One turn takes the news of TCP in, and does what follows of them.
TEST_F(ucx_turn, poll__says_hello_in_the_turn_that_hears_of_the_peer) {
    one->tcp.meet(1);
    (void)one->poll();
    EXPECT_EQ(one->tcp.transfers, 1u);
}

TEST_F(ucx_turn, poll__says_how_much_there_was) {
    EXPECT_EQ(one->poll(), 0u);
    const Bytes bytes(4);
    for (unsigned i = 0; i < 3; ++i) ucx.bring(*one->worker, bytes);
    one->tcp.strangers = 2;
    EXPECT_EQ(one->poll(), 5u);
    one->tcp.lose(1, Status::unreachable, "it is not there");
    EXPECT_EQ(one->poll(), 2u) << "TCP has told, and the listener was told";
}

// --- what the listener hears ---

TEST_F(ucx_turn, listener__hears_of_arrivals_and_ends) {
    ASSERT_NO_FATAL_FAILURE(attach());
    EXPECT_EQ(one->told.attached, std::vector<nhi::PeerId>{1});
    EXPECT_EQ(other->told.attached, std::vector<nhi::PeerId>{1});
    EXPECT_EQ(one->peer().give_up, 0);
    turns();
    EXPECT_EQ(one->told.attached.size(), 1u);
    one->tcp.lose(1, Status::lost, "it has died");
    turns();
    ASSERT_EQ(one->told.lost.size(), 1u);
    EXPECT_EQ(one->told.lost[0].id, 1u);
    EXPECT_EQ(one->told.lost[0].why, Status::lost);
    EXPECT_EQ(one->told.lost[0].reason, "it has died");
    EXPECT_EQ(one->state(), PeerState::lost);
    EXPECT_EQ(one->peer().way, nullptr);
    EXPECT_TRUE(there->is_closed);
    EXPECT_FALSE(back->is_closed);
}

/// The peer has taken this process for a peer, and closes before this one looks again.
TEST_F(ucx_turn, listener__hears_of_an_arrival_that_tcp_tells_of_with_the_end) {
    meet_but_for_one_turn();
    ASSERT_EQ(one->state(), PeerState::connecting);
    ASSERT_EQ(other->state(), PeerState::attached);
    EXPECT_EQ(put(*other, 0, "a"), Status::ok);
    say_farewell(*one, other->peer().sent);
    one->tcp.lose(1, Status::not_found, "it has closed");
    for (unsigned i = 0; i < 3; ++i) (void)one->poll();
    EXPECT_EQ(one->told.attached, std::vector<nhi::PeerId>{1});
    ASSERT_EQ(one->told.lost.size(), 1u);
    EXPECT_EQ(one->told.lost[0].reason, "it has closed");
    EXPECT_EQ(one->text(1, 0, 1), "a");
}

/// TCP tells of the end while the arrival waits for the listener.
TEST_F(ucx_turn, listener__hears_of_an_arrival_before_the_end) {
    meet_but_for_one_turn();
    one->turn.sleep(-1);
    ASSERT_EQ(one->state(), PeerState::joined);
    say_farewell(*one, 99);
    one->tcp.lose(1, Status::not_found, "it has closed");
    (void)one->poll();
    EXPECT_EQ(one->told.attached.size(), 1u);
    EXPECT_EQ(one->state(), PeerState::ending);
    for (unsigned i = 0; i < 3; ++i) (void)one->poll();
    EXPECT_TRUE(one->told.lost.empty()) << "its frames may still come";
    one->tcp.time += kSecond;
    (void)one->poll();
    ASSERT_EQ(one->told.lost.size(), 1u);
    EXPECT_EQ(one->told.lost[0].reason, "it has closed");
    EXPECT_EQ(one->state(), PeerState::lost);
}

TEST_F(ucx_turn, listener__hears_of_strangers) {
    one->tcp.strangers = 2;
    (void)one->poll();
    EXPECT_EQ(one->told.strangers, 2u);
    (void)one->poll();
    EXPECT_EQ(one->told.strangers, 2u);
    one->turn.set_listener(nullptr);
    one->tcp.strangers = 1;
    (void)one->poll();
    one->turn.set_listener(&one->told);
    (void)one->poll();
    EXPECT_EQ(one->told.strangers, 2u) << "nobody listened";
}

TEST_F(ucx_turn, meeting__that_fails_closes_the_way) {
    ucx.like.flush_answer = UCS_INPROGRESS;
    meet_by_tcp();
    turns(3);
    ASSERT_EQ(ucx.endpoints.size(), 2u);
    one->tcp.time += 10 * kSecond;
    turns(1);
    ASSERT_EQ(one->told.lost.size(), 1u);
    EXPECT_EQ(one->told.lost[0].why, Status::unreachable);
    EXPECT_NE(one->told.lost[0].reason.find("(no answer)"), std::string::npos);
    EXPECT_EQ(one->state(), PeerState::lost);
    EXPECT_EQ(one->peer().way, nullptr);
}

}  // namespace
}  // namespace fci::ucx::test
