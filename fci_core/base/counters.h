// SPDX-License-Identifier: BSD-3-Clause
// Counters: one 64-bit word each, written by the one thread that uses the context.
#pragma once

#include <cstdint>
#include <type_traits>

#include "fci_core/base/assert.h"

namespace fci {

struct Counters {
#define FCI_COUNTER(name, help) std::uint64_t name = 0;
#include "fci_core/base/counters.def"
#undef FCI_COUNTER
};

struct CounterText {
    const char* name;
    const char* help;
};

inline constexpr CounterText kCounterTexts[] = {
#define FCI_COUNTER(name, help) {#name, help},
#include "fci_core/base/counters.def"
#undef FCI_COUNTER
};
inline constexpr unsigned kCounters = sizeof(kCounterTexts) / sizeof(kCounterTexts[0]);
static_assert(sizeof(Counters) == kCounters * sizeof(std::uint64_t));
static_assert(std::is_standard_layout_v<Counters>, "counter_value() takes them for an array");

/// That with the name and text number `i`.
inline std::uint64_t counter_value(const Counters& counters, unsigned i) noexcept {
    FCI_ASSERT(i < kCounters);
    return reinterpret_cast<const std::uint64_t*>(&counters)[i];
}

}  // namespace fci
