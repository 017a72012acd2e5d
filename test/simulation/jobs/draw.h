// SPDX-License-Identifier: BSD-3-Clause
// Draw: how a plan draws.
#pragma once

#include <cstddef>
#include <cstdint>

#include "fci_core/base/prng.h"
#include "fci_core/base/status.h"

namespace fci::jobs {

template <class T, std::size_t N>
const T& one_of(Prng& prng, const T (&choices)[N]) {
    return choices[prng.below(N)];
}

/// low ... high, small ones as often as large ones.
inline Nanoseconds scaled(Prng& prng, Nanoseconds low, Nanoseconds high) {
    Nanoseconds value = low;
    while (2 * value < high && prng.chance(70)) value *= 2;
    return value + static_cast<Nanoseconds>(prng.below(static_cast<std::uint64_t>(value)));
}

inline unsigned drawn(Prng& prng, unsigned low, unsigned high) {
    return static_cast<unsigned>(prng.between(low, high));
}

}  // namespace fci::jobs
