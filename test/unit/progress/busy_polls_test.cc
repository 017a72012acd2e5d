// SPDX-License-Identifier: BSD-3-Clause
#include "fci_core/progress/busy_polls.h"

#include <gtest/gtest.h>

namespace fci::progress {
namespace {

TEST(BusyPolls, count_turn__asks_the_clock_where_the_network_wants_it_by_time) {
    BusyPolls memory, both;
    both.polled(0, 1000);
    EXPECT_FALSE(memory.by_time());
    EXPECT_TRUE(both.by_time());
    unsigned asked = 0;
    for (unsigned i = 0; i < 10 * BusyPolls::kTurns; ++i) {
        EXPECT_FALSE(memory.count_turn());
        asked += both.count_turn();
    }
    EXPECT_EQ(asked, 10u);
    both.polled(1000, nhi::NetworkInterface::kBusyPollEvery);
    EXPECT_FALSE(both.by_time()) << "who came by the network has gone";
}

TEST(BusyPolls, is_due__since_the_last_poll) {
    BusyPolls both;
    both.polled(5000, 1000);
    EXPECT_FALSE(both.is_due(5999));
    EXPECT_TRUE(both.is_due(6000));
}

}  // namespace
}  // namespace fci::progress
