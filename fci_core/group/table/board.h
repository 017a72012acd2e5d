// SPDX-License-Identifier: BSD-3-Clause
// Board: the memory that a process has for tables of its groups (§2.6.11), a window of its own
// behind the pool. It is there as tables come, and goes back to the system as they go.
#pragma once

#include <cstddef>
#include <map>
#include <span>

#include "fci_core/nhi/network_interface.h"

namespace fci::group {

class Board {
public:
    /// `memory`: of the device's communication memory.
    Board(nhi::NetworkInterface& network, std::span<std::byte> memory) noexcept;

    /// So many bytes of it; empty: they are not to be had. May throw bad_alloc.
    [[nodiscard]] std::span<std::byte> take(std::size_t bytes);
    /// Gives back all that was taken at once, which no process uses any more.
    void give_back(std::span<std::byte> memory) noexcept;

    /// Where others find it.
    [[nodiscard]] nhi::LcsAddress address_of(const std::byte* at) const noexcept;

private:
    [[nodiscard]] std::span<std::byte> cut(std::size_t bytes);
    void add(std::span<std::byte> memory) noexcept;

    nhi::NetworkInterface& network_;
    std::byte* begin_ = nullptr;
    std::map<std::byte*, std::size_t> free_;  // by address; no two are neighbours
    std::map<std::byte*, std::size_t> taken_;  // so that giving back allocates nothing
    std::span<std::byte> kept_;  // the last that came back: the next table is like it, most often
};

}  // namespace fci::group
