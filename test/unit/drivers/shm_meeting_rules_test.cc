// SPDX-License-Identifier: BSD-3-Clause
#include "drivers/shm/meeting_rules.h"
#include "fci_core/ddi/crossing.h"

#include <gtest/gtest.h>

#include <vector>

#include "drivers/shm/shortage.h"
#include "fci_core/base/prng.h"
#include "test/unit/drivers/calls.h"
#include "test/unit/drivers/hand_clock.h"
#include "test/unit/drivers/shm_party.h"
#include "test/unit/seed.h"

namespace fci::shm {
namespace {

TEST(ShmMeetingRules, is_own_way__of_exactly_one_of_two_and_of_half_of_them) {
    constexpr unsigned kProcesses = 64;
    Prng chance(seeded(11));
    std::vector<std::uint64_t> all;
    for (unsigned i = 0; i < kProcesses; ++i) all.push_back(chance.next() | 1u << 20);
    for (const std::uint64_t own : all) {
        unsigned ways = 0;
        for (const std::uint64_t other : all) {
            if (own == other) continue;
            EXPECT_NE(ddi::is_own_way(own, other), ddi::is_own_way(other, own));
            ways += ddi::is_own_way(own, other);
        }
        EXPECT_GT(ways, kProcesses / 8);
        EXPECT_LT(ways, kProcesses - kProcesses / 8);
    }
}

TEST(ShmMeetingRules, share_of__of_all_together_is_within_the_limit) {
    for (const std::size_t limit : {256u, 1024u, 4096u, 1u << 20}) {
        for (std::size_t processes = 1; processes <= 128; ++processes) {
            const MeetingShare share = share_of(limit, processes);
            EXPECT_GE(share.guests, 1u);
            EXPECT_GE(share.awaited, 1u);
            const std::size_t all = (share.guests + share.awaited) * kHelloFiles * processes;
            if (2 * kHelloFiles * processes <= limit) {
                EXPECT_LE(all, limit) << processes;
            }
        }
    }
}

TEST(ShmMeetingRules, patience_with__grows_and_ends) {
    for (std::uint64_t tries = 0; tries < 100; ++tries) {
        EXPECT_LE(patience_with(tries), patience_with(tries + 1));
        EXPECT_LT(patience_with(tries), 2'000'000'000);
    }
}

TEST(ShmShortageState, lasts__only_what_was_felt_all_the_time) {
    constexpr Nanoseconds kMs = 1'000'000;
    Shortage shortage(3000 * kMs);
    Nanoseconds now = 5 * kMs;
    for (; now < 3000 * kMs; now += 100 * kMs) EXPECT_FALSE(shortage.lasts(now));
    for (; now < 4000 * kMs; now += 100 * kMs) (void)shortage.lasts(now);
    EXPECT_TRUE(shortage.lasts(now));
    EXPECT_FALSE(shortage.lasts(now + 1500 * kMs)) << "it was over meanwhile";
    EXPECT_TRUE(shortage.is_news());
    EXPECT_FALSE(shortage.is_news());
}

TEST(ShmMeetingRules, share_of__figures) {
    const auto is = [](std::size_t limit, std::size_t processes, std::size_t guests,
                       std::size_t awaited) {
        const MeetingShare share = share_of(limit, processes);
        return share.guests == guests && share.awaited == awaited;
    };
    EXPECT_TRUE(is(0, 1, 1, 1));
    EXPECT_TRUE(is(8, 1, 1, 1));
    EXPECT_TRUE(is(9, 1, 2, 1));
    EXPECT_TRUE(is(9, 0, 2, 1));
    EXPECT_TRUE(is(kHelloFiles * 5 * 10, 10, 3, 2));
    EXPECT_TRUE(is(kHelloFiles * 32, 1, 16, 16));
    EXPECT_TRUE(is(1 << 20, 1, 16, 16));
}

TEST(ShmMeetingRules, patience_with__doubles_six_times) {
    constexpr Nanoseconds kMs = 1'000'000;
    EXPECT_EQ(patience_with(0), 20 * kMs);
    EXPECT_EQ(patience_with(1), 40 * kMs);
    EXPECT_EQ(patience_with(6), 1280 * kMs);
    EXPECT_EQ(patience_with(7), 1280 * kMs);
    EXPECT_EQ(patience_with(~std::uint64_t{0}), 1280 * kMs);
}

TEST(ShmShortageState, lasts__at_its_edges) {
    constexpr Nanoseconds kSecond = 1'000'000'000, kLimit = kSecond / 2;
    Shortage shortage(kLimit);
    EXPECT_FALSE(shortage.lasts(5));
    EXPECT_FALSE(shortage.lasts(5 + kLimit));
    EXPECT_TRUE(shortage.lasts(5 + kLimit + 1));
    EXPECT_TRUE(shortage.lasts(5 + kLimit + 1 + kSecond)) << "felt all the time";
    EXPECT_FALSE(shortage.lasts(5 + kLimit + 1 + kSecond + kSecond + 1)) << "a new one";
    EXPECT_TRUE(shortage.lasts(5 + kLimit + 1 + kSecond + kSecond + 1 + kLimit + 1));
}

// Everybody asks for everybody at once, and may take in one at a time only.
TEST(ShmMeeting, crossing__takes_at_most_two_calls_of_each_pair) {
    constexpr unsigned kCrowd = 12, kPairs = kCrowd * (kCrowd - 1) / 2;
    HandClock clock;
    const Tuning tuning{.descriptors = 2 * kHelloFiles * kCrowd, .clock = &clock};
    std::vector<std::unique_ptr<Party>> crowd;
    for (unsigned i = 0; i < kCrowd; ++i) {
        crowd.push_back(std::make_unique<Party>(party_settings(), tuning));
    }
    calls = {};
    for (auto& one : crowd) {
        for (auto& other : crowd) {
            if (one != other) one->meet(other->device->card());
        }
    }
    for (auto& one : crowd) {
        ASSERT_TRUE(one->until([&] {
            for (auto& other : crowd) other->turn();
            clock.time += 50'000;
            return one->attached.size() == kCrowd - 1;
        }));
        EXPECT_TRUE(one->lost.empty());
    }
    EXPECT_LE(calls.accepted, 2 * kPairs);
    calls = {};
}

// The one whose way gives way, and the other one: both are there before anything is tried again.
TEST(ShmMeeting, crossing__of_two_in_either_order) {
    for (unsigned first = 0; first < 8; ++first) {
        HandClock stopped;  // nothing that is tried again later comes
        const Tuning tuning{.clock = &stopped};
        Party one(party_settings(), tuning), other(party_settings(), tuning);
        Party& early = first % 2 == 0 ? one : other;
        Party& late = first % 2 == 0 ? other : one;
        early.meet(late.device->card());
        late.meet(early.device->card());
        ASSERT_TRUE(early.until(
            [&] { return late.turn(), !one.attached.empty() && !other.attached.empty(); }));
        EXPECT_TRUE(one.lost.empty() && other.lost.empty());
    }
}

// Who was on the way here, and was let go on, leaves: this process finds out for itself.
TEST(ShmMeeting, crossing__with_one_who_then_closes) {
    for (unsigned round = 0; round < 8; ++round) {
        auto one = std::make_unique<Party>();
        Party self;
        const ddi::Card card = one->device->card();
        one->meet(self.device->card());
        self.meet(card);
        for (unsigned turns = 0; turns < round; ++turns) self.turn();
        one.reset();
        ASSERT_TRUE(self.until([&] { return !self.lost.empty(); }));
    }
}

}  // namespace
}  // namespace fci::shm
