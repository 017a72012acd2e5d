// SPDX-License-Identifier: BSD-3-Clause
// A tcp device and its peers: how they come, go, and take what is sent.
#include <poll.h>

#include <chrono>
#include <climits>
#include <cstring>
#include <set>
#include <thread>

#include "drivers/tcp/frame.h"
#include "test/unit/drivers/tcp_party.h"

namespace fci::tcp {
namespace {

TEST(tcp_device, peer__that_dies_is_lost_and_one_that_says_goodbye_has_closed) {
    for (const bool says : {true, false}) {
        Party party;
        {
            Impostor peer(party);
            const std::uint64_t word = 5;
            const FrameHead transfer{FrameKind::transfer, 1, 0, 0};
            const PartHead part{8, 8};
            peer.say(&transfer, sizeof transfer);
            peer.say(&part, sizeof part);
            peer.say(&word, sizeof word);
            const FrameHead goodbye{FrameKind::goodbye, 0, 0, 0};
            if (says) peer.say(&goodbye, sizeof goodbye);
        }
        ASSERT_TRUE(party.until([&] { return party.listener.lost.size() == 1; }));
        EXPECT_EQ(party.listener.lost[0].why, says ? Status::not_found : Status::lost);
        EXPECT_NE(party.listener.lost[0].reason.find("pid 12345 at 127.0.0.1:4711"),
                  std::string::npos)
            << party.listener.lost[0].reason;
        std::uint64_t word = 0;
        std::memcpy(&word, party.device->block(party.listener.lost[0].id).data() + 8, 8);
        EXPECT_EQ(word, 5u) << "what it wrote before";
    }
}

TEST(tcp_device, peer__that_ends_after_a_loss_is_not_the_cause) {
    const std::pair<int, const char*> losses[] = {
        {1, ": it ended after it had lost rank 1; look there first"},
        {INT_MAX, ": it ended after it had lost rank 2147483647; look"},
        {-1, ": it ended after it had lost another process; look"},
        {INT_MIN, ": it ended after it had lost another process; look"},
    };
    for (const auto& [rank, said] : losses) {
        Party party;
        {
            const Impostor peer(party);
            const FrameHead loss = loss_of(rank);
            peer.say(&loss, sizeof loss);
        }
        ASSERT_TRUE(party.until([&] { return party.listener.lost.size() == 1; }));
        EXPECT_EQ(party.listener.lost[0].why, Status::lost);
        EXPECT_NE(party.listener.lost[0].reason.find(said), std::string::npos)
            << party.listener.lost[0].reason;
    }
}

TEST(tcp_device, tell_of_loss__all_peers_hear_it_at_once) {
    Party party;
    const Impostor peer(party);
    party.device->tell_of_loss(5);
    FrameHead heard{};
    EXPECT_EQ(::recv(peer.socket.get(), &heard, sizeof heard, 0), ssize_t{sizeof heard});
    const FrameHead loss = loss_of(5);
    EXPECT_EQ(std::memcmp(&heard, &loss, sizeof heard), 0);
}

TEST(tcp_device, peer__that_sends_nonsense_is_given_up_for_good) {
    Party party;
    const Impostor peer(party);
    const std::vector<char> nonsense(100, 'x');
    peer.say(nonsense.data(), nonsense.size());
    ASSERT_TRUE(party.until([&] { return party.listener.lost.size() == 1; }));
    EXPECT_EQ(party.listener.lost[0].why, Status::lost);
    const std::uint64_t word = 0;
    nhi::Transfer transfer(peer.id);
    transfer.put(nhi::LcsAddress{0}, &word, 8);
    EXPECT_EQ(party.device->network().initiate_transfer(transfer), Status::lost);
    const Hello again = hello_to(party);
    const Caller caller(party.device->card());
    caller.say(&again, sizeof again);
    Hello answer;
    ASSERT_TRUE(caller.hear(party, &answer));
    EXPECT_EQ(answer.verdict, Verdict::gone);
}

TEST(tcp_device, peer__that_names_no_place_is_given_up) {
    Party party;
    const Impostor peer(party);
    const FrameHead transfer{FrameKind::transfer, 1, 0, 0};
    const PartHead part{kBlockBytes, 8};
    peer.say(&transfer, sizeof transfer);
    peer.say(&part, sizeof part);
    ASSERT_TRUE(party.until([&] { return party.listener.lost.size() == 1; }));
    EXPECT_NE(party.listener.lost[0].reason.find("no frame"), std::string::npos);
}

/// A stranger listens there, who says nothing and hangs up.
struct Mute {
    Mute() : listening(::socket(AF_INET, SOCK_STREAM, 0)) {
        sockaddr_in address{};
        address.sin_family = AF_INET;
        address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        socklen_t bytes = sizeof address;
        auto* const generic = reinterpret_cast<sockaddr*>(&address);
        EXPECT_EQ(bind(listening.get(), generic, bytes), 0);
        EXPECT_EQ(::listen(listening.get(), 50), 0);
        EXPECT_EQ(getsockname(listening.get(), generic, &bytes), 0);
        card = {AF_INET, address.sin_port, address.sin_addr.s_addr, 4711};
    }
    bool hang_up() {
        const host::Descriptor one(accept4(listening.get(), nullptr, nullptr, SOCK_NONBLOCK));
        if (one) ++calls;
        return static_cast<bool>(one);
    }
    host::Descriptor listening;
    ddi::Card card;
    unsigned calls = 0;
};

TEST(tcp_device, connect__to_one_who_hangs_up_is_tried_again_and_ends_with_a_sentence) {
    Party party;
    Mute mute;
    nhi::PeerId id = 0;
    ASSERT_EQ(party.device->add_peer(mute.card, &id), Status::ok);
    ASSERT_EQ(party.device->connect(id), Status::ok);
    ASSERT_TRUE(party.until([&] {
        pollfd waits{mute.listening.get(), POLLIN, 0};
        if (::poll(&waits, 1, 0) > 0) (void)mute.hang_up();
        return party.listener.lost.size() == 1;
    }));
    EXPECT_GE(mute.calls, 4u);
    EXPECT_NE(party.listener.lost[0].reason.find("hung up without a word"), std::string::npos);
    EXPECT_EQ(party.listener.lost[0].why, Status::lost);
}

/// It dies while others call it. A typed place promised no process.
TEST(tcp_device, connect__to_one_who_ends_before_the_answer) {
    for (const bool typed : {false, true}) {
        Party party;
        auto silent = std::make_unique<Party>();
        ddi::Card card = silent->device->card();
        if (typed) card.incarnation = 0;
        nhi::PeerId id = nhi::kNoPeer;
        ASSERT_EQ(party.device->add_peer(card, &id), Status::ok);
        ASSERT_EQ(party.device->connect(id), Status::ok);
        party.turns();
        silent.reset();
        ASSERT_TRUE(party.until([&] { return party.listener.lost.size() == 1; }));
        EXPECT_EQ(party.listener.lost[0].why, typed ? Status::unreachable : Status::lost);
    }
}

TEST(tcp_device, close__what_was_accepted_arrives_though_the_peer_computes) {
    constexpr std::size_t kBytes = 3 * kBlockBytes;
    auto party = std::make_unique<Party>();
    const Impostor peer(*party);
    const std::vector<std::byte> data(kBlockBytes, std::byte{1});
    nhi::Transfer transfer(peer.id);
    transfer.put(nhi::LcsAddress{0}, data.data(), data.size());
    std::size_t sent = 0;
    for (; party->device->network().initiate_transfer(transfer) == Status::ok; ++sent) continue;
    ASSERT_GE(sent * kBlockBytes, kBytes);
    std::size_t heard = 0;
    std::thread reads([&] {
        std::this_thread::sleep_for(std::chrono::milliseconds(1500));
        std::vector<char> here(1 << 16);
        for (ssize_t got; (got = ::recv(peer.socket.get(), here.data(), here.size(), 0)) > 0;) {
            heard += static_cast<std::size_t>(got);
        }
    });
    party.reset();
    reads.join();
    EXPECT_EQ(heard, sent * (kBlockBytes + sizeof(FrameHead) + sizeof(PartHead)) +
                         sizeof(FrameHead));
}

TEST(tcp_device, transfer__to_a_peer_that_does_not_read_ends_with_again) {
    Party party;
    const Impostor peer(party);
    const std::vector<std::byte> data(kBlockBytes);
    nhi::Transfer transfer(peer.id);
    transfer.put(nhi::LcsAddress{0}, data.data(), data.size());
    Status status = Status::ok;
    unsigned sent = 0;
    for (; status == Status::ok && sent < 1000; ++sent) {
        status = party.device->network().initiate_transfer(transfer);
    }
    EXPECT_EQ(status, Status::again);
    EXPECT_FALSE(party.device->network().is_idle());
    party.turns();
    // It reads: then there is room.
    std::vector<char> heard(1 << 20);
    EXPECT_TRUE(party.until([&] {
        while (::recv(peer.socket.get(), heard.data(), heard.size(), MSG_DONTWAIT) > 0) continue;
        return party.device->network().initiate_transfer(transfer) == Status::ok;
    }));
}

TEST(tcp_device, sleep__ends_with_a_caller_and_not_with_silence) {
    Party party;
    const Nanoseconds before = party.device->now();
    party.device->sleep(20'000'000);
    EXPECT_GE(party.device->now() - before, 19'000'000);
    const Hello mine = hello_to(party);
    const Caller caller(party.device->card());
    caller.say(&mine, sizeof mine);
    const Nanoseconds began = party.device->now();
    party.device->sleep(kForEver);  // until the peer is to be told of
    EXPECT_LT(party.device->now() - began, kForEver);
    party.turn();
    EXPECT_EQ(party.listener.attached.size(), 1u);
}

TEST(tcp_device, wait_fd__is_readable_when_somebody_calls) {
    Party party;
    party.turns();
    pollfd descriptor{party.device->wait_fd(), POLLIN, 0};
    EXPECT_EQ(::poll(&descriptor, 1, 0), 0);
    const Caller caller(party.device->card());
    EXPECT_EQ(::poll(&descriptor, 1, 5000), 1);
}

TEST(tcp_device, open__says_what_is_wrong_with_a_place) {
    Party party;
    ddi::Settings taken = settings();
    taken.wanted = party.device->card();
    Status status = Status::ok;
    std::string error;
    EXPECT_EQ(open_tcp(taken, &status, &error), nullptr);
    EXPECT_EQ(status, Status::exhausted);
    EXPECT_NE(error.find("another process has this port"), std::string::npos) << error;
    ddi::Settings elsewhere = settings();
    elsewhere.wanted.host = htonl(0x0a0b0c0d);
    EXPECT_EQ(open_tcp(elsewhere, &status, &error), nullptr);
    EXPECT_NE(error.find("no interface of this host"), std::string::npos) << error;
}

// Each process that a firewall is opened for has one of its ports, and one too many hears why.
TEST(tcp_device, open__takes_one_of_the_ports_that_are_named) {
    const Party any;
    ddi::Settings some = settings();
    const unsigned free = ntohs(any.device->card().port);
    some.ports.first = static_cast<std::uint16_t>(free < 60'000 ? free : free - 4);
    some.ports.last = static_cast<std::uint16_t>(some.ports.first + 4);
    std::vector<std::unique_ptr<ddi::Device>> devices;
    std::set<unsigned> taken;
    Status status = Status::ok;
    std::string error;
    while (auto device = open_tcp(some, &status, &error)) {
        const unsigned port = ntohs(device->card().port);
        EXPECT_TRUE(port >= some.ports.first && port <= some.ports.last) << port;
        EXPECT_TRUE(taken.insert(port).second) << port;
        devices.push_back(std::move(device));
    }
    EXPECT_LE(devices.size(), 4u) << "one of the five is not free";
    EXPECT_EQ(status, Status::exhausted);
    EXPECT_NE(error.find("no port of FCI_PORTS=" + some.ports.text() + " is free at 127.0.0.1;"),
              std::string::npos)
        << error;
    some.wanted.port = any.device->card().port;
    EXPECT_EQ(open_tcp(some, &status, &error), nullptr);
    EXPECT_NE(error.find("another process has this port"), std::string::npos) << error;
}

TEST(tcp_device, crossing__one_of_the_calls_goes_on) {
    for (unsigned i = 0; i < 30; ++i) {
        ddi::Settings first = settings(), second = settings();
        first.incarnation = i % 2 != 0 ? 5 : 50;
        second.incarnation = 10;
        Party a(first), b(second);
        nhi::PeerId to_b = 0, to_a = 0;
        ASSERT_EQ(a.device->add_peer(b.device->card(), &to_b), Status::ok);
        ASSERT_EQ(b.device->add_peer(a.device->card(), &to_a), Status::ok);
        ASSERT_EQ(a.device->connect(to_b), Status::ok);
        for (unsigned turn = 0; turn < i / 2 % 8; ++turn) (i % 3 != 0 ? a : b).turn();
        ASSERT_EQ(b.device->connect(to_a), Status::ok);
        ASSERT_TRUE(a.until([&] {
            b.turn();
            return a.listener.attached.size() == 1 && b.listener.attached.size() == 1;
        }));
        a.turns(200), b.turns(200);
        EXPECT_TRUE(a.listener.lost.empty() && b.listener.lost.empty());
    }
}

}  // namespace
}  // namespace fci::tcp
