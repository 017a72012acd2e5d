// SPDX-License-Identifier: BSD-3-Clause
// Crossing calls: of two processes that call each other at the same time, one is called.
#pragma once

#include <cstdint>

namespace fci::ddi {

/// True: the own call goes on; false: the peer's. Both processes decide alike. By the last bits of
/// the incarnations each one's own call goes on with about half of the others, so that where all
/// meet all no process does the work of all.
[[nodiscard]] constexpr bool is_own_way(std::uint64_t own, std::uint64_t peer) noexcept {
    return (own > peer) == (((own ^ peer) & 1) != 0);
}

}  // namespace fci::ddi
