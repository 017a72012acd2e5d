// SPDX-License-Identifier: BSD-3-Clause
// Processes on one host and on several, all of them objects of this program. Their hosts are
// 127.0.0.2, 127.0.0.3, ..., each with a mark of its own.
#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <poll.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "drivers/node/node.h"
#include "drivers/shm/shm.h"
#include "drivers/tcp/tcp.h"
#include "fci_core/base/clock.h"
#include "test/unit/limit.h"

namespace fci::node {
namespace {

std::uint32_t address(unsigned host) { return htonl(0x7f000002 + host); }

Host host_of(unsigned host, host::Mark mark) {
    return {mark, [host](const ddi::Card& card) { return card.host == address(host); }};
}

ddi::Settings settings_of(unsigned host) {
    ddi::Settings settings;
    settings.block_bytes = 16 * 1024;
    settings.layout_digest = 5;
    settings.job = 6;
    settings.communication_bytes = 4096;
    settings.wanted.host = address(host);
    settings.connect_ms = 200;
    settings.answers_typed = true;
    return settings;
}

struct Member final : ddi::PeerListener {
    /// `mark` 0: as its host has it.
    explicit Member(unsigned host, host::Mark mark = 0) {
        if (mark == 0) mark = static_cast<host::Mark>(host + 1);
        take(open_node(settings_of(host), host_of(host, mark), &status, &error));
    }
    explicit Member(std::unique_ptr<ddi::Device> opened) { take(std::move(opened)); }
    void take(std::unique_ptr<ddi::Device> opened) {
        device = std::move(opened);
        if (device) device->set_listener(this);
    }
    void peer_attached(nhi::PeerId id) override { attached.push_back(id); }
    void peer_lost(nhi::PeerId id, Status why, const std::string& reason) override {
        lost.push_back(id);
        whys.push_back(why);
        reasons.push_back(reason);
    }
    void stranger_came() noexcept override { ++strangers; }
    nhi::PeerId meet(const ddi::Card& card) {
        nhi::PeerId id = nhi::kNoPeer;
        EXPECT_EQ(device->add_peer(card, &id), Status::ok);
        EXPECT_EQ(device->connect(id), Status::ok);
        return id;
    }
    nhi::Link link(nhi::PeerId id) { return device->network().link(id); }
    void turn() { device->network().poll(device->now()); }

