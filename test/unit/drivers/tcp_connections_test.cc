// SPDX-License-Identifier: BSD-3-Clause
// The connections of a process: bursts, what is refused, hosts that fall silent, and how peers end.
// Fed by hand, in virtual time.
#include "test/unit/drivers/tcp_connections.h"

namespace fci::tcp::test {
namespace {

constexpr Nanoseconds kBurst = 20'000;

// --- out ---

TEST_F(TcpConnections, write__soon_after_another_one_is_a_burst) {
    connections.flush(system.time);
    write(1);
    EXPECT_EQ(stream(1).corks, 0u) << "the first one goes at once";
    system.time += kBurst - 1;
    write(1);
    EXPECT_TRUE(stream(1).is_corked);
    system.time += kBurst - 1;
    write(1);
    EXPECT_TRUE(stream(1).is_corked);
    write(2);
    EXPECT_FALSE(stream(2).is_corked) << "each peer has its own";
    system.time += kBurst;
    write(1);
    EXPECT_FALSE(stream(1).is_corked) << "it computed meanwhile";
}

TEST_F(TcpConnections, write__a_burst_begins_when_the_process_polled_last) {
    connections.flush(system.time);
    write(1);
    system.time += kBurst;
    write(1);
    EXPECT_EQ(stream(1).corks, 0u);
    system.time += 1;
    write(1);
    EXPECT_TRUE(stream(1).is_corked);
    connections.flush(system.time);
    EXPECT_FALSE(stream(1).is_corked);
    write(1);
    EXPECT_FALSE(stream(1).is_corked) << "of the next one the first";
    write(1);
    EXPECT_TRUE(stream(1).is_corked);
}

/// A process that sleeps wakes up when there is room again, and then no more for that.
TEST_F(TcpConnections, write__what_is_refused_is_watched_until_it_has_gone) {
    stream(1).room = 0;
    write(1);
    EXPECT_EQ(stream(1).interests, Streams::kIn | Streams::kOut);
    EXPECT_EQ(stream(1).name.detail, 1u);
    EXPECT_FALSE(connections.is_idle());
    write(1);
    connections.flush(system.time);
    EXPECT_EQ(stream(1).interests, Streams::kIn | Streams::kOut);
    EXPECT_EQ(stream(1).watches, 2u) << "once for that";
    EXPECT_FALSE(connections.is_idle());
    write(2);
    stream(1).room = SIZE_MAX;
    connections.flush(system.time);
    EXPECT_EQ(stream(1).interests, unsigned{Streams::kIn});
    EXPECT_TRUE(connections.is_idle());
    stream(1).room = 0;
    write(1);
    EXPECT_EQ(stream(1).interests, Streams::kIn | Streams::kOut) << "a second time";
    EXPECT_FALSE(connections.is_idle());
}

/// It waits for the next turn, and only where that finds no room for room.
TEST_F(TcpConnections, write__what_may_wait_is_watched_where_it_is_refused_later) {
    nhi::Transfer transfer(1);
    transfer.put(nhi::LcsAddress{0}, memory.data(), 8).let_wait();
    connections.reserve(1, transfer);
    connections.write(1, transfer);
    EXPECT_FALSE(connections.is_idle());
    EXPECT_EQ(stream(1).interests, unsigned{Streams::kIn});
    stream(1).room = 0;
    connections.flush(system.time);
    EXPECT_EQ(stream(1).interests, Streams::kIn | Streams::kOut);
    stream(1).room = SIZE_MAX;
    connections.flush(system.time);
    EXPECT_TRUE(connections.is_idle());
    EXPECT_FALSE(stream(1).sent.empty());
}

TEST_F(TcpConnections, write__data_are_watched_and_felt_as_well) {
    stream(1).room = 0;
    connections.reserve_for_data(1);
    connections.write(1, nhi::Data{7, 0, 1000}, memory.data(), 0);
    EXPECT_EQ(stream(1).interests, Streams::kIn | Streams::kOut);
    EXPECT_FALSE(connections.is_idle());
    EXPECT_NE(connections.due(), 0);
    connections.keep_data();
    EXPECT_FALSE(connection(1).borrows());
}

// --- silence ---

/// One look each half second while something is under way.
TEST_F(TcpConnections, tend__a_silent_host_ends_it_with_a_sentence) {
    EXPECT_EQ(connections.due(), 0);
    const Nanoseconds began = system.time;
    for (nhi::PeerId id = 1; id <= 2; ++id) {
        stream(id).has_sign = true;
        write(id);
        stream(id).under_way = 8;
    }
    EXPECT_EQ(connections.due(), began + 500 * kMs);
    for (Nanoseconds now = began + 500 * kMs; connection(1).stream() >= 0; now += 500 * kMs) {
        ASSERT_LT(now, began + 20 * kSecond);
        system.time = now;
        stream(1).sign = {true, now - began};
        stream(2).sign = {true, 0};  // it answers
        connections.tend(now - 1);
        ASSERT_FALSE(peers[1].state() != PeerState::attached) << "before it is due";
        connections.tend(now);
        EXPECT_EQ(connections.due(), now + 500 * kMs);
        if (peers[1].state() != PeerState::attached) break;
    }
    EXPECT_EQ(system.time, began + 10 * kSecond);
    EXPECT_EQ(peers[1].state(), PeerState::ending);
    EXPECT_FALSE(stream(1).is_open);
    EXPECT_EQ(system.rings, 1u);
    const ddi::Notice told = notice();
    EXPECT_EQ(told.id, 1u);
    EXPECT_EQ(told.why, Status::lost);
    EXPECT_EQ(told.reason,
              "pid 101 at 127.0.0.1:4001: its host has not answered for 10 s "
              "(FCI_SILENCE_MS); is it down, or cut off?");
    EXPECT_EQ(peers[2].state(), PeerState::attached);
}

TEST_F(TcpConnections, tend__is_not_due_where_all_has_arrived) {
    stream(1).has_sign = stream(2).has_sign = true;
    write(1);
    write(2);
    stream(2).under_way = 8;
    system.time = connections.due();
    connections.tend(system.time);
    EXPECT_EQ(connections.due(), system.time + 500 * kMs) << "for the second one";
    stream(2).under_way = 0;
    system.time = connections.due();
    connections.tend(system.time);
    EXPECT_EQ(connections.due(), 0);
    write(1);
    EXPECT_EQ(connections.due(), system.time + 500 * kMs) << "each is felt anew";
    connections.close();
    EXPECT_EQ(connections.due(), 0);
    EXPECT_FALSE(stream(1).is_open);
}

/// A process that writes to one peer or another all the time puts no look off.
TEST_F(TcpConnections, due__is_not_moved_by_another_write) {
    const Nanoseconds began = system.time;
    write(1);
    system.time += 400 * kMs;
    write(2);
    EXPECT_EQ(connections.due(), began + 500 * kMs);
}

// --- in ---

TEST_F(TcpConnections, read__tells_how_a_peer_ended) {
    EXPECT_EQ(connections.read(1), 0u);
    bring(1, FrameKind::transfer, 2);
    EXPECT_EQ(connections.read(1), 1u);
    EXPECT_EQ(nowhere.events, 2u);
    EXPECT_TRUE(notices.empty());
    bring(1, FrameKind::goodbye);
    EXPECT_EQ(connections.read(1), 1u);
    ddi::Notice told = notice();
    EXPECT_EQ(told.why, Status::not_found);
    EXPECT_EQ(told.reason, "pid 101 at 127.0.0.1:4001 has closed its connection");
    bring(2, FrameKind{99});
    EXPECT_EQ(connections.read(2), 1u);
    told = notice();
    EXPECT_EQ(told.why, Status::lost);
    EXPECT_NE(told.reason.find("4002: it sent what is no frame"), std::string::npos);
    bring(3, FrameKind::loss, 5);
    EXPECT_EQ(connections.read(3), 1u);
    stream(3).at_its_end = 0;
    EXPECT_EQ(connections.read(3), 1u);
    told = notice();
    EXPECT_EQ(told.id, 3u);
    EXPECT_EQ(told.why, Status::lost);
    EXPECT_NE(told.reason.find("it had lost rank 5"), std::string::npos);
    EXPECT_EQ(peers[3].peer->loss, 5);
    EXPECT_EQ(peers[2].peer->loss, -1);
    EXPECT_EQ(connections.size(), 0u);
}

TEST_F(TcpConnections, read_all__of_those_that_are_attached) {
    peers[2].peer->state = PeerState::joined;
    for (nhi::PeerId id = 1; id <= 3; ++id) bring(id, FrameKind::transfer, 1u << id);
    EXPECT_EQ(connections.read_all(), 2u);
    EXPECT_EQ(nowhere.events, 2u | 8u);
    // Those that end while it goes over them.
    for (nhi::PeerId id = 1; id <= 3; ++id) stream(id).at_its_end = 0;
    EXPECT_EQ(connections.read_all(), 2u);
    EXPECT_EQ(connections.size(), 1u);
}

TEST_F(TcpConnections, waits__since_the_last_look_where_data_are_early) {
    struct Early final : nhi::DataTarget {
        bool expects(nhi::PeerId) const noexcept override { return true; }
        bool is_early(nhi::PeerId, const nhi::Data&) const noexcept override { return is; }
        std::byte* locate(nhi::PeerId, const nhi::Data&) noexcept override { return bytes; }
        bool arrived(nhi::PeerId, const nhi::Data&) noexcept override { return true; }
        bool is = true;
        std::byte bytes[100];
    } early;
    nowhere.target = &early;
    Stream frames;
    data(&frames, {7, 0, 100}, 100);
    stream(1).here = frames;
    (void)connections.read(1);
    EXPECT_TRUE(connections.waits());
    (void)connections.read(2);
    EXPECT_TRUE(connections.waits());
    connections.look_again();
    EXPECT_FALSE(connections.waits());
    early.is = false;
    (void)connections.read(1);
    EXPECT_FALSE(connections.waits());
}

/// The notes about a connection that has ended are forgotten.
TEST_F(TcpConnections, end__of_one_for_which_something_waits) {
    stream(1).room = 0;
    write(1);
    write(2);
    stream(1).at_its_end = ECONNRESET;
    EXPECT_EQ(connections.read(1), 1u);
    EXPECT_TRUE(connections.is_idle());
    connections.flush(system.time);
    system.time = connections.due();
    connections.tend(system.time);
    EXPECT_EQ(connections.size(), 2u);
}

// --- all of them ---

TEST_F(TcpConnections, set_quiet__all_that_are_there_and_no_new_ones) {
    connections.set_quiet(true);
    for (nhi::PeerId id = 1; id <= 3; ++id) EXPECT_GT(stream(id).tells_from, 1);
    add();
    for (nhi::PeerId id = 1; id <= 4; ++id) EXPECT_EQ(stream(id).tells_from, 1);
    connections.set_quiet(true);
    EXPECT_GT(stream(4).tells_from, 1);
    connections.set_quiet(false);
    EXPECT_EQ(stream(1).tells_from, 1);
}

TEST_F(TcpConnections, add__is_not_read_before_the_listener_knows_of_it) {
    const nhi::PeerId id = peers.add({AF_INET, htons(4444), htonl(INADDR_LOOPBACK), 99});
    peers[id].peer = std::make_unique<Peer>();
    peers[id].peer->state = PeerState::joined;
    connections.reserve(1);
    const int number = system.add({});
    system.watch(number, Streams::Source::caller, 4, Streams::kIn);
    connections.add(id, tcp::Stream(system, number));
    EXPECT_FALSE(system.at(number).is_watched);
    EXPECT_EQ(connections.size(), 4u);
}

TEST_F(TcpConnections, tell_of_loss__all_that_are_attached) {
    peers[2].peer->state = PeerState::joined;
    stream(3).room = 3;
    connections.tell_of_loss(5);
    ASSERT_EQ(stream(1).sent.size(), sizeof(FrameHead));
    FrameHead said{};
    std::memcpy(&said, stream(1).sent.data(), sizeof said);
    EXPECT_EQ(said.kind, FrameKind::loss);
    EXPECT_EQ(said.events, 5u);
    EXPECT_TRUE(stream(2).sent.empty());
    EXPECT_FALSE(connections.is_idle());
    stream(3).room = SIZE_MAX;
    connections.flush(system.time);
    EXPECT_EQ(stream(3).sent.size(), sizeof(FrameHead));
}

}  // namespace
}  // namespace fci::tcp::test
