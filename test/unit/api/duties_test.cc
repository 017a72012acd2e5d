// SPDX-License-Identifier: BSD-3-Clause
#include "fci_core/api/duties.h"

#include <gtest/gtest.h>

#include <vector>

#include "test/unit/mp/pair.h"

namespace fci::api {
namespace {

using mp::test::Pair;

constexpr Nanoseconds kTick = 50'000'000;  // from one report to the next

struct CountingHost final : progress::Host {
    void give_core_away() noexcept override {}
    unsigned core() noexcept override { return 0; }
    Nanoseconds used_time() noexcept override { return 0; }
    progress::Losses losses() noexcept override { return {-1, 0}; }
    void set_slice(Nanoseconds) noexcept override {}
    void take_place(int rank, unsigned ranks, unsigned cores) noexcept override {
        placed.insert(placed.end(), {static_cast<unsigned>(rank), ranks, cores});
    }
    std::vector<unsigned> placed;
};

/// What the first of two processes does in its turns.
class DutiesTest : public testing::Test {
protected:
    Pair pair;
    CountingHost host;
    Shown shown;
    const JobPlace place{2, 2, 1, {}};
    group::Groups groups{*pair.ends[0]};
    Duties duties{*pair.devices[0], *pair.ends[0], groups, shown, host, place, 4};
};

TEST_F(DutiesTest, polled__takes_its_place_once_it_has_met_a_peer) {
    EXPECT_EQ(duties.polled(0, 1), 1u);
    EXPECT_TRUE(host.placed.empty());
    pair.attach();
    EXPECT_EQ(duties.polled(0, 0), 2u);
    EXPECT_TRUE(host.placed.empty()) << "the network has brought nothing";
    EXPECT_EQ(duties.polled(0, 1), 2u);
    EXPECT_EQ(host.placed, (std::vector<unsigned>{1, 2, 4}));
    EXPECT_EQ(duties.polled(0, 1), 2u);
    EXPECT_EQ(host.placed.size(), 3u) << "once";
}

TEST_F(DutiesTest, polled__shows_who_is_connected_at_once) {
    (void)duties.polled(1, 0);
    EXPECT_EQ(shown.connected(), 0u);
    pair.attach();
    EXPECT_EQ(shown.connected(), 0u);
    (void)duties.polled(2, 0);
    EXPECT_EQ(shown.connected(), 1u);
}

TEST_F(DutiesTest, polled__meets_all_when_a_receive_from_anybody_has_waited_a_second) {
    std::vector<std::byte> any(8);
    std::uint32_t order = 0;
    pair.receive(0, 7, any, 1, &order, true);
    for (Nanoseconds tick = 1; tick < 20; ++tick) (void)duties.polled(tick * kTick, 0);
    (void)duties.polled(19 * kTick + 1, 0);
    EXPECT_EQ(duties.signs().expected, 0u);
    (void)duties.polled(20 * kTick, 0);
    EXPECT_EQ(duties.signs().expected, 1u);
    pair.settle();
    EXPECT_EQ(pair.ends[0]->engine().peers.connected(), 1u);
    pair.ends[0]->cancel(order);
    pair.settle();
}

TEST_F(DutiesTest, signs__of_what_the_caller_does) {
    EXPECT_FALSE(duties.signs().is_in_use);
    pair.attach();
    const progress::Signs before = duties.signs();
    EXPECT_TRUE(before.is_in_use);
    EXPECT_FALSE(before.goes_on);
    std::vector<std::byte> data(8);
    EXPECT_EQ(pair.send(0, 0, 7, data, 1), mp::kDone);
    EXPECT_EQ(duties.signs().begun, before.begun + 1);
    EXPECT_EQ(duties.advance(3), 3) << "nothing goes on";
    EXPECT_EQ(duties.advance(-3), -3);
    EXPECT_EQ(duties.turn(), 0);
}

}  // namespace
}  // namespace fci::api
