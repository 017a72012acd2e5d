// Groups: those of a process, and the flag tables that it keeps for groups (§2.6.11).
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "fci_core/group/board.h"
#include "fci_core/group/flag_table.h"
#include "fci_core/group/group.h"
#include "fci_core/mp/engine.h"
#include "fci_core/mp/meetings.h"

namespace fci::group {

class Groups {
public:
    /// A table at the process that offers it, as the others are told of it.
    struct Table {
        std::uint64_t name = 0;  // never the same twice; 0: none
        std::uint64_t at = 0;    // an LCS address
    };

    Groups(mp::Engine& engine, mp::Meetings& meetings);

    /// A table for a group of so many, at this process, which joins it next; of name 0 where none
    /// is to be had. `crowded`: of more than the cores that they share.
    [[nodiscard]] Table offer(unsigned members, bool crowded) noexcept;
    /// The group by the table that its member `owner`, a rank, has offered; all say who they are by
    /// rank. Valid until leave(). again: the owner is about to be met. Else the table cannot be
    /// reached, and all who could join leave.
    [[nodiscard]] Status join(std::span<const nhi::PeerId> members, unsigned self, unsigned owner,
                              const Table& table, Group** group);
    /// Nothing of the table is touched any more.
    void leave(Group& group) noexcept;

private:
    struct Place {
        std::uint64_t name;
        std::span<std::byte> memory;
        std::vector<nhi::PeerId> members;  // once this process has joined
        bool taken;                        // it has not left
    };

    [[nodiscard]] std::byte* find(nhi::PeerId owner, const Table& table,
                                  std::size_t bytes) noexcept;
    [[nodiscard]] bool is_free(const Place& place) const noexcept;
    void clear_away() noexcept;

    mp::Engine& engine_;
    mp::Meetings& meetings_;
    Board board_;
    std::uint64_t names_ = 0;    // so far
    std::vector<Place> places_;  // of this process's tables
    std::vector<std::unique_ptr<Group>> groups_;
};

}  // namespace fci::group
