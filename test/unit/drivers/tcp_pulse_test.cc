// SPDX-License-Identifier: BSD-3-Clause
// The pulse of a host: fed with what the kernel would say, and times.
#include <gtest/gtest.h>

#include "drivers/tcp/pulse.h"

namespace fci::tcp {
namespace {

constexpr Nanoseconds kSecond = 1'000'000'000, kUsual = 10 * kSecond;

/// Looks from second `from` to `to`; `sign(now)`. The first look that says silent; -1: none.
template <class Sign>
double silent_at(Pulse& pulse, double from, double to, Sign sign) {
    for (double now = from; now <= to; now += 0.5) {
        if (!pulse.look(static_cast<Nanoseconds>(now * 1e9), sign(now))) return now;
    }
    return -1;
}

Pulse::Sign owed(double heard_ago) {
    return {true, static_cast<Nanoseconds>(heard_ago * 1e9)};
}

TEST(pulse, look__a_host_that_falls_silent_is_noticed_after_10_s) {
    Pulse pulse(kUsual);
    // Its last word was at 100.
    const double at = silent_at(pulse, 100, 200, [](double now) { return owed(now - 100); });
    EXPECT_GE(at, 109);
    EXPECT_LE(at, 110.5);
}

TEST(pulse, look__a_host_gets_as_much_time_as_was_asked_for) {
    for (const Nanoseconds silence : {2, 60}) {
        Pulse pulse(silence * kSecond);
        const auto most = static_cast<double>(silence);
        const double at = silent_at(pulse, 100, 300, [](double now) { return owed(now - 100); });
        EXPECT_GE(at, 100 + most - 1);
        EXPECT_LE(at, 100 + most + 0.5);
    }
}

TEST(pulse, look__a_host_that_answers_is_alive_however_long_its_process_takes_nothing) {
    Pulse pulse(kUsual);
    // Asked every two seconds for room, and answers each time.
    const double at = silent_at(pulse, 100, 5000, [](double now) {
        const double since = now - 2 * static_cast<double>(static_cast<int>(now / 2));
        return Pulse::Sign{since < 0.1, static_cast<Nanoseconds>(since * 1e9)};
    });
    EXPECT_EQ(at, -1);
}

TEST(pulse, look__what_is_sent_after_a_long_silence_is_owed_from_then_on) {
    Pulse pulse(kUsual);
    EXPECT_EQ(silent_at(pulse, 1000, 1009, [](double now) { return owed(now); }), -1);
    EXPECT_NE(silent_at(pulse, 1009.5, 1011, [](double now) { return owed(now); }), -1);
}

TEST(pulse, look__an_answer_begins_it_anew) {
    Pulse pulse(kUsual);
    EXPECT_EQ(silent_at(pulse, 100, 108, [](double now) { return owed(now - 100); }), -1);
    EXPECT_EQ(silent_at(pulse, 108.5, 117, [](double now) { return owed(now - 108.2); }), -1);
}

TEST(pulse, look__after_a_stop_of_the_process_itself_the_kernel_is_believed) {
    Pulse pulse(kUsual);
    EXPECT_TRUE(pulse.look(100 * kSecond, owed(0.1)));
    // Stopped for 30 s, in which all was answered; just now something else was sent.
    EXPECT_TRUE(pulse.look(130 * kSecond, owed(28)));
    EXPECT_TRUE(pulse.look(130 * kSecond + kSecond / 2, {false, kSecond / 10}));
}

/// It is looked at each half second, and so much is not waited for in vain.
TEST(pulse, look__to_the_nanosecond) {
    constexpr Nanoseconds kHalf = kSecond / 2;
    const auto is_silent = [&](Nanoseconds after) {
        Pulse pulse(kUsual);
        EXPECT_TRUE(pulse.look(100 * kSecond, {true, kHalf}));
        return !pulse.look(100 * kSecond + after, {true, kHalf + after});
    };
    EXPECT_FALSE(is_silent(kUsual - kHalf - 1));
    EXPECT_TRUE(is_silent(kUsual - kHalf));
    const auto begins_anew = [&](Nanoseconds heard) {
        Pulse pulse(kUsual);
        EXPECT_TRUE(pulse.look(100 * kSecond, {true, 0}));
        return pulse.look(200 * kSecond, {true, 200 * kSecond - heard});
    };
    EXPECT_FALSE(begins_anew(100 * kSecond)) << "it said something just then, and nothing since";
    EXPECT_TRUE(begins_anew(100 * kSecond + 1));
}

}  // namespace
}  // namespace fci::tcp
