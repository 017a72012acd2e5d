// SPDX-License-Identifier: BSD-3-Clause
// Offers: what others have told of tables that are for groups of this process too, and was not
// taken up so far: an owner may come to the first collective of a group before other members.
#pragma once

#include <cstdint>
#include <map>
#include <utility>

#include "fci_core/nhi/types.h"

namespace fci::group {

/// A table at the process that offers it.
struct Table {
    std::uint64_t name = 0;  // never the same twice there; 0: there is none, for anybody
    std::uint64_t at = 0;    // an LCS address
};

class Offers {
public:
    /// Of a group that both know by `key`. An owner waits for the others, so a few are there at
    /// once; offers beyond kMost are ignored.
    void add(nhi::PeerId owner, std::uint64_t key, const Table& table) {
        if (tables_.size() < kMost) tables_[{owner, key}] = table;
    }
    [[nodiscard]] bool has(nhi::PeerId owner, std::uint64_t key) const noexcept {
        return !tables_.empty() && tables_.contains({owner, key});
    }
    /// It is there.
    [[nodiscard]] Table take(nhi::PeerId owner, std::uint64_t key) noexcept {
        const auto place = tables_.find({owner, key});
        const Table table = place->second;
        tables_.erase(place);
        return table;
    }

private:
    static constexpr std::size_t kMost = 16384;

    std::map<std::pair<nhi::PeerId, std::uint64_t>, Table> tables_;
};

}  // namespace fci::group
