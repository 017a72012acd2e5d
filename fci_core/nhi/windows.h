// SPDX-License-Identifier: BSD-3-Clause
// Windows: the table of open windows of a driver whose network has none itself (§2.5.2; App. C,
// NHI_OpenWindow).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "fci_core/base/assert.h"
#include "fci_core/base/status.h"
#include "fci_core/nhi/types.h"

namespace fci::nhi {

class Windows {
public:
    /// Each window is a part of `memory`.
    explicit Windows(std::span<std::byte> memory) noexcept : memory_(memory) {}

    Status open(WindowNumber number, LcsAddress base, std::span<std::byte> local) noexcept {
        const auto first = static_cast<std::uint64_t>(base);
        if (number >= kWindowsMax || !all_[number].local.empty() || first < kPairLimit ||
            local.empty() || first + local.size() < first || local.data() < memory_.data() ||
            local.data() + local.size() > memory_.data() + memory_.size()) {
            return Status::invalid;
        }
        for (const Window& other : all_) {
            if (first < other.base + other.local.size() && other.base < first + local.size()) {
                return Status::invalid;
            }
        }
        FCI_ASSERT(find(first, 1) == nullptr);  // an address names one place
        all_[number] = {first, local};
        FCI_ASSERT(find(first, local.size()) == local.data());
        return Status::ok;
    }
    Status close(WindowNumber number) noexcept {
        if (number >= kWindowsMax) return Status::invalid;
        if (all_[number].local.empty()) return Status::not_found;
        all_[number] = {};
        return Status::ok;
    }
    /// Where these bytes lie; nullptr: in no window.
    [[nodiscard]] std::byte* find(std::uint64_t address, std::uint64_t bytes) const noexcept {
        for (const Window& window : all_) {
            if (address < window.base || window.local.empty()) continue;
            const std::uint64_t at = address - window.base;
            if (at > window.local.size() || bytes > window.local.size() - at) continue;
            return window.local.data() + at;
        }
        return nullptr;
    }

private:
    struct Window {
        std::uint64_t base = 0;
        std::span<std::byte> local{};  // empty: closed
    };

    std::span<std::byte> memory_;
    std::array<Window, kWindowsMax> all_{};
};

}  // namespace fci::nhi
