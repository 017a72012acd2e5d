// SPDX-License-Identifier: BSD-3-Clause
// Hosts of one collective, each of which goes on when the test says so. Host 0 is spoken for by
// rank kRank, and so on.
#pragma once

#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <span>
#include <vector>

#include "fci_core/group/hosts/exchange.h"
#include "test/unit/group/members.h"

namespace fci::group::test {

/// Where nothing is to be combined.
inline constexpr Reduction kNever{[](void*, const void*, void*) { ADD_FAILURE() << "of what?"; },
                                  nullptr};

class Exchanges {
public:
    static constexpr std::uint64_t kKey = 21;
    static constexpr unsigned kRank = 10;  // of host 0

    explicit Exchanges(unsigned count) : all(count, {.per_host = 1, .mapped = true}) {
        for (unsigned host = 0; host < count; ++host) {
            leaders_.push_back(kRank + host);
            hosts_.push_back(std::make_unique<Host>(*all[host].messages));
        }
    }
    [[nodiscard]] Share& operator[](unsigned host) { return hosts_.at(host)->share; }
    [[nodiscard]] Messenger& messenger(unsigned host) { return hosts_.at(host)->messenger; }
    [[nodiscard]] Exchange& exchange(unsigned host) { return hosts_.at(host)->exchange; }
    /// What a host brings to that collective, or why it brings nothing.
    void bring_share(unsigned host, std::uint64_t number, std::size_t bytes, int code) {
        Host& one = *hosts_.at(host);
        one.messenger.begin(number);
        one.share.begin(code == FCI_ICL_DONE ? bytes : 0);
        if (code != FCI_ICL_DONE) one.share.fail(code, bytes);
    }
    void begin(unsigned host, const Steps& steps, std::uint64_t number, std::size_t bytes,
               int code = FCI_ICL_DONE, bool ignores_input = false) {
        bring_share(host, number, bytes, code);
        hosts_[host]->exchange.begin(steps, host, ignores_input);
    }
    template <class T>
    void bring(unsigned host, const T& what) {
        std::memcpy(hosts_.at(host)->share.data(), &what, sizeof what);
    }
    template <class T>
    [[nodiscard]] T brought(unsigned host) {
        T what;
        std::memcpy(&what, hosts_.at(host)->share.data(), sizeof what);
        return what;
    }
    /// One call.
    [[nodiscard]] int advance(unsigned host, const Reduction& reduction = kNever) {
        std::vector<nhi::PeerId> peers(kRank, nhi::kNoPeer);
        peers.insert(peers.end(), all[host].peers.begin(), all[host].peers.end());
        const bool is_through =
            hosts_[host]->exchange.advance(leaders_.data(), peers.data(), reduction);
        return is_through ? FCI_ICL_DONE : FCI_ICL_EAGAIN;
    }
    /// Until all that live are through.
    void run(const Reduction& reduction = kNever) {
        std::vector<bool> through(hosts_.size());
        for (unsigned i = 0; i < 30; ++i) {
            for (unsigned host = 0; host < through.size(); ++host) {
                if (through[host] || !all[host].alive) continue;
                through[host] = advance(host, reduction) == FCI_ICL_DONE;
            }
            all.settle();
        }
        for (unsigned host = 0; host < through.size(); ++host) {
            EXPECT_TRUE(through[host] || !all[host].alive) << "host " << host << " waits";
        }
    }
    /// A message of the collective, as somebody else might write it.
    void forge(unsigned from, unsigned to, std::uint64_t number, std::span<std::byte> data) {
        const iovec range{data.data(), data.size()};
        EXPECT_GE(all[from].messages->send({all[from].peers[to],
                                            mp::kGroupSpace,
                                            0,
                                            match_of(kKey, number, false),
                                            0,
                                            {&range, 1}},
                                           {}, nullptr),
                  0);
    }
    void forge_word(unsigned from, unsigned to, std::uint64_t number, std::uint64_t word) {
        EXPECT_GE(all[from].messages->send({all[from].peers[to],
                                            mp::kGroupSpace,
                                            mp::kSendImmediate,
                                            match_of(kKey, number, false),
                                            word,
                                            {}},
                                           {}, nullptr),
                  0);
    }
    [[nodiscard]] progress::Wait& wait(unsigned host) { return hosts_.at(host)->exchange; }
    [[nodiscard]] bool holds_nothing(unsigned host) { return all[host].engine().arrived.empty(); }

    Processes all;

private:
    struct Host {
        explicit Host(mp::MessagePassing& messages) : messenger(messages, kKey, share) {}

        Share share{};
        Messenger messenger;
        Exchange exchange{messenger, share};
    };

    std::vector<unsigned> leaders_;
    std::vector<std::unique_ptr<Host>> hosts_;
};

}  // namespace fci::group::test
