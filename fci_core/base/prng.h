// SPDX-License-Identifier: BSD-3-Clause
// Prng: seeded chance for simulations and tests; the same seed gives the same numbers everywhere.
#pragma once

#include <cstdint>

#include "fci_core/base/assert.h"

namespace fci {

/// SplitMix64: a counter and a mixing function, so the whole state is one word.
class Prng {
public:
    explicit Prng(std::uint64_t seed) noexcept : state_(seed) {}

    std::uint64_t next() noexcept {
        std::uint64_t x = state_ += 0x9e3779b97f4a7c15ull;
        x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ull;
        x = (x ^ x >> 27) * 0x94d049bb133111ebull;
        return x ^ x >> 31;
    }
    /// 0 ... limit - 1, evenly as far as 64 bits allow; 0 for limit 0.
    std::uint64_t below(std::uint64_t limit) noexcept {
        return static_cast<std::uint64_t>(
            static_cast<unsigned __int128>(next()) * limit >> 64);
    }
    /// low ... high, both included.
    std::uint64_t between(std::uint64_t low, std::uint64_t high) noexcept {
        FCI_ASSERT(low <= high);
        return low + below(high - low + 1);
    }
    /// True `percent` times in a hundred.
    bool chance(unsigned percent) noexcept { return below(100) < percent; }
    /// A generator of its own, so that one more draw there changes nothing here.
    Prng fork() noexcept { return Prng(next()); }

private:
    std::uint64_t state_;
};

}  // namespace fci
