// SPDX-License-Identifier: BSD-3-Clause
// Crossing calls: of two processes that call each other at the same time, one is called.
#pragma once

#include <cstdint>

namespace fci::ddi {

/// Both choose the same way: the own one, or that of the peer. By the last bits of the incarnations
/// each has its own way with about half of the others, so that where all meet all nobody does the
/// work of all.
[[nodiscard]] constexpr bool is_own_way(std::uint64_t own, std::uint64_t peer) noexcept {
    return (own > peer) == (((own ^ peer) & 1) != 0);
}

}  // namespace fci::ddi
