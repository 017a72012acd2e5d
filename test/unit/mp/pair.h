// SPDX-License-Identifier: BSD-3-Clause
// Two processes over the ideal network, driven by hand: what a test of mp needs and nothing else.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "drivers/sim/ideal/world.h"
#include "fci_core/mp/fast_path.h"
#include "fci_core/mp/message_passing.h"
#include "test/unit/limit.h"

namespace fci::mp::test {

inline Limits small_limits() {
    Limits limits;
    limits.layout = {32, 64 * 1024};
    limits.eager_bytes = 4096;
    limits.offer_bytes = 8192;
    limits.unexpected_bytes = 64 * 1024;
    return limits;
}

inline ddi::Settings settings_for(const Limits& limits) {
    ddi::Settings settings;
    settings.block_bytes = limits.layout.block_bytes();
    settings.sizes = limits.layout.sizes();
    settings.communication_bytes = limits.layout.pool_bytes;
    return settings;
}

/// Of a process of which only the network is real.
struct Nobody final : ddi::PeerListener {
    void peer_attached(nhi::PeerId) override {}
    void peer_lost(nhi::PeerId, Status, const std::string&) override {}
};

inline std::string protocol_name(const ::testing::TestParamInfo<const Protocol*>& info) {
    std::string name = info.param->name;
    std::replace(name.begin(), name.end(), '-', '_');
    return name;
}

struct Recorder {
    std::map<int, Outcome> outcomes;  // by the number given to on()

    Completion on(int number) {
        return {[](void* self, void* which, const Outcome* outcome) {
                    auto& all = static_cast<Recorder*>(self)->outcomes;
                    const int key = static_cast<int>(reinterpret_cast<std::intptr_t>(which));
                    EXPECT_EQ(all.count(key), 0u) << "completed twice: " << key;
                    all[key] = *outcome;
                },
                this, reinterpret_cast<void*>(static_cast<std::intptr_t>(number))};
    }
    [[nodiscard]] bool has(int number) const { return outcomes.count(number) != 0; }
    [[nodiscard]] int error(int number) const { return outcomes.at(number).error; }
};

/// Two hosts, between which data go directly.
inline sim::WorldOptions direct_options() {
    sim::WorldOptions options;
    options.per_host = 1;
    options.direct = true;
    return options;
}

struct Pair {
    explicit Pair(const Protocol& protocol = kEnhancedMixed, sim::WorldOptions options = {},
                  const Limits& limits = small_limits())
        : Pair(protocol, options, limits, limits) {}
    Pair(const Protocol& protocol, sim::WorldOptions options, const Limits& one,
         const Limits& other)
        : world(options) {
        for (const Limits& limits : {one, other}) {
            devices.push_back(world.open(settings_for(limits)));
            ends.push_back(
                std::make_unique<MessagePassing>(*devices.back(), protocol, limits));
        }
        EXPECT_EQ(devices[0]->add_peer(devices[1]->card(), &there[0]), Status::ok);
        EXPECT_EQ(devices[1]->add_peer(devices[0]->card(), &there[1]), Status::ok);
    }
    ~Pair() {
        ends.clear();
        devices.clear();
    }

    /// Only `who` takes turns; the network moves.
    void turns(int who, unsigned count = 200) {
        for (unsigned i = 0; i < count; ++i) {
            devices[who]->network().poll(0);
            EXPECT_GE(ends[who]->turn(), 0);
        }
    }
    void both(unsigned count = 400) {
        for (unsigned i = 0; i < count; ++i) {
            turns(0, 1);
            turns(1, 1);
        }
    }
    /// Until nothing moves any more.
    void settle() {
        for (unsigned quiet = 0; quiet < 50;) {
            unsigned work = 0;
            for (int who : {0, 1}) {
                devices[who]->network().poll(0);
                const int done = ends[who]->turn();
                EXPECT_GE(done, 0);
                work += static_cast<unsigned>(done);
            }
            quiet = work == 0 && world.idle() ? quiet + 1 : 0;
        }
    }
    void attach() {
        int recorded = send(0, 1, 999, {}, 900);
        EXPECT_GE(recorded, 0);
        std::vector<std::byte> none;
        receive(1, 999, none, 901);
        both();
        recorder.outcomes.clear();
    }
    int send(int from, std::uint32_t flags, std::uint64_t match, std::span<std::byte> data,
             int number, std::uint32_t* handle = nullptr) {
        return send_to(from, there[from], flags, match, data, number, handle);
    }
    /// False: neither of the fast paths takes it.
    bool send_fast(int from, nhi::PeerId id, std::uint32_t flags, std::uint64_t match,
                   std::uint64_t immediate, std::span<const std::byte> data) {
        Engine& end = ends[from]->engine();
        return fast::send_line(end, id, 0, flags, match, immediate, data.data(), data.size()) ||
               fast::send_eager(end, id, 0, flags, match, immediate, data.data(), data.size());
    }
    /// As a plug does: the fast path, if it can be taken.
    int send_to(int from, nhi::PeerId id, std::uint32_t flags, std::uint64_t match,
                std::span<std::byte> data, int number, std::uint32_t* handle = nullptr) {
        MessagePassing& end = *ends[from];
        flags &= ~1u;
        if (send_fast(from, id, flags, match, 0, data)) return kDone;
        const iovec range{data.data(), data.size()};
        return end.send({id, 0, flags, match, 0, {&range, 1}}, recorder.on(number), handle);
    }
    int receive(int at, std::uint64_t match, std::span<std::byte> to, int number,
                std::uint32_t* handle = nullptr, bool any = false, std::uint64_t ignore = 0) {
        const iovec range{to.data(), to.size()};
        Outcome outcome{};
        const int result = ends[at]->receive({any ? kAnySource : there[at], 0, match, ignore},
                                             {&range, 1}, recorder.on(number), handle, &outcome);
        if (result == kDone) recorder.outcomes[number] = outcome;
        return result;
    }

    sim::World world;
    std::vector<std::unique_ptr<ddi::Device>> devices;
    std::vector<std::unique_ptr<MessagePassing>> ends;
    nhi::PeerId there[2]{};
    Recorder recorder;
};

inline std::vector<std::byte> pattern(std::size_t bytes, unsigned seed = 1) {
    std::vector<std::byte> data(bytes);
    for (std::size_t i = 0; i < bytes; ++i) data[i] = static_cast<std::byte>(i * 31 + seed);
    return data;
}

}  // namespace fci::mp::test
