// SPDX-License-Identifier: BSD-3-Clause
#include "fci_core/base/flag.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <thread>

#include "test/unit/limit.h"

namespace fci {
namespace {

TEST(flag, publish__makes_the_bytes_before_it_visible) {
    // The data is plain memory: a missing barrier is a data race that the thread sanitizer sees.
    alignas(64) std::uint64_t sequence = 0, credit = 0;
    std::uint64_t data[8] = {};
    constexpr std::uint64_t kRounds = 20'000;
    Limit limit("the other thread");
    std::thread writer([&] {
        for (std::uint64_t round = 1; round <= kRounds; ++round) {
            while (flag::load_acquire(credit) != round - 1 && limit.holds())
                std::this_thread::yield();
            for (std::uint64_t& word : data) word = round;
            flag::store_release(sequence, round);
        }
    });
    bool intact = true;
    for (std::uint64_t round = 1; round <= kRounds; ++round) {
        while (flag::load_acquire(sequence) != round && limit.holds()) std::this_thread::yield();
        for (const std::uint64_t word : data) intact = intact && word == round;
        flag::store_release(credit, round);
    }
    writer.join();
    EXPECT_TRUE(intact);
}

TEST(flag, look_at__is_the_part_and_as_good_as_a_look_at_the_word) {
    const std::uint64_t word = 0x1122334455667788;
    EXPECT_EQ(flag::load_part_acquire<std::uint32_t>(word, 0), 0x55667788u);
    EXPECT_EQ(flag::load_part_acquire<std::uint32_t>(word, 1), 0x11223344u);
    EXPECT_EQ(flag::load_part_acquire<std::uint16_t>(word, 0), 0x7788u);
    EXPECT_EQ(flag::load_part_acquire<std::uint16_t>(word, 1), 0x5566u);

    alignas(64) std::uint64_t line[8] = {}, credit = 0;
    constexpr std::uint64_t kRounds = 20'000;
    Limit limit("the other thread");
    std::thread writer([&] {
        for (std::uint64_t round = 1; round <= kRounds; ++round) {
            while (flag::load_acquire(credit) != round - 1 && limit.holds())
                std::this_thread::yield();
            line[0] = round;
            flag::store_release(line[7], round << 32 | (round & 0xffff));
        }
    });
    bool intact = true;
    for (std::uint64_t round = 1; round <= kRounds; ++round) {
        while (flag::load_part_acquire<std::uint32_t>(line[7], 1) != round && limit.holds()) {
            std::this_thread::yield();
        }
        intact = intact && line[0] == round &&
                 flag::load_part_acquire<std::uint16_t>(line[7], 0) == (round & 0xffff);
        flag::store_release(credit, round);
    }
    writer.join();
    EXPECT_TRUE(intact);
}

TEST(flag, replace__lets_one_win) {
    std::uint32_t word = 0;
    unsigned wins[2] = {};
    Limit limit("the other thread");
    const auto compete = [&](unsigned self) {
        for (std::uint32_t turn = 0; turn < 20'000; ++turn) {
            std::uint32_t expected = turn;
            wins[self] += flag::compare_exchange(word, expected, turn + 1);
            while (flag::load_acquire(word) <= turn && limit.holds()) std::this_thread::yield();
        }
    };
    std::thread other(compete, 1u);
    compete(0);
    other.join();
    EXPECT_EQ(wins[0] + wins[1], 20'000u);
    EXPECT_EQ(word, 20'000u);
}

TEST(flag, replace__tells_what_is_there) {
    std::uint32_t word = 5, expected = 4;
    EXPECT_FALSE(flag::compare_exchange(word, expected, 6u));
    EXPECT_EQ(expected, 5u);
    EXPECT_EQ(flag::load_relaxed(word), 5u);
    flag::store_relaxed(word, 9u);
    EXPECT_EQ(word, 9u);
}

}  // namespace
}  // namespace fci
