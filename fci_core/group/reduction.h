// Reduction: what a collective does with the data of its members (§2.6.12).
#pragma once

#include <algorithm>
#include <cstdint>

namespace fci::group {

/// Combines data of two members: *inout = *in `op` *inout. `in` is of the lower ranks.
struct Reduction {
    void (*apply)(void* user, const void* in, void* inout);
    void* user;
};

/// The least of two words.
inline constexpr Reduction kLeast{[](void*, const void* in, void* inout) {
                                      auto& least = *static_cast<std::uint64_t*>(inout);
                                      least = std::min(least,
                                                       *static_cast<const std::uint64_t*>(in));
                                  },
                                  nullptr};

}  // namespace fci::group
