// SPDX-License-Identifier: BSD-3-Clause
#include "fci_core/mp/move/wide_copy.h"

#include <cstdint>
#include <cstring>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace fci::mp {

namespace {

using Copy = void (*)(std::byte*, const std::byte*, std::size_t) noexcept;

#if defined(__x86_64__)

constexpr std::size_t kWide = 32;
constexpr std::size_t kTurn = 4 * kWide;  // as many are under way at once

/// Up to an address of which stores are aligned. The bytes that this takes.
std::size_t align(std::byte* to, const std::byte* from) noexcept {
    const std::size_t before = -reinterpret_cast<std::uintptr_t>(to) % kWide;
    std::memcpy(to, from, before);
    return before;
}

/// `store`: how one register goes where it is to be.
template <class Store>
[[gnu::target("avx2"), gnu::always_inline]] inline void in_turns(std::byte* to,
                                                                 const std::byte* from,
                                                                 std::size_t bytes,
                                                                 Store store) noexcept {
    if (bytes < 2 * kTurn) return (void)std::memcpy(to, from, bytes);
    std::size_t at = align(to, from);
    for (; bytes - at >= kTurn; at += kTurn) {
        const auto* const source = reinterpret_cast<const __m256i*>(from + at);
        auto* const target = reinterpret_cast<__m256i*>(to + at);
        const __m256i a = _mm256_loadu_si256(source), b = _mm256_loadu_si256(source + 1),
                      c = _mm256_loadu_si256(source + 2), d = _mm256_loadu_si256(source + 3);
        store(target, a);
        store(target + 1, b);
        store(target + 2, c);
        store(target + 3, d);
    }
    std::memcpy(to + at, from + at, bytes - at);
}

[[gnu::target("avx2")]] void wide(std::byte* to, const std::byte* from,
                                  std::size_t bytes) noexcept {
    in_turns(to, from, bytes, [](__m256i* at, __m256i value) __attribute__((target("avx2"))) {
        _mm256_store_si256(at, value);
    });
}

[[gnu::target("avx2")]] void past_cache(std::byte* to, const std::byte* from,
                                        std::size_t bytes) noexcept {
    in_turns(to, from, bytes, [](__m256i* at, __m256i value) __attribute__((target("avx2"))) {
        _mm256_stream_si256(at, value);
    });
    _mm_sfence();
}

bool has_wide() noexcept { return __builtin_cpu_supports("avx2"); }

#else

void plain(std::byte* to, const std::byte* from, std::size_t bytes) noexcept {
    std::memcpy(to, from, bytes);
}
constexpr Copy wide = plain, past_cache = plain;
bool has_wide() noexcept { return true; }

#endif

void narrow(std::byte* to, const std::byte* from, std::size_t bytes) noexcept {
    std::memcpy(to, from, bytes);
}

const Copy into_cache_copy = has_wide() ? wide : narrow;
const Copy past_cache_copy = has_wide() ? past_cache : narrow;

}  // namespace

void copy_wide(std::byte* to, const std::byte* from, std::size_t bytes) noexcept {
    into_cache_copy(to, from, bytes);
}

void copy_past_cache(std::byte* to, const std::byte* from, std::size_t bytes) noexcept {
    past_cache_copy(to, from, bytes);
}

}  // namespace fci::mp
