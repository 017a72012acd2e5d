// SPDX-License-Identifier: BSD-3-Clause
// When a tcp device looks for hints, and who has to say that some are there.
#include "drivers/tcp/tcp_device.h"
#include "test/unit/drivers/hand_party.h"

namespace fci::tcp::test {
namespace {

constexpr std::uint64_t kName = 0x0123'4567'89ab'cdef;
constexpr unsigned kLookEvery = 64;

struct Count final : nhi::HintListener {
    void arrived(const nhi::Hint&, std::size_t) noexcept override { ++heard; }
    unsigned heard = 0;
};

/// Streams in hand and sockets of the kernel, over the loopback interface.
struct TcpTurnHints : testing::Test {
    TcpTurnHints() {
        ddi::Settings wanted = hand_settings();
        wanted.job = static_cast<std::uint64_t>(getpid()) << 20 | 13;
        wanted.wanted.host = htonl(0x7f000003);
        auto made = std::make_unique<HandStreams>();
        system = made.get();
        Status status = Status::ok;
        std::string error;
        device = TcpDevice::open(wanted, true, std::move(made), &status, &error);
        EXPECT_EQ(status, Status::ok) << error;
        device->set_listener(&listener);
        const std::uint32_t hosts[] = {htonl(0x7f000002), htonl(0x7f000003)};
        mouth = std::make_unique<multicast::Multicast>(multicast::Place::of(wanted.job, {}),
                                                       hosts[0], [](int, unsigned, bool) {});
        EXPECT_EQ(mouth->join({{kName, {}}, 0, hosts}, nobody), Status::ok);
        EXPECT_EQ(hints().join({{kName, {}}, 1, hosts}, count), Status::ok);
        EXPECT_EQ(hints().expect(kName, 5, memory), Status::ok);
        job = wanted.job;
    }
    nhi::Hints& hints() { return *device->network().hints(); }
    unsigned turn() { return device->network().poll(system->time); }
    void say(std::uint64_t number = 5, std::size_t bytes = 8) {
        const std::vector<std::byte> data(bytes, std::byte{7});
        EXPECT_EQ(mouth->hint({kName, number, 0, static_cast<std::uint32_t>(bytes), 0}, data),
                  Status::ok);
    }
    /// Nobody sleeps, and nothing may wake.
    void watch_nothing() { EXPECT_EQ(device->network().mask_event_interrupt(0, true), Status::ok); }
    void add_peer() {
        Hello hello{};
        hello.magic = Hello::kMagic;
        hello.job = job;
        hello.layout_digest = 0x1234;
        hello.block_bytes = kBlockBytes;
        hello.from = card_of(10 + listener.attached.size());
        hello.to = device->card();
        HandStreams::One one;
        const auto* const from = reinterpret_cast<const std::byte*>(&hello);
        one.here.assign(from, from + sizeof hello);
        system->queue.push_back(std::move(one));
        const std::size_t before = listener.attached.size();
        for (unsigned i = 0; i < kLookEvery; ++i) turn();
        EXPECT_EQ(listener.attached.size(), before + 1);
    }
    [[nodiscard]] bool is_watched(unsigned lane) const {
        return std::ranges::any_of(system->ears,
                                   [&](const auto& ear) { return ear.second == lane; });
    }
    bool hear(unsigned more = 1) {
        const unsigned wanted = count.heard + more;
        for (Limit limit("a hint"); limit.holds(); turn()) {
            if (count.heard == wanted) return true;
        }
        return false;
    }

    HandStreams* system = nullptr;
    std::unique_ptr<ddi::Device> device;
    std::unique_ptr<multicast::Multicast> mouth;
    Listener listener;
    Count count, nobody;
    std::uint64_t job = 0;
    std::vector<std::byte> memory = std::vector<std::byte>(100'000);
};

/// Of the few peers of a small job, and where a broadcast follows the other.
TEST_F(TcpTurnHints, poll__looks_itself_beside_few_peers) {
    add_peer();
    EXPECT_TRUE(is_watched(0)) << "somebody may sleep";
    watch_nothing();
    turn();
    EXPECT_FALSE(is_watched(0));
    say();
    EXPECT_TRUE(hear());
    system->time += kSecond;
    say();
    EXPECT_TRUE(hear()) << "also after a long time";
    EXPECT_FALSE(is_watched(0));
    device->sleep(0);
    EXPECT_TRUE(is_watched(0));
}

/// Without peers, or with many, only while hints have come lately.
TEST_F(TcpTurnHints, poll__is_told_where_none_came_lately) {
    watch_nothing();
    turn();
    EXPECT_TRUE(is_watched(0));
    say();
    for (unsigned i = 0; i < 1000; ++i) turn();
    EXPECT_EQ(count.heard, 0u) << "nobody said that one is here";
    for (Limit limit("a hint"); count.heard == 0 && limit.holds(); turn()) {
        system->also.push_back({Streams::Source::hints, 0});
    }
    EXPECT_EQ(count.heard, 1u);
    system->time += 10 * kMs - 1;
    turn();
    EXPECT_FALSE(is_watched(0));
    say();
    EXPECT_TRUE(hear()) << "of this one nobody said so";
    system->time += 10 * kMs;
    turn();
    EXPECT_TRUE(is_watched(0)) << "for so long none came";
}

TEST_F(TcpTurnHints, poll__is_told_while_somebody_may_sleep) {
    add_peer();
    say();
    for (unsigned i = 0; i < 1000; ++i) turn();
    EXPECT_EQ(count.heard, 0u);
    EXPECT_TRUE(is_watched(0));
}

/// Long hints are looked for in each turn.
TEST_F(TcpTurnHints, poll__looks_for_what_is_long) {
    say(5, 2000);
    EXPECT_TRUE(hear(2));
    const std::uint64_t before = hints().looks();
    turn();
    EXPECT_EQ(hints().looks(), before + 1);
    EXPECT_FALSE(is_watched(1));
}

TEST_F(TcpTurnHints, sleep__ends_with_a_hint_that_is_told_of_in_poll) {
    watch_nothing();
    say();
    system->meanwhile = [&] { system->also.push_back({Streams::Source::hints, 0}); };
    device->sleep(-1);
    EXPECT_EQ(system->waits.size(), 1u);
    EXPECT_EQ(count.heard, 0u);
    EXPECT_TRUE(is_watched(1)) << "what is long as well";
    system->meanwhile = {};
    for (Limit limit("a hint"); count.heard == 0 && limit.holds(); turn()) {
        system->also.push_back({Streams::Source::hints, 0});
    }
    EXPECT_EQ(count.heard, 1u);
    EXPECT_EQ(device->network().mask_event_interrupt(0, true), Status::ok);
    EXPECT_FALSE(is_watched(1)) << "nobody sleeps any more";
}

}  // namespace
}  // namespace fci::tcp::test
