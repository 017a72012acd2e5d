// SPDX-License-Identifier: BSD-3-Clause
// Decided: counts how often the condition of a rule (rules.txt) was true and how often false, where
// test/simulation/decided has written that into a copy of the tree. The counts lie in the file that
// FCI_TEST_DECIDED names in the environment, so that they outlive whoever counts.
#pragma once

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <type_traits>

namespace fci::decided {

inline constexpr unsigned kRulesMost = 512;

struct Counts {
    std::uint64_t no, yes;
};

inline Counts* counts() noexcept {
    static Counts unseen[kRulesMost];
    static Counts* const all = [] {
        const char* const path = std::getenv("FCI_TEST_DECIDED");
        const int file = path != nullptr ? open(path, O_RDWR | O_CLOEXEC) : -1;
        if (file < 0) return unseen;
        void* const mapped =
            mmap(nullptr, sizeof unseen, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
        close(file);
        return mapped != MAP_FAILED ? static_cast<Counts*>(mapped) : unseen;
    }();
    return all;
}
/// Before the program has changed its environment, or its limits.
[[gnu::constructor]] inline void find_counts() { (void)counts(); }

/// Threads may count less than there was: whether there was anything is what is asked.
template <class Value>
constexpr bool decide(unsigned rule, const Value& value) noexcept {
    const bool is_so = static_cast<bool>(value);
    if (!std::is_constant_evaluated()) {
        std::uint64_t& count = is_so ? counts()[rule].yes : counts()[rule].no;
        __atomic_store_n(&count, __atomic_load_n(&count, __ATOMIC_RELAXED) + 1, __ATOMIC_RELAXED);
    }
    return is_so;
}

}  // namespace fci::decided

#define FCI_DECIDED(rule, ...) (::fci::decided::decide(rule, (__VA_ARGS__)))
