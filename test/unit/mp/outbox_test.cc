// SPDX-License-Identifier: BSD-3-Clause
// Outbox: what could not be written at once goes out later, in order, and before all messages.
#include "fci_core/mp/outbox.h"

#include <gtest/gtest.h>

#include <memory>
#include <utility>

#include "fci_core/ddi/forwarding.h"
#include "fci_core/nhi/forwarding.h"
#include "test/unit/mp/forger.h"

namespace fci::mp::test {
namespace {

struct Writer : Forger {
    using Forger::Forger;
    Outbox& outbox = mp.engine().outbox;
    Peer& peer = mp.engine().peers[there];

    void tell(std::uint64_t handle) {
        outbox.reserve();
        outbox.tell(peer, Kind::withdrawn, handle, kAll);
    }
    void fill() {
        for (std::uint64_t i = 0; i < own.layout.slots; ++i) tell(i);
    }
    /// The next `count` are withdrawn, numbered from `first`.
    void expect(std::uint64_t first, std::uint64_t count) {
        for (std::uint64_t i = first; i < first + count; ++i) {
            const gcs::Line line = hear();
            EXPECT_EQ(Control::of(line).kind, Kind::withdrawn);
            EXPECT_EQ(Control::of(line).flags, kAll);
            EXPECT_EQ(Control::of(line).bytes, 0);
            EXPECT_EQ(unpack<HandleRecord>(line).handle, i);
        }
    }
    void return_credit() {
        EXPECT_EQ(in.return_credit(bad->network()), Status::ok);
        turns();
    }
};

TEST(outbox, tell__what_finds_no_slot_waits_and_stays_in_order) {
    Writer f;
    const std::uint64_t slots = f.own.layout.slots;
    f.fill();
    EXPECT_TRUE(f.peer.control.empty());
    EXPECT_TRUE(f.mp.drained());
    for (std::uint64_t i = 0; i < 10; ++i) f.tell(slots + i);
    EXPECT_FALSE(f.peer.control.empty());
    EXPECT_FALSE(f.mp.drained());
    EXPECT_TRUE(f.mp.engine().work.busy());
    f.expect(0, slots);
    f.turns();
    EXPECT_FALSE(f.in.ready());
    f.return_credit();
    f.expect(slots, 10);
    EXPECT_TRUE(f.mp.drained());
}

TEST(outbox, tell__behind_what_waits_though_there_is_room) {
    Writer f;
    const std::uint64_t slots = f.own.layout.slots;
    f.fill();
    f.tell(slots);
    f.expect(0, slots);
    EXPECT_EQ(f.in.return_credit(f.bad->network()), Status::ok);
    while (!f.world.idle()) f.device->network().poll(0);
    f.tell(slots + 1);  // no turn was taken yet
    f.expect(slots, 2);
}

/// A network that is to refuse some transfers.
struct BusyNetwork final : nhi::Forwarding {
    using Forwarding::Forwarding;
    Status initiate_transfer(const nhi::Transfer& transfer) noexcept override {
        if (refusals == 0) return inner().initiate_transfer(transfer);
        --refusals;
        return Status::again;
    }
    unsigned refusals = 0;
};

struct BusyDevice final : ddi::Forwarding {
    explicit BusyDevice(std::unique_ptr<ddi::Device> device)
        : Forwarding(std::move(device)), busy(inner().network()) {}
    [[nodiscard]] nhi::NetworkInterface& network() noexcept override { return busy; }
    static std::unique_ptr<ddi::Device> around(std::unique_ptr<ddi::Device> device) {
        return std::make_unique<BusyDevice>(std::move(device));
    }
    BusyNetwork busy;
};

// The request is tried again in the turn in which the first piece could go.
TEST(outbox, push__no_piece_overtakes_what_the_network_has_refused) {
    Writer f(kEnhancedMixed, {.mapped = true}, Forger::limits(), BusyDevice::around);
    unsigned& refusals = static_cast<BusyDevice&>(*f.device).busy.refusals;
    const ClearToSendRecord record{f.announced(), 9, 0, 100'000, 4096, 0, 0, 0};
    EXPECT_EQ(f.out.put(f.bad->network(), pack(Control{Kind::clear_to_send, 0, 0}, record)),
              Status::ok);
    while (!f.world.idle()) f.device->network().poll(0);
    refusals = 2;
    f.tell(5);
    EXPECT_FALSE(f.peer.control.empty());
    f.mp.turn();
    EXPECT_EQ(refusals, 0u);
    EXPECT_FALSE(f.peer.streams.empty());
    f.expect(5, 1);
    EXPECT_EQ(Control::of(f.hear()).kind, Kind::piece);
}

TEST(outbox, message__stays_behind_what_waits) {
    Writer f;
    const std::uint64_t slots = f.own.layout.slots;
    f.fill();
    f.tell(slots);
    f.expect(0, slots);
    EXPECT_EQ(f.in.return_credit(f.bad->network()), Status::ok);
    while (!f.world.idle()) f.device->network().poll(0);
    const iovec range{f.data.data(), 8};
    EXPECT_EQ(f.mp.send({f.there, 0, 0, 7, 0, {&range, 1}}, f.recorder.on(1), nullptr), kAccepted);
    EXPECT_EQ(f.mp.send({f.there, 0, kSendBuffered, 8, 0, {&range, 1}}, {}, nullptr), kAgain);
    f.expect(slots, 1);
    EXPECT_EQ(Control::of(f.hear()).kind, Kind::send);
    EXPECT_EQ(f.recorder.error(1), kSuccess);
}

TEST(outbox, tell__one_that_is_lost_nothing) {
    Writer f;
    f.fill();
    f.tell(1000);
    f.say(Kind::none, HandleRecord{1});
    EXPECT_TRUE(f.gave_up());
    EXPECT_TRUE(f.peer.control.empty()) << "forgotten";
    f.tell(1001);
    EXPECT_TRUE(f.peer.control.empty());
    f.expect(0, f.own.layout.slots);
    EXPECT_EQ(f.in.return_credit(f.bad->network()), Status::ok);
    f.turns();
    EXPECT_FALSE(f.in.ready());
}

TEST(outbox, tell__one_that_is_not_here_yet_waits_until_it_is) {
    Forger f;
    const std::unique_ptr<ddi::Device> third = f.world.open(settings_for(f.own));
    third->set_listener(&f.nobody);
    nhi::PeerId other = 0;
    ASSERT_EQ(f.device->add_peer(third->card(), &other), Status::ok);
    Outbox& outbox = f.mp.engine().outbox;
    Peer& peer = *f.mp.engine().peers.make(other);
    outbox.reserve();
    outbox.tell(peer, Kind::withdrawn, 5);
    EXPECT_FALSE(peer.control.empty());
    EXPECT_EQ(f.device->connect(other), Status::ok);
    f.turns();
    EXPECT_TRUE(peer.attached && peer.control.empty());
    EXPECT_EQ(peer.out.sent(), 1u);
}

TEST(outbox, memory__of_lines_that_waited_is_given_back_but_for_some) {
    Writer f;
    const std::uint64_t slots = f.own.layout.slots;
    const std::size_t before = f.outbox.memory();
    f.fill();
    for (std::uint64_t i = 0; i < 100; ++i) f.tell(slots + i);
    EXPECT_GE(f.outbox.memory(), before + 100 * sizeof(WaitingLine));
    for (std::uint64_t next = 0; next < slots + 100; next += slots) {
        f.expect(next, std::min(slots, slots + 100 - next));
        f.return_credit();
    }
    EXPECT_LE(f.outbox.memory(), 16 * sizeof(WaitingLine));
}

TEST(outbox, keep__what_was_reserved_from_others) {
    Writer f;
    f.outbox.reserve();
    WaitingLine& kept = f.outbox.keep();
    f.fill();
    f.tell(1000);  // takes another line
    f.outbox.keep_no_more(kept);
    f.outbox.tell(f.peer, Kind::withdrawn, 1001, kAll);  // takes the one that was kept
    f.expect(0, f.own.layout.slots);
    f.return_credit();
    f.expect(1000, 2);
}

}  // namespace
}  // namespace fci::mp::test
