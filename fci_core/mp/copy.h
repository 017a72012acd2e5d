// SPDX-License-Identifier: BSD-3-Clause
// Copies of short messages, without a call.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "fci_core/mp/limits.h"
#include "fci_core/mp/move/wide_copy.h"

namespace fci::mp {

constexpr bool is_word_or_two(std::uint64_t bytes) noexcept { return bytes - 8 <= 8; }
[[gnu::always_inline]] inline void copy_word_or_two(std::byte* to, const std::byte* from,
                                                    std::uint64_t bytes) noexcept {
    __builtin_memcpy(to, from, 8);
    __builtin_memcpy(to + bytes - 8, from + bytes - 8, 8);
}
/// At most 48 bytes, without a call: moves that overlap where the length is no power of two.
[[gnu::always_inline]] inline void copy_short(std::byte* to, const std::byte* from,
                                              std::uint64_t bytes) noexcept {
    if (is_word_or_two(bytes)) [[likely]] {
        copy_word_or_two(to, from, bytes);
    } else if (bytes > 16) {
        for (std::uint64_t at = 0; at + 16 <= bytes; at += 16) {
            __builtin_memcpy(to + at, from + at, 16);
        }
        __builtin_memcpy(to + bytes - 16, from + bytes - 16, 16);
    } else if (bytes >= 4) {
        __builtin_memcpy(to, from, 4);
        __builtin_memcpy(to + bytes - 4, from + bytes - 4, 4);
    } else {
        for (std::uint64_t i = 0; i < bytes; ++i) to[i] = from[i];
    }
}

constexpr std::uint64_t kWideLeast = 2048;

/// A message of any length, most of which are short.
[[gnu::always_inline]] inline void copy(std::byte* to, const std::byte* from,
                                        std::uint64_t bytes) noexcept {
    if (bytes <= kInlineBytes + 8) {
        copy_short(to, from, bytes);
    } else if (bytes < kWideLeast) {
        std::memcpy(to, from, bytes);
    } else {
        copy_wide(to, from, bytes);
    }
}

}  // namespace fci::mp
