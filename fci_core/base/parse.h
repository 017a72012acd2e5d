// SPDX-License-Identifier: BSD-3-Clause
// Reading what people write: numbers, sizes, and words that were nearly right.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace fci {

/// Decimal digits only: no sign, no blanks, nothing behind them, no overflow.
std::optional<std::uint64_t> parse_number(std::string_view text) noexcept;

/// A number with an optional K, M, G or T (powers of 1024), in either case, also as KiB or KB.
std::optional<std::uint64_t> parse_bytes(std::string_view text) noexcept;

/// Letters to insert, drop, replace, or swap with their neighbour to make one word of the other;
/// capitals do not matter.
unsigned edit_distance(std::string_view one, std::string_view other);

/// The word of `words`, which are separated by '|', that is nearest to `given`; empty when none
/// is near enough to be a likely slip of the pen (a third of its letters).
std::string_view nearest_word(std::string_view given, std::string_view words);

}  // namespace fci
