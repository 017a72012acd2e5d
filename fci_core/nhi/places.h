// SPDX-License-Identifier: BSD-3-Clause
// Places: where the parts of a transfer lie, for a driver that writes them itself: in an open
// window, or in the block of the pair.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include "fci_core/base/assert.h"
#include "fci_core/nhi/transfer.h"
#include "fci_core/nhi/windows.h"

namespace fci::nhi {

/// Those bytes lie in a block of `room` bytes.
constexpr bool lies_in(std::uint64_t room, std::uint64_t address, std::uint64_t bytes) noexcept {
    return address <= room && bytes <= room - address;
}

/// All parts that name the block of the destination lie in its `room` bytes.
inline bool fits_block(const Transfer& transfer, std::uint64_t room) noexcept {
    for (unsigned i = 0; i < transfer.parts(); ++i) {
        const auto& [address, from, bytes] = transfer.part(i);
        if (address < kPairLimit && !lies_in(room, address, bytes)) return false;
    }
    return true;
}

/// Where those bytes lie here; nullptr: nowhere.
inline std::byte* find_place(const Windows& windows, std::span<std::byte> block,
                             std::uint64_t address, std::uint64_t bytes) noexcept {
    if (address >= kPairLimit) return windows.find(address, bytes);
    return lies_in(block.size(), address, bytes) ? block.data() + address : nullptr;
}

/// Writes a transfer of the process to itself. Parts that lie nowhere are left out.
inline void write_here(const Windows& windows, std::span<std::byte> block,
                       const Transfer& transfer) noexcept {
    FCI_ASSERT(transfer.destination() == kSelf);
    for (unsigned i = 0; i < transfer.parts(); ++i) {
        const auto& [address, from, bytes] = transfer.part(i);
        std::byte* const at = find_place(windows, block, address, bytes);
        if (at != nullptr) std::memcpy(at, from, bytes);
    }
}

}  // namespace fci::nhi
