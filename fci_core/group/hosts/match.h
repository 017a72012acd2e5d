// SPDX-License-Identifier: BSD-3-Clause
// match_of: by which messages of a group's collective are found.
#pragma once

#include <cstdint>

namespace fci::group {

/// Of a match; the rest is the group's key.
inline constexpr unsigned kNumberBits = 16;

/// `number`: of the collective. There are two kinds of messages in one: those of an exchange, and
/// those with data of any length.
[[nodiscard]] constexpr std::uint64_t match_of(std::uint64_t key, std::uint64_t number,
                                               bool is_long) noexcept {
    constexpr std::uint64_t kLong = 1u << (kNumberBits - 1);
    return key << kNumberBits | (is_long ? kLong : 0) | (number & (kLong - 1));
}
static_assert(match_of(5, (1u << kNumberBits) - 1, true) >> kNumberBits == 5);

}  // namespace fci::group
