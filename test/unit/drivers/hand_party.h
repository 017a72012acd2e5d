// SPDX-License-Identifier: BSD-3-Clause
// A tcp device over streams that its test has in hand.
#pragma once

#include <arpa/inet.h>
#include <unistd.h>

#include <memory>
#include <string>

#include "drivers/tcp/frame.h"
#include "test/unit/drivers/hand_streams.h"
#include "test/unit/drivers/tcp_party.h"

namespace fci::tcp::test {

inline constexpr Nanoseconds kMs = 1'000'000, kSecond = 1000 * kMs;

inline ddi::Settings hand_settings() {
    ddi::Settings wanted = settings();
    wanted.incarnation = 50;
    wanted.rank = 3;
    wanted.sizes = 0xabcd;
    return wanted;
}

/// Another process's card.
inline ddi::Card card_of(std::uint64_t incarnation, std::uint16_t port = 4711) {
    return {AF_INET, htons(port), htonl(0x0a4d0003), incarnation};
}

struct HandParty {
    explicit HandParty(const ddi::Settings& wanted = hand_settings()) {
        auto made = std::make_unique<HandStreams>();
        system = made.get();
        Status status = Status::ok;
        std::string error;
        device = open_over(std::move(made), wanted, &status, &error);
        EXPECT_EQ(status, Status::ok) << error;
        device->set_listener(&listener);
    }
    /// Nobody waits for what the test has refused.
    ~HandParty() {
        if (device == nullptr) return;
        for (auto& [number, one] : system->all) one.room = SIZE_MAX;
    }
    HandParty(const HandParty&) = delete;
    HandParty& operator=(const HandParty&) = delete;

    nhi::NetworkInterface& network() { return device->network(); }
    unsigned turn() { return network().poll(system->time); }
    /// As many as there are between two looks at who else has something.
    void turns(unsigned count = 64) {
        for (unsigned i = 0; i < count; ++i) turn();
    }
    /// The hello that the peer with this card would say first.
    [[nodiscard]] Hello hello_of(const ddi::Card& card) const {
        Hello hello{};
        hello.magic = Hello::kMagic;
        hello.job = 77;
        hello.layout_digest = 0x1234;
        hello.sizes = 0x5678;
        hello.block_bytes = kBlockBytes;
        hello.from = card;
        hello.to = device->card();
        hello.pid = 12345;
        hello.rank = 7;
        return hello;
    }
    /// One that calls, and says so much of this.
    void knock(const Hello& hello, std::size_t bytes = sizeof(Hello)) {
        HandStreams::One one;
        const auto* const from = reinterpret_cast<const std::byte*>(&hello);
        one.here.assign(from, from + bytes);
        system->queue.push_back(std::move(one));
    }
    /// A peer that has called and was told of; its stream.
    int peer(std::uint64_t incarnation) {
        const std::size_t before = listener.attached.size();
        knock(hello_of(card_of(incarnation, static_cast<std::uint16_t>(4711 + incarnation))));
        turns();
        EXPECT_EQ(listener.attached.size(), before + 1);
        const int stream = system->last;
        system->at(stream).sent.clear();
        return stream;
    }
    /// Begins to call it; its id.
    nhi::PeerId call(const ddi::Card& card) {
        nhi::PeerId id = nhi::kNoPeer;
        EXPECT_EQ(device->add_peer(card, &id), Status::ok);
        EXPECT_EQ(device->connect(id), Status::ok);
        return id;
    }
    [[nodiscard]] const HandStreams::One& one(int stream) const { return system->all.at(stream); }
    [[nodiscard]] HandStreams::One& one(int stream) { return system->all.at(stream); }
    /// Why the only one that is lost was lost.
    [[nodiscard]] std::string reason() const {
        EXPECT_EQ(listener.lost.size(), 1u);
        return listener.lost.empty() ? "" : listener.lost[0].reason;
    }
    [[nodiscard]] Status why() const {
        EXPECT_EQ(listener.lost.size(), 1u);
        return listener.lost.empty() ? Status::ok : listener.lost[0].why;
    }
    [[nodiscard]] bool says(const char* part) const {
        const bool has_it = reason().find(part) != std::string::npos;
        EXPECT_TRUE(has_it) << reason();
        return has_it;
    }

    HandStreams* system;
    std::unique_ptr<ddi::Device> device;
    Listener listener;
};

template <class What>
What read_as(const std::vector<std::byte>& bytes, std::size_t at = 0) {
    What what{};
    EXPECT_LE(at + sizeof what, bytes.size());
    if (at + sizeof what <= bytes.size()) std::memcpy(&what, bytes.data() + at, sizeof what);
    return what;
}

}  // namespace fci::tcp::test