    std::unique_ptr<ddi::Device> device;
    std::vector<nhi::PeerId> attached, lost;
    std::vector<Status> whys;
    std::vector<std::string> reasons;
    unsigned strangers = 0;
    Status status = Status::ok;
    std::string error;
};

bool turn_until(std::vector<Member*> members, const std::function<bool()>& reached) {
    for (Limit limit("what is waited for"); limit.holds();) {
        if (reached()) return true;
        for (Member* member : members) member->turn();
    }
    return false;
}

TEST(Node, connect__by_memory_in_a_host_and_by_tcp_between) {
    Member a(0), b(0), c(1);
    ASSERT_TRUE(a.device && b.device && c.device) << a.error << b.error << c.error;
    EXPECT_EQ(host::mark_of(a.device->card().incarnation), 1u);
    const nhi::PeerId near = a.meet(b.device->card()), far = a.meet(c.device->card());
    ASSERT_TRUE(turn_until({&a, &b, &c}, [&] {
        return a.attached.size() == 2 && b.attached.size() == 1 && c.attached.size() == 1;
    }));
    EXPECT_TRUE(a.link(near).same_host && a.link(near).mapped);
    EXPECT_FALSE(a.link(far).same_host || a.link(far).mapped);
    // Each is known everywhere by the card that it shows itself.
    for (Member* other : {&b, &c}) {
        const ddi::Card* const seen = other->device->card_of(other->attached[0]);
        EXPECT_TRUE(seen->same_place(a.device->card()));
        EXPECT_EQ(seen->incarnation, a.device->card().incarnation);
        nhi::PeerId again = nhi::kNoPeer;
        EXPECT_EQ(other->device->add_peer(a.device->card(), &again), Status::ok);
        EXPECT_EQ(again, other->attached[0]);
    }
    EXPECT_TRUE(a.device->card_of(near)->same_place(b.device->card()));
    nhi::PeerId self = nhi::kNoPeer;
    EXPECT_EQ(a.device->add_peer(a.device->card(), &self), Status::ok);
    EXPECT_EQ(self, nhi::kSelf);
}

// Docker gives both of two hosts 172.17.0.1; and of 300 hosts, two have the same mark.
TEST(Node, connect__neither_an_equal_address_nor_an_equal_mark_makes_a_host) {
    Member a(0, 7), same_address(0, 8), same_mark(1, 7);
    ASSERT_TRUE(a.device && same_address.device && same_mark.device);
    const nhi::PeerId ids[] = {a.meet(same_address.device->card()),
                               a.meet(same_mark.device->card())};
    ASSERT_TRUE(turn_until({&a, &same_address, &same_mark},
                           [&] { return a.attached.size() == 2 && !same_mark.attached.empty(); }));
    for (const nhi::PeerId id : ids) EXPECT_FALSE(a.link(id).same_host);
    EXPECT_EQ(same_mark.strangers, 0u);
}

TEST(Node, typed__an_address_of_this_host_is_reached_by_memory) {
    Member a(0), b(0), c(1);
    for (Member* other : {&b, &c}) {
        ddi::Card typed = other->device->card();
        typed.incarnation = 0;
        const nhi::PeerId id = a.meet(typed);
        ASSERT_TRUE(turn_until({&a, other}, [&] {
            return std::ranges::count(a.attached, id) == 1 && other->attached.size() == 1;
        }));
        EXPECT_EQ(a.link(id).same_host, other == &b);
        nhi::PeerId again = nhi::kNoPeer;
        EXPECT_EQ(a.device->add_peer(other->device->card(), &again), Status::ok);
        EXPECT_EQ(again, id);
    }
}

// A job on one host needs no more than shared memory; what it spawns on several may have both.
TEST(Node, connect__to_a_process_that_has_shared_memory_alone) {
    for (const bool calls : {true, false}) {
        ddi::Settings settings = settings_of(0);
        settings.wanted.host = 0;
        Status status;
        std::string error;
        Member both(open_node(settings, &status, &error));
        ASSERT_TRUE(both.device) << error;
        Member alone(shm::open_shm(settings, &status, &error));
        ASSERT_TRUE(alone.device) << error;
        (calls ? both : alone).meet((calls ? alone : both).device->card());
        ASSERT_TRUE(turn_until(
            {&both, &alone}, [&] { return !both.attached.empty() && !alone.attached.empty(); }));
        EXPECT_TRUE(both.link(both.attached[0]).same_host);
        nhi::PeerId again = nhi::kNoPeer;
        EXPECT_EQ(both.device->add_peer(alone.device->card(), &again), Status::ok);
        EXPECT_EQ(again, both.attached[0]);
        EXPECT_EQ(alone.device->add_peer(both.device->card(), &again), Status::ok);
        EXPECT_EQ(again, alone.attached[0]);
    }
}

// A process that says by its card to be near, and calls from afar, and the other way round.
TEST(Node, connect__by_the_wrong_network_is_a_stranger) {
    Member a(0, 7);
    ddi::Settings forged = settings_of(0);
    ASSERT_TRUE(host::draw_incarnation(7, &forged.incarnation));
    Status status;
    std::string error;
    Member by_tcp(tcp::open_tcp(forged, &status, &error));
    ASSERT_TRUE(by_tcp.device) << error;
    by_tcp.meet(a.device->card());
    ASSERT_TRUE(turn_until({&a, &by_tcp}, [&] { return a.strangers == 1; }));

    forged.wanted.host = htonl(INADDR_LOOPBACK);
    ASSERT_TRUE(host::draw_incarnation(8, &forged.incarnation));
    Member by_memory(shm::open_shm(forged, &status, &error));
    ASSERT_TRUE(by_memory.device) << error;
    ddi::Card card = a.device->card();
    card.host = htonl(INADDR_LOOPBACK);
    card.incarnation = 0;  // it would not go where that says that another host is
    by_memory.meet(card);
    ASSERT_TRUE(turn_until({&a, &by_memory}, [&] { return a.strangers == 2; }));
    EXPECT_TRUE(a.attached.empty());
    EXPECT_EQ(a.device->peers(), 1u);
    // Nor is anything said of it when it goes.
    by_tcp.device.reset();
    by_memory.device.reset();
    for (const Nanoseconds end = monotonic_now() + 20'000'000; monotonic_now() < end;) a.turn();
    EXPECT_TRUE(a.lost.empty());
}

// Somebody has the number there already.
TEST(Node, open__finds_a_place_that_is_free_on_both_sides) {
    std::vector<std::unique_ptr<Member>> all;
    for (unsigned i = 0; i < 50; ++i) {
        all.push_back(std::make_unique<Member>(i % 2));
        ASSERT_TRUE(all.back()->device) << all.back()->error;
    }
    ddi::Settings taken = settings_of(0);
    taken.wanted = all[0]->device->card();
    Status status = Status::ok;
    std::string error;
    EXPECT_EQ(open_node(taken, host_of(0, 1), &status, &error), nullptr);
    EXPECT_EQ(status, Status::exhausted);
    EXPECT_NE(error.find("TCP"), std::string::npos) << error;
    EXPECT_NE(error.find("another process has this port"), std::string::npos) << error;
}

TEST(Node, open__takes_one_of_the_ports_that_are_named) {
    const Member any(0);
    ddi::Settings some = settings_of(0);
    const unsigned free = ntohs(any.device->card().port);
    some.ports.first = static_cast<std::uint16_t>(free < 60'000 ? free : free - 2);
    some.ports.last = static_cast<std::uint16_t>(some.ports.first + 2);
    std::vector<std::unique_ptr<ddi::Device>> devices;
    Status status = Status::ok;
    std::string error;
    while (auto device = open_node(some, host_of(0, 1), &status, &error)) {
        const unsigned port = ntohs(device->card().port);
        EXPECT_TRUE(port >= some.ports.first && port <= some.ports.last) << port;
        devices.push_back(std::move(device));
    }
    EXPECT_LE(devices.size(), 2u) << "one of the three is not free";
    EXPECT_EQ(status, Status::exhausted);
    EXPECT_NE(error.find("no port of FCI_PORTS="), std::string::npos) << error;
}

TEST(Node, open__says_which_side_failed) {
    ddi::Settings settings = settings_of(0);
    settings.wanted.host = htonl(0xcb007163);  // 203.0.113.99
    Status status = Status::ok;
    std::string error;
    EXPECT_EQ(open_node(settings, &status, &error), nullptr);
    EXPECT_EQ(status, Status::invalid);
    EXPECT_NE(error.find("cannot open TCP"), std::string::npos) << error;
    EXPECT_NE(error.find("203.0.113.99"), std::string::npos) << error;
    // The number is taken on the near side only; on the far one the kernel has just chosen it, and
    // gives it to nobody else so soon.
    settings = settings_of(0);
    settings.wanted.host = htonl(INADDR_LOOPBACK);
    std::unique_ptr<ddi::Device> memory;
    for (unsigned i = 0; i < 64 && memory == nullptr; ++i) {
        const auto place = tcp::open_tcp(settings, &status, &error);
        ASSERT_NE(place, nullptr) << error;
        ddi::Settings near = settings;
        near.wanted = place->card();
        memory = shm::open_shm(near, &status, &error);
    }
    ASSERT_NE(memory, nullptr) << error;
    settings.wanted.port = memory->card().port;
    EXPECT_EQ(open_node(settings, &status, &error), nullptr);
    EXPECT_NE(error.find("shared memory"), std::string::npos) << error;
    std::string note;
    EXPECT_TRUE(probe_node(&note)) << note;
}

TEST(Node, wait_fd__tells_of_both_sides) {
    Member a(0), b(0), c(1);
    for (Member* other : {&b, &c}) {
        a.turn();
        pollfd watched{a.device->wait_fd(), POLLIN, 0};
        ASSERT_EQ(poll(&watched, 1, 0), 0);
        const nhi::PeerId id = other->meet(a.device->card());
        EXPECT_EQ(poll(&watched, 1, -1), 1);
        ASSERT_TRUE(turn_until({&a, other}, [&] { return other->attached.size() == 1; }));
        EXPECT_EQ(id, other->attached[0]);
        ASSERT_TRUE(turn_until({&a}, [&] { return poll(&watched, 1, 0) == 0; }));
    }
}

// An event that a turn took from the network, and that nobody was told of.
TEST(Node, sleep__ends_at_once_after_a_turn_that_may_have_taken_the_event) {
    Member a(0);
    nhi::NetworkInterface& network = a.device->network();
    ASSERT_EQ(network.configure_event(0, {.flag = false, .interrupt = true}), Status::ok);
    a.turn();
    Nanoseconds before = monotonic_now();
    a.device->sleep(kForEver);
    EXPECT_LT(monotonic_now() - before, kForEver);
    before = monotonic_now();
    a.device->sleep(20'000'000);
    EXPECT_GE(monotonic_now() - before, 20'000'000);
}

// --- when each side is polled ---

/// How often `side` is polled in a millisecond of turns that come every 100 ns.
unsigned polls(Pace& pace, const Peers& peers, Side side, Nanoseconds from, bool hears = false) {
    unsigned count = 0;
    for (Nanoseconds now = from; now < from + 1'000'000; now += 100) {
        if (!pace.begin(side, peers, now)) continue;
        ++count;
        if (hears) pace.heard(now);
    }
    return count;
}

TEST(NodePace, begin__by_what_is_to_be_expected) {
    Pace pace;
    Peers peers;
    EXPECT_EQ(polls(pace, peers, kNear, 0), 5u) << "somebody may come";
    EXPECT_EQ(polls(pace, peers, kFar, 0), 5u) << "somebody may come";
    peers.set(peers.add(kFar, 1), Peers::State::connecting);
    EXPECT_EQ(polls(pace, peers, kFar, 1'000'000), 1000u);
    peers.set(peers.find(kFar, 1), Peers::State::attached);
    EXPECT_EQ(polls(pace, peers, kFar, 2'000'000), 10'000u) << "nobody else is there";
    peers.set(peers.add(kNear, 1), Peers::State::attached);
    EXPECT_EQ(polls(pace, peers, kNear, 3'000'000), 1000u);
    EXPECT_EQ(polls(pace, peers, kFar, 3'000'000), 50u);
    EXPECT_GT(polls(pace, peers, kFar, 4'000'000, true), 950u);
    const unsigned after = polls(pace, peers, kFar, 5'000'000);
    EXPECT_GT(after, 100u) << "it was just heard";
    EXPECT_LT(after, 150u);
    pace.wrote();  // and may be answered
    EXPECT_GT(polls(pace, peers, kFar, 7'000'000), 100u);
    peers.set(peers.find(kFar, 1), Peers::State::lost);
    EXPECT_EQ(polls(pace, peers, kFar, 9'000'000), 5u);
}

TEST(NodePace, begin__after_a_sleep_and_in_simulated_time) {
    Pace pace;
    const Peers peers;
    EXPECT_TRUE(pace.begin(kFar, peers, 1'000'000));
    EXPECT_FALSE(pace.begin(kFar, peers, 1'000'001));
    pace.hurry();
    EXPECT_TRUE(pace.begin(kFar, peers, 1'000'002));
    Pace always = Pace::always();
    for (const Side side : kSides) EXPECT_TRUE(always.begin(side, peers, 0));
    for (const Side side : kSides) EXPECT_TRUE(always.begin(side, peers, 0));
}

}  // namespace
}  // namespace fci::node
