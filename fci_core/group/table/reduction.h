// SPDX-License-Identifier: BSD-3-Clause
// Collective and Reduction (§2.6.12), under the names that they have here.
#pragma once

#include <algorithm>
#include <cstdint>

#include "fci_core/base/result.h"

namespace fci::group {

using Reduction = ::fci_icl_reduction;
using Collective = ::fci_icl_collective;

/// Of no data.
inline constexpr Reduction kNothing{[](void*, const void*, void*) {}, nullptr};

/// The least of two words.
inline constexpr Reduction kLeast{[](void*, const void* in, void* inout) {
                                      auto& least = *static_cast<std::uint64_t*>(inout);
                                      least = std::min(least,
                                                       *static_cast<const std::uint64_t*>(in));
                                  },
                                  nullptr};

}  // namespace fci::group
