// SPDX-License-Identifier: BSD-3-Clause
// The own side of the network interface: which windows a process may open, and what it shows of the
// events that it wants.
#include <arpa/inet.h>

#include <cstring>
#include <limits>
#include <span>

#include "test/unit/drivers/calls.h"
#include "test/unit/drivers/hand_clock.h"
#include "test/unit/drivers/shm_odd_host.h"
#include "test/unit/drivers/shm_party.h"

namespace fci::shm {
namespace {

constexpr std::uint64_t kFirst = nhi::kPairLimit;  // of the addresses that windows may have

struct ShmWindow : testing::Test {
    void SetUp() override { calls = {}; }
    void TearDown() override { calls = {}; }
    nhi::NetworkInterface& network() { return self.device->network(); }
    [[nodiscard]] std::span<std::byte> memory() const {
        return self.device->communication_memory();
    }
    Status open(nhi::WindowNumber number, std::uint64_t base, std::size_t bytes) {
        return network().open_window(number, nhi::LcsAddress{base}, memory().subspan(0, bytes));
    }
    SharedHeader& own() {
        return *reinterpret_cast<SharedHeader*>(memory().data() - kSharedHeaderBytes);
    }
    std::uint32_t cycle() { return static_cast<std::uint32_t>(own().wanted_events >> 32); }
    HandClock clock;
    Party self{party_settings(), {.clock = &clock}};
};

TEST_F(ShmWindow, open__has_a_number_and_an_address_of_windows) {
    EXPECT_EQ(open(nhi::kWindowsMax, kFirst, 8), Status::invalid);
    EXPECT_EQ(open(nhi::kWindowsMax - 1, kFirst - 1, 8), Status::invalid);
    EXPECT_EQ(open(nhi::kWindowsMax - 1, kFirst, 8), Status::ok);
    EXPECT_EQ(open(0, kFirst + 8, 0), Status::invalid) << "of no bytes";
    constexpr std::uint64_t kLast = std::numeric_limits<std::uint64_t>::max();
    EXPECT_EQ(open(0, kLast - 7, 8), Status::invalid) << "its end has no number";
    EXPECT_EQ(open(0, kLast - 7, 16), Status::invalid);
    EXPECT_EQ(open(0, kLast - 8, 8), Status::ok);
}

TEST_F(ShmWindow, open__lies_in_the_communication_memory) {
    std::byte* const begin = memory().data();
    const std::size_t bytes = memory().size();
    const nhi::LcsAddress base{kFirst};
    EXPECT_EQ(network().open_window(0, base, {begin - 8, 8}), Status::invalid);
    EXPECT_EQ(network().open_window(0, base, {begin, bytes + 1}), Status::invalid);
    EXPECT_EQ(network().open_window(0, base, {begin + bytes - 8, 9}), Status::invalid);
    EXPECT_EQ(network().open_window(0, base, {begin + bytes, 1}), Status::invalid);
    ASSERT_EQ(network().open_window(0, base, {begin + bytes - 8, 8}), Status::ok);
    EXPECT_EQ(self.put(nhi::kSelf, kFirst, 0x0123456789abcdef), Status::ok);
    std::uint64_t word = 0;
    std::memcpy(&word, begin + bytes - 8, sizeof word);
    EXPECT_EQ(word, 0x0123456789abcdefu);
}

TEST_F(ShmWindow, open__shares_no_address_with_another_one) {
    constexpr std::uint64_t kBase = kFirst + 1000;
    ASSERT_EQ(open(1, kBase, 64), Status::ok);
    EXPECT_EQ(open(1, kBase + 1000, 8), Status::invalid) << "it is open";
    for (const std::uint64_t base : {kBase - 63, kBase - 8, kBase, kBase + 8, kBase + 63}) {
        EXPECT_EQ(open(2, base, 64), Status::invalid) << base - kBase;
    }
    EXPECT_EQ(open(2, kBase - 1, 66), Status::invalid) << "around it";
    EXPECT_EQ(open(2, kBase + 8, 8), Status::invalid) << "within it";
    EXPECT_EQ(open(2, kBase - 64, 64), Status::ok);
    EXPECT_EQ(open(3, kBase + 64, 64), Status::ok);
    EXPECT_EQ(open(4, kBase + 500, 64), Status::ok);
    EXPECT_EQ(open(5, kBase - 500, 64), Status::ok);
    ASSERT_EQ(network().close_window(1), Status::ok);
    EXPECT_EQ(open(6, kBase, 64), Status::ok) << "it is closed";
}

TEST_F(ShmWindow, event__has_a_number) {
    constexpr nhi::EventSignal kAll{.flag = true, .interrupt = true};
    EXPECT_EQ(network().configure_event(nhi::kEventsMax, kAll), Status::invalid);
    EXPECT_EQ(network().mask_event_interrupt(nhi::kEventsMax, true), Status::invalid);
    EXPECT_EQ(network().event_count(nhi::kEventsMax), 0u);
    EXPECT_EQ(static_cast<std::uint32_t>(own().wanted_events), 0u);
    ASSERT_EQ(network().configure_event(nhi::kEventsMax - 1, kAll), Status::ok);
    EXPECT_EQ(static_cast<std::uint32_t>(own().wanted_events), 1u << (nhi::kEventsMax - 1));
    own().count[nhi::kEventsMax - 1] = 7;
    EXPECT_EQ(network().event_count(nhi::kEventsMax - 1), 7u);
    ASSERT_EQ(open(0, kFirst, 8), Status::ok) << "behind the counts";
    EXPECT_EQ(network().event_count(nhi::kEventsMax), 0u);
}

// A process that was woken in a cycle is not woken again in it, so none begins with the number of
// the last one.
TEST_F(ShmWindow, event__that_is_wanted_anew_begins_a_cycle) {
    EXPECT_NE(cycle(), own().rung_cycle);
    const std::uint32_t before = cycle();
    ASSERT_EQ(network().configure_event(0, {.flag = false, .interrupt = true}), Status::ok);
    EXPECT_EQ(cycle(), before + 1);
    ASSERT_EQ(network().configure_event(0, {.flag = false, .interrupt = true}), Status::ok);
    EXPECT_EQ(cycle(), before + 2);
}

// The device calls itself where a meeting has failed at once; that is none of the program's events.
TEST_F(ShmWindow, woken__where_no_event_interrupts_begins_no_cycle) {
    const std::uint32_t before = cycle();
    ddi::Card elsewhere = self.device->card();
    elsewhere.host = htonl(0xcb007163);  // 203.0.113.99
    ++elsewhere.incarnation;
    self.meet(elsewhere);
    clock.time += kMs;
    self.turn();
    ASSERT_EQ(self.lost.size(), 1u);
    EXPECT_EQ(cycle(), before);
}

// Whoever unmasks looks after that, and then may sleep.
TEST_F(ShmWindow, unmask__forgets_a_call_that_was_heard_before) {
    ASSERT_EQ(network().configure_event(0, {.flag = false, .interrupt = true}), Status::ok);
    ASSERT_EQ(self.put(nhi::kSelf, 0, 1), Status::ok);
    clock.time += kMs;
    self.turn();
    ASSERT_EQ(network().mask_event_interrupt(0, true), Status::ok);
    ASSERT_EQ(network().mask_event_interrupt(0, false), Status::ok);
    calls.waits = 0;
    self.device->sleep(0);
    EXPECT_EQ(calls.waits, 1u);
}

}  // namespace
}  // namespace fci::shm
