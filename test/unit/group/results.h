// SPDX-License-Identifier: BSD-3-Clause
// Answers of collectives that are called look by look, and reductions whose results tell in which
// order they were done.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "fci_core/base/result.h"
#include "fci_core/group/table/table_group.h"

namespace fci::group::test {

inline constexpr int kWaits = FCI_ICL_EAGAIN, kDone = FCI_ICL_DONE;
inline constexpr unsigned kAll = TableGroup::kAll;

using Words = std::vector<std::uint64_t>;
using Answers = std::vector<int>;          // by rank
using Lengths = std::vector<std::size_t>;  // by rank

inline constexpr Reduction kSum{[](void*, const void* in, void* inout) {
                                    *static_cast<std::uint64_t*>(inout) +=
                                        *static_cast<const std::uint64_t*>(in);
                                },
                                nullptr};

/// Neither commutes nor is associative.
inline constexpr Reduction kOrder{[](void*, const void* in, void* inout) {
                                      auto& to = *static_cast<std::uint64_t*>(inout);
                                      to = *static_cast<const std::uint64_t*>(in) * 7 + to * 11;
                                  },
                                  nullptr};

/// Of all, by rank.
inline std::uint64_t in_order(const Words& shares) {
    std::uint64_t result = shares.back();
    for (std::size_t rank = shares.size() - 1; rank-- > 0;) result = shares[rank] * 7 + result * 11;
    return result;
}

/// x -> times * x + plus: to do one after the other is associative, and no two commute.
struct Affine {
    std::uint64_t times, plus;
    bool operator==(const Affine&) const = default;
};
inline Affine then(const Affine& first, const Affine& second) {
    return {first.times * second.times, first.plus * second.times + second.plus};
}
inline constexpr Reduction kThen{[](void*, const void* in, void* inout) {
                                     auto& to = *static_cast<Affine*>(inout);
                                     to = then(*static_cast<const Affine*>(in), to);
                                 },
                                 nullptr};

}  // namespace fci::group::test
