// SPDX-License-Identifier: BSD-3-Clause
// One process with a tcp device, and those who come to its door: raw sockets that say what they
// like.
#pragma once

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <memory>
#include <string>
#include <vector>

#include "drivers/host/descriptor.h"
#include "drivers/tcp/hello.h"
#include "drivers/tcp/tcp.h"
#include "fci_core/nhi/transfer.h"
#include "test/conformance/world.h"
#include "test/unit/limit.h"

namespace fci::tcp {

inline constexpr std::size_t kBlockBytes = 256 * 1024;

inline ddi::Settings settings() {
    ddi::Settings settings;
    settings.block_bytes = kBlockBytes;
    settings.layout_digest = 0x1234;
    settings.job = 77;
    settings.communication_bytes = 4096;
    settings.connect_ms = 200;
    settings.wanted.host = htonl(INADDR_LOOPBACK);
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

inline Hello hello_to(const Party& party) {
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

}  // namespace fci::tcp
