// SPDX-License-Identifier: BSD-3-Clause
#include "fci_core/mp/move/wide_copy.h"

#include <gtest/gtest.h>

#include <cstring>
#include <vector>

namespace fci::mp {
namespace {

constexpr std::size_t kMost = 40'000;
constexpr std::byte kAround{0xee};

/// Every byte there, and none beside them.
void copies(void (*copy)(std::byte*, const std::byte*, std::size_t), std::size_t bytes,
            std::size_t to_at, std::size_t from_at) {
    alignas(64) static std::byte from[kMost + 128], to[kMost + 128], expected[kMost + 128];
    for (std::size_t i = 0; i < sizeof from; ++i) from[i] = static_cast<std::byte>(i * 7 + i / 256);
    std::memset(to, static_cast<int>(kAround), sizeof to);
    std::memset(expected, static_cast<int>(kAround), sizeof expected);
    std::memcpy(expected + to_at, from + from_at, bytes);
    copy(to + to_at, from + from_at, bytes);
    ASSERT_EQ(std::memcmp(to, expected, sizeof to), 0)
        << bytes << " bytes to " << to_at << " from " << from_at;
}

TEST(wide_copy, any_length_and_place) {
    for (const auto copy : {copy_wide, copy_past_cache}) {
        for (std::size_t bytes = 0; bytes < 700; bytes += bytes < 300 ? 1 : 13) {
            for (const std::size_t at : {0, 1, 31, 32, 33, 63}) copies(copy, bytes, at, 64 - at);
        }
        for (std::size_t at = 0; at < 64; at += 3) copies(copy, kMost - at, at, 17);
    }
}

}  // namespace
}  // namespace fci::mp
