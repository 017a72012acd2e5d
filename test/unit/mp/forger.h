// SPDX-License-Identifier: BSD-3-Clause
// One process as it is, and one of which only the network is real: it writes what it likes.
#pragma once

#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <string>

#include "test/unit/mp/pair.h"

namespace fci::mp::test {

struct Forger {
    sim::World world;
    Nobody nobody;
    Limits own;
    std::unique_ptr<ddi::Device> device;
    std::unique_ptr<ddi::Device> bad = world.open(settings_for(own));
    MessagePassing mp;
    nhi::PeerId there = 0, here = 0;  // the forger as the process knows it, and the reverse
    gcs::LineWriter out;
    gcs::LineReader in;
    Recorder recorder;
    std::vector<std::byte> data = pattern(100'000), to = std::vector<std::byte>(100'000);
    int handled = 0;

    static Limits limits(std::uint64_t pieces = 4) {
        Limits limits = small_limits();
        limits.layout.pool_bytes = pieces * gcs::Layout::kPieceBytes;
        limits.lend_after = {};
        return limits;
    }
    using Around = std::unique_ptr<ddi::Device>(std::unique_ptr<ddi::Device>);
    static std::unique_ptr<ddi::Device> as_it_is(std::unique_ptr<ddi::Device> device) {
        return device;
    }
    /// `around`: makes a device around that of the process.
    explicit Forger(const Protocol& protocol = kEnhancedMixed,
                    const sim::WorldOptions& options = {.mapped = true},
                    const Limits& its_limits = limits(), Around& around = as_it_is)
        : world(options),
          own(its_limits),
          device(around(world.open(settings_for(own)))),
          mp(*device, protocol, own) {
        bad->set_listener(&nobody);
        EXPECT_EQ(device->add_peer(bad->card(), &there), Status::ok);
        EXPECT_EQ(bad->add_peer(device->card(), &here), Status::ok);
        EXPECT_EQ(device->connect(there), Status::ok);
        turns();
        const auto block = bad->block(here);
        out.attach(here, own.layout, block, {}, gcs::Laps::by_transfers);
        in.attach(here, own.layout, block, 1 << 20, gcs::Laps::by_transfers, {});
        EXPECT_EQ(bad->network().open_window(gcs::Layout::kPoolWindow, gcs::Layout::kPool,
                                             bad->communication_memory()),
                  Status::ok);
        mp.active_messages().set_handler(
            5,
            [](void* self, nhi::PeerId, const void*, std::size_t, const void*, std::uint64_t,
               ReceiveTarget* target) {
                ++static_cast<Forger*>(self)->handled;
                *target = {};
            },
            this);
    }
    void turns(unsigned count = 100) {
        for (unsigned i = 0; i < count; ++i) {
            device->network().poll(0);
            bad->network().poll(0);
            mp.turn();
        }
    }
    template <WireRecord R>
    void say(Kind kind, const R& record, std::uint8_t flags = 0, std::uint16_t bytes = 0) {
        ASSERT_TRUE(out.slot_free());
        ASSERT_EQ(out.put(bad->network(), pack(Control{kind, flags, bytes}, record)), Status::ok);
        turns();
    }
    /// The same with its data in the ring.
    template <WireRecord R>
    void say_with(Kind kind, const R& record, std::uint8_t flags, std::uint16_t bytes) {
        ASSERT_TRUE(out.slot_free() && out.ring_free(bad->network(), bytes));
        const gcs::Line line = pack(Control{kind, flags, bytes}, record);
        std::memcpy(out.prepare().word, line.word, sizeof line.word);
        const gcs::LineWriter::Part part{data.data(), bytes};
        ASSERT_EQ(out.put(bad->network(), static_cast<std::uint32_t>(line.control), {&part, 1},
                          bytes),
                  Status::ok);
        turns();
    }
    /// What the process says next.
    gcs::Line hear() {
        turns();
        EXPECT_TRUE(in.ready());
        return in.take();
    }
    /// A send of the process that waits for its receive request.
    std::uint32_t announced(std::uint32_t flags = 0) {
        const iovec range{data.data(), data.size()};
        EXPECT_EQ(mp.send({there, 0, flags, 7, 0, {&range, 1}}, recorder.on(1), nullptr),
                  kAccepted);
        return unpack<AnnounceRecord>(hear()).send;
    }
    std::uint32_t posted(std::uint64_t match, std::size_t bytes, nhi::PeerId source) {
        const iovec range{to.data(), bytes};
        std::uint32_t handle = 0;
        EXPECT_EQ(mp.receive({source, 0, match, 0}, {&range, 1}, recorder.on(2), &handle, nullptr),
                  kAccepted);
        turns();
        return handle;
    }
    /// A receive of the process whose data it waits for: through the ring, the forger sends it.
    std::uint32_t asked(std::uint64_t length) {
        posted(7, std::max<std::uint64_t>(length, 20'000), kAnySource);
        say(Kind::announce, AnnounceRecord{7, 0, length, 0, 3, 0, 0});
        return unpack<ClearToSendRecord>(hear()).receive;
    }
    [[nodiscard]] bool gave_up() {
        const std::string why = mp.engine().peers.reason(there);
        const bool lost = mp.engine().counters.peers_lost == 1;
        EXPECT_EQ(mp.engine().counters.bad_requests, lost ? 1u : 0u);
        EXPECT_EQ(why.find("fails its checks") != std::string::npos, lost) << why;
        return lost;
    }
};

}  // namespace fci::mp::test
