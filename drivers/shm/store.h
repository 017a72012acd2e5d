// SPDX-License-Identifier: BSD-3-Clause
// Stores into another process's memory, in the order that the network promises (App. C, §2.6.9).
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "fci_core/base/flag.h"

namespace fci::shm {

/// Up to here every aligned word is a store of its own, in address order; above, only the last one.
inline constexpr std::size_t kWordwiseBytes = 256;
static_assert(kWordwiseBytes >= 64, "a request is one of these");

namespace detail {

[[gnu::always_inline]] inline void store_word(std::byte* to, const std::byte* from) noexcept {
    std::uint64_t word;
    std::memcpy(&word, from, sizeof word);
    flag::store_release(*reinterpret_cast<std::uint64_t*>(to), word);
}

/// Stores the bytes before the first or behind the last aligned word: an aligned half word, or
/// bytes.
inline void store_rest(std::byte* to, const std::byte* from, std::size_t bytes) noexcept {
    while (bytes != 0) {
        if (bytes >= 4 && (reinterpret_cast<std::uintptr_t>(to) & 3) == 0) {
            std::uint32_t half;
            std::memcpy(&half, from, sizeof half);
            flag::store_release(*reinterpret_cast<std::uint32_t*>(to), half);
            to += 4, from += 4, bytes -= 4;
        } else {
            flag::store_release(*reinterpret_cast<std::uint8_t*>(to),
                                static_cast<std::uint8_t>(*from));
            ++to, ++from, --bytes;
        }
    }
}

[[gnu::noinline]] inline void store_any(std::byte* to, const std::byte* from,
                                        std::size_t bytes) noexcept {
    const std::size_t head = -reinterpret_cast<std::uintptr_t>(to) & 7;
    if (head + 8 > bytes) return store_rest(to, from, bytes);
    const std::size_t words = (bytes - head) & ~std::size_t{7};
    const std::size_t last = head + words - 8;
    if (bytes > kWordwiseBytes) {
#if !defined(__x86_64__)
        flag::full_fence();  // the copy must not overtake what was published before
#endif
        std::memcpy(to, from, last);
    } else {
        store_rest(to, from, head);
        for (std::size_t i = head; i < last; i += 8) store_word(to + i, from + i);
    }
    store_rest(to + last + 8, from + last + 8, bytes - last - 8);
    store_word(to + last, from + last);
}

}  // namespace detail

/// The last aligned 8-byte word becomes visible after all other bytes, these after all stores
/// before. No locked instruction, no fence.
[[gnu::always_inline]] inline void store(std::byte* to, const void* from,
                                         std::size_t bytes) noexcept {
    const auto* const source = static_cast<const std::byte*>(from);
    if (bytes == 64 && (reinterpret_cast<std::uintptr_t>(to) & 7) == 0) {  // a request
        for (std::size_t i = 0; i < 64; i += 8) detail::store_word(to + i, source + i);
    } else {
        detail::store_any(to, source, bytes);
    }
}

}  // namespace fci::shm
