// SPDX-License-Identifier: BSD-3-Clause
// The farewell of a process to its peers: for what and how long it waits. Fed by hand, in virtual
// time.
#include "test/unit/drivers/tcp_connections.h"

namespace fci::tcp::test {
namespace {

struct TcpFarewell : TcpConnections {
    /// How long it takes.
    Nanoseconds say_goodbye() {
        const Nanoseconds began = system.time;
        testing::internal::CaptureStderr();
        connections.say_goodbye();
        said = testing::internal::GetCapturedStderr();
        return system.time - began;
    }
    [[nodiscard]] Nanoseconds passed() const { return system.time - 1 * kMs; }
    std::string said;
};

TEST_F(TcpFarewell, goodbye__takes_no_time_where_all_has_arrived) {
    EXPECT_EQ(say_goodbye(), 0);
    for (nhi::PeerId id = 1; id <= 3; ++id) {
        ASSERT_EQ(stream(id).sent.size(), sizeof kGoodbye);
        EXPECT_EQ(std::memcmp(stream(id).sent.data(), &kGoodbye, sizeof kGoodbye), 0);
        EXPECT_TRUE(stream(id).is_ended);
        EXPECT_FALSE(stream(id).is_ended_wholly);
    }
    EXPECT_TRUE(said.empty()) << said;
}

TEST_F(TcpFarewell, goodbye__waits_for_what_is_under_way) {
    stream(2).under_way = 8;
    stream(3).room = 3;
    stream(3).at_its_end = EAGAIN;
    system.meanwhile = [&] {
        if (system.pauses == 5) stream(3).room = SIZE_MAX;
        if (system.pauses == 20) stream(2).under_way = 0;
    };
    EXPECT_EQ(say_goodbye(), 20 * kMs / 10);
    EXPECT_EQ(stream(3).sent.size(), sizeof kGoodbye);
    EXPECT_TRUE(said.empty()) << said;
}

/// Looking that often would cost those who compute beside it.
TEST_F(TcpFarewell, goodbye__looks_less_often_after_a_while) {
    stream(2).under_way = 8;
    system.meanwhile = [&] {
        if (system.pauses == 110) stream(2).under_way = 0;
    };
    EXPECT_EQ(say_goodbye(), 10 * kMs + 10 * kMs);
}

TEST_F(TcpFarewell, goodbye__a_peer_that_ended_is_not_waited_for) {
    stream(1).under_way = stream(2).under_way = 8;
    bring(1, FrameKind::goodbye);
    stream(2).at_its_end = ECONNRESET;
    EXPECT_EQ(say_goodbye(), 0);
}

/// Bytes that are left unread would make the kernel throw away those that are unsent.
TEST_F(TcpFarewell, goodbye__reads_what_comes_meanwhile) {
    stream(1).under_way = 8;
    system.meanwhile = [&] {
        bring(1, FrameKind::transfer, 4);
        if (system.pauses == 3) stream(1).under_way = 0;
    };
    (void)say_goodbye();
    EXPECT_EQ(nowhere.events, 4u);
    EXPECT_TRUE(stream(1).here.empty());
}

TEST_F(TcpFarewell, goodbye__a_peer_that_takes_nothing_is_named_and_given_up_after_a_minute) {
    stream(2).room = 0;
    system.meanwhile = [&] { EXPECT_LT(passed(), 100 * kSecond); };
    const Nanoseconds took = say_goodbye();
    EXPECT_GE(took, 60 * kSecond);
    EXPECT_LT(took, 60 * kSecond + 2 * kMs);
    EXPECT_NE(said.find("closing waits for pid 102 at 127.0.0.1:4002, which does not take what was "
                        "sent to it"),
              std::string::npos)
        << said;
    EXPECT_EQ(std::ranges::count(said, '\n'), 1) << said;
    EXPECT_FALSE(stream(2).is_ended) << "not all has gone";
}

TEST_F(TcpFarewell, goodbye__nothing_is_said_before_three_seconds) {
    stream(2).under_way = 8;
    const Nanoseconds began = system.time;
    system.meanwhile = [&] {
        if (system.time >= began + 3 * kSecond) stream(2).under_way = 0;
    };
    (void)say_goodbye();
    EXPECT_TRUE(said.empty()) << said;
}

TEST_F(TcpFarewell, goodbye__after_three_seconds_something_is_said) {
    stream(2).under_way = 8;
    const Nanoseconds began = system.time;
    system.meanwhile = [&] {
        if (system.time > began + 3 * kSecond) stream(2).under_way = 0;
    };
    (void)say_goodbye();
    EXPECT_FALSE(said.empty());
}

/// It is looked at each half second, and after 10 s that are owed it is over.
TEST_F(TcpFarewell, goodbye__a_silent_host_is_given_up_as_ever) {
    stream(2).has_sign = true;
    stream(2).under_way = 8;
    const Nanoseconds began = system.time;
    stream(2).sign = {true, 0};
    system.meanwhile = [&] { stream(2).sign = {true, system.time - began}; };
    const Nanoseconds took = say_goodbye();
    EXPECT_EQ(took, 10 * kSecond);
    EXPECT_EQ(stream(2).signs, 20u);
}

/// Where the user bears more, so does this.
TEST_F(TcpFarewell, goodbye__lasts_twice_as_long_as_silence_is_borne) {
    Connections patient(peers, system, notices, nowhere, 40 * kSecond);
    const nhi::PeerId id = peers.add({AF_INET, htons(4444), htonl(INADDR_LOOPBACK), 99});
    peers[id].peer = std::make_unique<Peer>();
    patient.reserve(1);
    const int number = system.add({});
    patient.add(id, tcp::Stream(system, number));
    system.at(number).room = 0;
    const Nanoseconds began = system.time;
    testing::internal::CaptureStderr();
    patient.say_goodbye();
    (void)testing::internal::GetCapturedStderr();
    EXPECT_GE(system.time - began, 80 * kSecond);
    EXPECT_LT(system.time - began, 80 * kSecond + 2 * kMs);
}

TEST_F(TcpFarewell, close__in_a_child_of_fork_nothing_is_said) {
    write(1);
    stream(1).sent.clear();
    connections.close();
    EXPECT_EQ(connections.size(), 0u);
    for (nhi::PeerId id = 1; id <= 3; ++id) {
        EXPECT_FALSE(stream(id).is_open);
        EXPECT_TRUE(stream(id).sent.empty());
        EXPECT_EQ(peers[id].state(), PeerState::attached);
    }
    connections.flush(system.time);
    EXPECT_TRUE(connections.is_idle());
}

}  // namespace
}  // namespace fci::tcp::test
