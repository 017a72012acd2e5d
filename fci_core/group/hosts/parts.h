// SPDX-License-Identifier: BSD-3-Clause
// Parts: those of a group that has levels: the members of each host, or some neighbours of many on
// one host. All members come to the same parts.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

namespace fci::group {

struct Parts {
    /// By rank: two with the same number are in the same part.
    explicit Parts(const std::vector<std::uint32_t>& numbers) {
        std::map<std::uint32_t, unsigned> known;
        for (const std::uint32_t number : numbers) {
            const auto rank = static_cast<unsigned>(of.size());
            const auto [found, is_new] = known.try_emplace(number, count());
            const unsigned part = found->second;
            if (is_new) ranks.emplace_back();
            of.push_back(part);
            place.push_back(static_cast<unsigned>(ranks[part].size()));
            ranks[part].push_back(rank);
        }
    }

    [[nodiscard]] unsigned count() const noexcept { return static_cast<unsigned>(ranks.size()); }

    std::vector<unsigned> of;     // by rank: its part, in the order of their first ranks
    std::vector<unsigned> place;  // by rank: how many of its part have a lower one
    std::vector<std::vector<unsigned>> ranks;  // by part: those in it, in order
};

}  // namespace fci::group
