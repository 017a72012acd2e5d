// SPDX-License-Identifier: BSD-3-Clause
#include "fci_core/progress/blocking.h"

#include <gtest/gtest.h>

#include <string_view>

namespace fci::progress {
namespace {

constexpr Nanoseconds kMillisecond = 1'000'000;
constexpr Nanoseconds kSecond = 1'000'000'000;

WaitStep wait(const CoreShare& core, unsigned empty_turns, Nanoseconds waited) {
    return Blocking::wait(core, empty_turns, waited);
}

TEST(Blocking, wait__spins_yields_and_sleeps) {
    const CoreShare crowd("auto", 8, 2);
    EXPECT_EQ(wait(crowd, 16, 0).action, WaitAction::spin);
    EXPECT_EQ(wait(crowd, 17, 0).action, WaitAction::yield);
    EXPECT_EQ(wait(crowd, 20, 0).action, WaitAction::yield);
    EXPECT_EQ(wait(crowd, 21, 0).action, WaitAction::sleep);
    EXPECT_EQ(wait(crowd, 21, 0).sleep_ns, 100 * kMillisecond);
    EXPECT_EQ(wait(crowd, 20, 0).sleep_ns, 0);
    const CoreShare alone("auto", 2, 2);
    EXPECT_EQ(wait(alone, 1'000'000, kMillisecond - 1).action, WaitAction::spin);
    EXPECT_EQ(wait(alone, 1, kMillisecond).action, WaitAction::sleep);
    EXPECT_EQ(wait(alone, 1, kMillisecond).sleep_ns, 100 * kMillisecond);
    const CoreShare yields("yield", 1, 2);
    EXPECT_EQ(wait(yields, 16, 0).action, WaitAction::spin);
    EXPECT_EQ(wait(yields, 1'000'000, 1000 * kMillisecond).action, WaitAction::yield);
}

TEST(Blocking, automatic__a_long_wait_sleeps_even_with_a_core) {
    const CoreShare policy("auto", 2, 2);
    EXPECT_EQ(wait(policy, 1'000'000, kSecond).action, WaitAction::sleep);
    const CoreShare stubborn("spin", 2, 2);
    EXPECT_EQ(wait(stubborn, 1'000'000, 100 * kSecond).action, WaitAction::spin);
}

TEST(Blocking, wait__as_the_user_says) {
    EXPECT_EQ(wait({"yield", 8, 2}, 1'000'000, kSecond).action, WaitAction::yield);
    EXPECT_EQ(wait({"sleep", 1, 2}, 1'000, 0).action, WaitAction::sleep);
    for (const std::string_view mode : {"auto", "sleep"}) {
        EXPECT_EQ(wait({mode, 8, 2}, 1'000'000, kSecond).sleep_ns, 100 * kMillisecond) << mode;
    }
}

TEST(Blocking, sleep_of_wait__is_a_sixteenth_and_at_least_short) {
    EXPECT_FALSE(Blocking::is_long(kMillisecond - 1));
    EXPECT_TRUE(Blocking::is_long(kMillisecond));
    EXPECT_EQ(Blocking::sleep_of_wait(0), kShortSleep);
    EXPECT_EQ(Blocking::sleep_of_wait(16 * kShortSleep), kShortSleep);
    EXPECT_EQ(Blocking::sleep_of_wait(16 * kShortSleep + 16), kShortSleep + 1);
}

}  // namespace
}  // namespace fci::progress
