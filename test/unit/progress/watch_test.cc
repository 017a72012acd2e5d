// SPDX-License-Identifier: BSD-3-Clause
// By what a process finds out that it shares its core.
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

#include "fci_core/progress/core_share.h"
#include "fci_core/progress/host.h"
#include "fci_core/progress/losses.h"

namespace fci::progress {
namespace {

constexpr Nanoseconds kSecond = 1'000'000'000;

constexpr Nanoseconds kMillisecond = 1'000'000;

/// Watches for `duration`, in which others have the core for `share` of the time. For how long the
/// policy took the core for shared.
Nanoseconds watch(CoreShare& policy, Nanoseconds* now, Nanoseconds* lost, Nanoseconds duration,
                  double share) {
    constexpr Nanoseconds kStep = kMillisecond;
    Nanoseconds shared = 0;
    for (const Nanoseconds end = *now + duration; *now < end; *now += kStep) {
        if (policy.wants_watch(*now)) policy.watch({*lost, 0}, *now);
        const bool shares = policy.gives_core_away();
        shared += shares ? kStep : 0;
        *lost += static_cast<Nanoseconds>(share * kStep);
    }
    return shared;
}

TEST(CoreShare, watch__finds_out_that_the_core_is_shared) {
    Nanoseconds now = kSecond, lost = 0;
    for (const double share : {0.3, 0.5, 0.9}) {
        CoreShare policy("auto", 2, 2);
        EXPECT_EQ(watch(policy, &now, &lost, kSecond / 10, 0), 0);
        EXPECT_GT(watch(policy, &now, &lost, kSecond / 10, share), kSecond / 100) << share;
        // As long as that is so it does not spin: among others that yield it would lose nothing.
        EXPECT_EQ(watch(policy, &now, &lost, 10 * kSecond, share), 10 * kSecond) << share;
    }
    CoreShare policy("auto", 2, 2);
    watch(policy, &now, &lost, 45 * kMillisecond, 0.5);
    EXPECT_NE(policy.describe().find("shares its core"), std::string::npos);
    EXPECT_FALSE(CoreShare("spin", 2, 2).wants_watch(now));
    EXPECT_FALSE(CoreShare("auto", 3, 2).wants_watch(now)) << "it is known";
}

TEST(CoreShare, watch__soon_finds_out_that_it_is_not_shared_any_more) {
    Nanoseconds now = kSecond, lost = 0;
    CoreShare policy("auto", 2, 2);
    watch(policy, &now, &lost, kSecond / 5, 0);
    // A compiler, say, wanted this core for a moment.
    EXPECT_GT(watch(policy, &now, &lost, 40 * kMillisecond, 0.5), 0);
    EXPECT_LE(watch(policy, &now, &lost, kSecond, 0), 60 * kMillisecond);
    // Or for long.
    watch(policy, &now, &lost, 60 * kSecond, 0.5);
    EXPECT_LE(watch(policy, &now, &lost, 10 * kSecond, 0), 2 * kSecond);
    EXPECT_GT(watch(policy, &now, &lost, 40 * kMillisecond, 0.5), 0);
    EXPECT_LE(watch(policy, &now, &lost, kSecond, 0), 60 * kMillisecond) << "as the first time";
}

// They lose nothing while they sleep, so spinning is tried again, the longer the more seldom.
TEST(CoreShare, watch__where_spinning_was_too_early_it_is_tried_later) {
    Nanoseconds now = kSecond, lost = 0, shared = 0;
    CoreShare policy("auto", 2, 2);
    const Nanoseconds end = now + 10 * kSecond;
    while (now < end) {
        shared += watch(policy, &now, &lost, kMillisecond, policy.gives_core_away() ? 0 : 0.5);
    }
    EXPECT_GT(shared, 9 * kSecond);
    EXPECT_LT(shared, 10 * kSecond);
}

// Daemons take the core often, and not for long.
TEST(CoreShare, watch__short_losses_say_nothing) {
    Nanoseconds now = kSecond, lost = 0;
    CoreShare policy("auto", 2, 2);
    EXPECT_EQ(watch(policy, &now, &lost, 10 * kSecond, 0.2), 0);
    // Nor what another thread lost, nor what was lost in an hour without a look.
    policy.watch({lost += 3600 * kSecond, 0}, now += 20 * kMillisecond);
    EXPECT_FALSE(policy.gives_core_away());
    policy.watch({lost -= 3600 * kSecond, 0}, now += 20 * kMillisecond);
    EXPECT_FALSE(policy.gives_core_away());
    policy.watch({lost += 1800 * kSecond, 0}, now += 3600 * kSecond);
    EXPECT_FALSE(policy.gives_core_away());
}

// They give each turn back at once, so it loses less by them. How often it loses its core tells.
TEST(CoreShare, watch__a_spinner_among_others_that_yield_finds_out) {
    const auto shares = [](std::uint64_t times, Nanoseconds lost, int watches = 50) {
        Nanoseconds now = kSecond;
        CoreShare policy("auto", 1, 1);
        Losses losses{0, 0};
        for (int watch = 0; watch < watches; ++watch) {
            losses = {losses.time + lost, losses.times + times};
            policy.watch(losses, now += 20 * kMillisecond);
        }
        return policy.gives_core_away();
    };
    EXPECT_TRUE(shares(5, 2'800'000)) << "at each tick of 4 ms, among three";
    EXPECT_TRUE(shares(10, 2 * kMillisecond));
    EXPECT_FALSE(shares(3, 2 * kMillisecond));
    EXPECT_FALSE(shares(20, kMillisecond)) << "a daemon";
    EXPECT_FALSE(shares(20, 2 * kMillisecond)) << "a daemon on a slow machine";
    EXPECT_FALSE(shares(10, 4 * kMillisecond, 2)) << "somebody wanted the core for a moment";
    EXPECT_FALSE(shares(0, 2 * kMillisecond));
}

// The kernel counts them as they are meant here.
TEST(Losses, grow_while_another_process_has_the_core) {
    if (losses().time < 0) GTEST_SKIP() << "the kernel does not tell it";
    cpu_set_t before, one;
    ASSERT_EQ(sched_getaffinity(0, sizeof before, &before), 0);
    CPU_ZERO(&one);
    CPU_SET(sched_getcpu(), &one);
    ASSERT_EQ(sched_setaffinity(0, sizeof one, &one), 0);
    const pid_t other = fork();
    if (other == 0) {
        alarm(20);
        for (volatile unsigned work = 0;;) work = work + 1;
    }
    const Losses before_all = losses();
    const Nanoseconds used = used_time();
    while (used_time() - used < 50 * kMillisecond) {
    }
    const Losses after_all = losses();
    kill(other, SIGKILL);
    waitpid(other, nullptr, 0);
    sched_setaffinity(0, sizeof before, &before);
    EXPECT_GT(after_all.time - before_all.time, 15 * kMillisecond);
    EXPECT_GT(after_all.times, before_all.times + 3);
}

}  // namespace
}  // namespace fci::progress
