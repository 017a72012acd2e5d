// SPDX-License-Identifier: BSD-3-Clause
// Levels: the parts of a group, as one member sees them (§2.6.12): the members of each host, or
// eight neighbours of many on one host. A part of several members has a table, and its leader
// speaks for it to the other parts, by messages to other hosts, else in a table of the leaders.
#pragma once

#include <utility>
#include <vector>

#include "fci_core/base/assert.h"
#include "fci_core/group/hosts/parts.h"
#include "fci_core/group/table/table_group.h"

namespace fci::group {

struct Levels {
    /// `here`: the members of this part; nullptr where there is one only. `between`: the first of
    /// each part, for these, and where no messages go between parts.
    Levels(const Members& members, Parts its, bool messages, TableGroup* table_here,
           TableGroup* table_between)
        : parts(std::move(its)),
          self(members.self),
          part(parts.of[self]),
          by_messages(messages),
          here(table_here),
          between(table_between),
          peers(members.peers) {
        FCI_ASSERT(parts.count() > 1 && (here == nullptr) == (parts.ranks[part].size() == 1));
        for (const auto& ranks : parts.ranks) first.push_back(ranks.front());
    }

    [[nodiscard]] bool is_first() const noexcept { return first[part] == self; }
    /// The rank of the member with this place in that table.
    [[nodiscard]] unsigned rank_of(const TableGroup& table, unsigned place) const noexcept {
        if (place >= table.members().size()) return FCI_ICL_NO_RANK;
        return &table == between ? first[place] : parts.ranks[part][place];
    }
    /// The rank that a table named as lost.
    [[nodiscard]] unsigned lost_in(const TableGroup& table) const noexcept {
        return rank_of(table, table.lost());
    }

    const Parts parts;
    const unsigned self, part;
    const bool by_messages;  // between parts
    TableGroup *const here, *const between;
    std::vector<unsigned> first;           // by part: its first rank
    const std::vector<nhi::PeerId> peers;  // by rank
};

}  // namespace fci::group
