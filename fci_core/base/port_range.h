// SPDX-License-Identifier: BSD-3-Clause
// PortRange: the ports at which a process may listen (FCI_PORTS).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "fci_core/base/parse.h"

namespace fci {

struct PortRange {
    std::uint16_t first = 0, last = 0;  // 0: any that is free

    [[nodiscard]] bool is_any() const noexcept { return first == 0; }
    [[nodiscard]] unsigned size() const noexcept { return last - first + 1u; }
    /// "40000-40999", "40000"; empty: any.
    [[nodiscard]] std::string text() const {
        if (is_any()) return {};
        return std::to_string(first) + (first != last ? "-" + std::to_string(last) : "");
    }

    static std::optional<PortRange> parse(std::string_view text) noexcept {
        if (text.empty()) return PortRange{};
        const std::size_t dash = text.find('-');
        const auto first = parse_number(text.substr(0, dash));
        const auto last =
            dash == std::string_view::npos ? first : parse_number(text.substr(dash + 1));
        if (!first || !last || *first == 0 || *last < *first || *last > 65'535) return {};
        return PortRange{static_cast<std::uint16_t>(*first), static_cast<std::uint16_t>(*last)};
    }
};

}  // namespace fci
