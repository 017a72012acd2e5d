// A tcp device and those who come to its door: raw sockets that say what they like.
#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstring>
#include <memory>
#include <vector>

#include "drivers/host/descriptor.h"
#include "drivers/tcp/frame.h"
#include "drivers/tcp/tcp.h"
#include "fci_core/nhi/transfer.h"
#include "test/conformance/world.h"
#include "test/unit/limit.h"

namespace fci::tcp {
namespace {

constexpr std::size_t kBlockBytes = 256 * 1024;

ddi::Settings settings() {
    ddi::Settings settings;
    settings.block_bytes = kBlockBytes;
    settings.layout_digest = 0x1234;
    settings.job = 77;
    settings.communication_bytes = 4096;
    settings.connect_ms = 200;
    return settings;
}

struct Listener final : ddi::PeerListener {
    void peer_attached(nhi::PeerId id) override { attached.push_back(id); }
    void peer_lost(nhi::PeerId id, Status why, const std::string& reason) override {
        lost.push_back({id, why, reason});
    }
    void stranger_came() noexcept override { ++strangers; }

    std::vector<nhi::PeerId> attached;
    std::vector<conformance::Ear::Loss> lost;
    unsigned strangers = 0;
};

struct Party {
    explicit Party(const ddi::Settings& wanted = settings()) {
        Status status = Status::ok;
        device = open_tcp(wanted, &status, &error);
        EXPECT_EQ(status, Status::ok) << error;
        device->set_listener(&listener);
    }
    void turn() { device->network().poll(device->now()); }
    template <class Reached>
    bool until(Reached reached) {
        for (Limit limit("what is waited for"); limit.holds(); turn()) {
            if (reached()) return true;
        }
        return false;
    }
    void turns(unsigned count = 500) {
        for (unsigned i = 0; i < count; ++i) turn();
    }

    std::string error;
    std::unique_ptr<ddi::Device> device;
    Listener listener;
};

/// Somebody with a socket.
struct Caller {
    explicit Caller(const ddi::Card& to) : socket(::socket(AF_INET, SOCK_STREAM, 0)) {
        sockaddr_in address{};
        address.sin_family = AF_INET;
        address.sin_port = to.port;
        address.sin_addr.s_addr = to.host;
        EXPECT_EQ(::connect(socket.get(), reinterpret_cast<sockaddr*>(&address), sizeof address),
                  0);
    }
    void say(const void* bytes, std::size_t count) const {
        EXPECT_EQ(::send(socket.get(), bytes, count, MSG_NOSIGNAL), static_cast<ssize_t>(count));
    }
    /// False: nothing is to be had, or the end.
    bool hear(Party& party, Hello* hello) const {
        std::size_t heard = 0;
        return party.until([&] {
            const ssize_t got = ::recv(socket.get(), reinterpret_cast<char*>(hello) + heard,
                                       sizeof *hello - heard, MSG_DONTWAIT);
            if (got > 0) heard += static_cast<std::size_t>(got);
            is_closed = got == 0 || (got < 0 && errno == ECONNRESET);
            return heard == sizeof *hello || is_closed;
        }) && heard == sizeof *hello;
    }

    host::Descriptor socket;
    mutable bool is_closed = false;
};

Hello hello_to(const Party& party) {
    Hello hello{};
    hello.magic = Hello::kMagic;
    hello.job = 77;
    hello.layout_digest = 0x1234;
    hello.block_bytes = kBlockBytes;
    hello.from = {AF_INET, htons(4711), htonl(INADDR_LOOPBACK), 99};
    hello.to = party.device->card();
    hello.pid = 12345;
    return hello;
}

/// One who was taken for a peer.
struct Impostor : Caller {
    explicit Impostor(Party& party) : Caller(party.device->card()) {
        const Hello mine = hello_to(party);
        say(&mine, sizeof mine);
        Hello answer{};
        EXPECT_TRUE(hear(party, &answer));
        EXPECT_EQ(answer.verdict, Verdict::welcome);
        EXPECT_TRUE(party.until([&] { return party.listener.attached.size() == 1; }));
        id = party.listener.attached.at(0);
    }
    nhi::PeerId id = 0;
};

TEST(tcp_device, strangers__are_counted_and_not_answered) {
    Party party;
    const auto turned_away = [&](Hello hello, std::size_t bytes = sizeof(Hello)) {
        const unsigned before = party.listener.strangers;
        Caller caller(party.device->card());
        caller.say(&hello, bytes);
        if (bytes < sizeof hello) ::shutdown(caller.socket.get(), SHUT_WR);
        Hello answer;
        EXPECT_FALSE(caller.hear(party, &answer));
        EXPECT_TRUE(caller.is_closed);
        EXPECT_EQ(party.listener.strangers, before + 1);
    };
    const Hello good = hello_to(party);
    const auto with = [&](auto change) {
        Hello hello = good;
        change(hello);
        return hello;
    };
    turned_away(with([](Hello& h) { h.magic ^= 1; }));
    turned_away(with([](Hello& h) { h.from.incarnation = 0; }));
    turned_away(with([](Hello& h) { h.from.port = 0; }));
    turned_away(with([](Hello& h) { h.from.host = htonl(0x7f000002); }));  // speaks for another
    turned_away(with([](Hello& h) { h.block_bytes = nhi::kPairLimit + 1; }));
    turned_away(with([](Hello& h) { h.block_bytes = 0; }));
    turned_away(with([](Hello& h) { h.verdict = Verdict{7}; }));
    turned_away(good, 40);
    turned_away(good, 1);
    EXPECT_EQ(party.device->peers(), 1u);
}

TEST(tcp_device, callers__that_disagree_hear_why) {
    Party party;
    for (const bool job : {true, false}) {
        Hello hello = hello_to(party);
        if (job) hello.job = 78;
        if (!job) hello.layout_digest = 5;
        const Caller caller(party.device->card());
        caller.say(&hello, sizeof hello);
        Hello answer;
        ASSERT_TRUE(caller.hear(party, &answer));
        EXPECT_EQ(answer.verdict, Verdict::mismatch);
        EXPECT_EQ(answer.layout_digest, 0x1234u);
    }
    Hello hello = hello_to(party);
    hello.to.incarnation ^= 1;  // for a process that was here before
    const Caller caller(party.device->card());
    caller.say(&hello, sizeof hello);
    Hello answer;
    ASSERT_TRUE(caller.hear(party, &answer));
    EXPECT_EQ(answer.verdict, Verdict::gone);
    EXPECT_TRUE(party.listener.attached.empty());
}

TEST(tcp_device, callers__who_say_nothing_keep_nobody_out) {
    Party party;
    std::vector<std::unique_ptr<Caller>> silent;
    for (int i = 0; i < 100; ++i) {
        silent.push_back(std::make_unique<Caller>(party.device->card()));
        party.turn();
    }
    const Impostor one(party);
    EXPECT_EQ(party.listener.strangers, 0u);
}

TEST(tcp_device, hello__in_pieces) {
    Party party;
    const Hello mine = hello_to(party);
    const Caller caller(party.device->card());
    for (std::size_t i = 0; i < sizeof mine; ++i) {
        caller.say(reinterpret_cast<const char*>(&mine) + i, 1);
        party.turns(70);
    }
    EXPECT_TRUE(party.until([&] { return party.listener.attached.size() == 1; }));
}

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
    party.device->sleep(5'000'000'000);  // until the peer is to be told of
    EXPECT_LT(party.device->now() - began, 4'000'000'000);
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

TEST(tcp_device, crossing__whoever_is_larger) {
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
