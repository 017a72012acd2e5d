// SPDX-License-Identifier: BSD-3-Clause
// The only door to atomics on shared memory. A word is stored with release after the bytes that it
// announces, and loaded with acquire before they are read (§2.6.9: the network keeps write order;
// between processors these two functions keep it).
#pragma once

#include <atomic>
#include <bit>
#include <cstdint>

namespace fci::flag {

/// One instruction loads or stores it whole: a lock would be one process's own.
template <class T>
inline constexpr bool kWhole =
    std::atomic_ref<T>::is_always_lock_free&& std::atomic_ref<T>::required_alignment <= sizeof(T);

template <class T>
[[nodiscard]] inline T load_acquire(const T& word) noexcept {
    static_assert(kWhole<T>);
    return std::atomic_ref<T>(const_cast<T&>(word)).load(std::memory_order_acquire);
}

template <class T>
inline void store_release(T& word, T value) noexcept {
    static_assert(kWhole<T>);
    std::atomic_ref<T>(word).store(value, std::memory_order_release);
}

/// Without ordering: for counters and hints whose staleness is harmless.
template <class T>
[[nodiscard]] inline T load_relaxed(const T& word) noexcept {
    static_assert(kWhole<T>);
    return std::atomic_ref<T>(const_cast<T&>(word)).load(std::memory_order_relaxed);
}

/// Part number `i`, the lowest first, of a word that is published whole. Processors keep such a
/// load in order with the store as they do for the whole word, and it saves a shift.
template <class Part>
[[nodiscard]] inline Part load_part_acquire(const std::uint64_t& word, unsigned i) noexcept {
#ifdef __SANITIZE_THREAD__  // which knows of an order only where both name the same address
    return static_cast<Part>(load_acquire(word) >> (8 * sizeof(Part) * i));
#else
    using Aliasing [[gnu::may_alias]] = Part;
    static_assert(sizeof(word) % sizeof(Part) == 0);
    static_assert(std::endian::native == std::endian::little);
    return load_acquire(reinterpret_cast<const Aliasing*>(&word)[i]);
#endif
}

template <class T>
inline void store_relaxed(T& word, T value) noexcept {
    static_assert(kWhole<T>);
    std::atomic_ref<T>(word).store(value, std::memory_order_relaxed);
}

/// Replaces `expected` by `wanted`, or tells in `expected` what is there instead.
template <class T>
inline bool compare_exchange(T& word, T& expected, T wanted) noexcept {
    static_assert(kWhole<T>);
    return std::atomic_ref<T>(word).compare_exchange_strong(expected, wanted,
                                                            std::memory_order_acq_rel);
}

/// Returns the value before. Several threads may add at the same time.
template <class T>
inline T fetch_add(T& word, T what) noexcept {
    static_assert(kWhole<T>);
    return std::atomic_ref<T>(word).fetch_add(what, std::memory_order_acq_rel);
}

template <class T>
inline void set_bits(T& word, T bits) noexcept {
    static_assert(kWhole<T>);
    std::atomic_ref<T>(word).fetch_or(bits, std::memory_order_acq_rel);
}

template <class T>
inline void clear_bits(T& word, T bits) noexcept {
    static_assert(kWhole<T>);
    std::atomic_ref<T>(word).fetch_and(~bits, std::memory_order_acq_rel);
}

inline void full_fence() noexcept { std::atomic_thread_fence(std::memory_order_seq_cst); }

/// Keeps the compiler, not the processor, from moving a later load before an earlier store.
inline void compiler_fence() noexcept { std::atomic_signal_fence(std::memory_order_seq_cst); }

inline void pause() noexcept {
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    asm volatile("yield");
#endif
}

/// Brings the line of `word` here as one that is going to be written: nobody else keeps a copy.
template <class T>
inline void prefetch_to_write(const T& word) noexcept {
#if defined(__x86_64__)
    asm volatile("prefetchw %0" : : "m"(word));  // no processor of 64 bits lacks it
#else
    __builtin_prefetch(&word, 1);
#endif
}

}  // namespace fci::flag
