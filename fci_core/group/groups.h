// Groups: those of a process, and the flag tables that it keeps for groups (§2.6.11).
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "fci_core/group/flag_table.h"
#include "fci_core/group/group.h"
#include "fci_core/mp/engine.h"

namespace fci::group {

class Groups {
public:
    /// A table at the process that offers it, as the others are told of it.
    struct Table {
        std::uint64_t name = 0;    // counted from 1; 0: none
        std::uint64_t number = 0;  // of the collective before the first one
    };

    explicit Groups(mp::Engine& engine);

    /// A table for a group of so many, at this process; of name 0 where none is left.
    [[nodiscard]] Table offer(unsigned members) noexcept;
    /// The group by the table that its member `owner`, a rank, has offered; all say who they are by
    /// rank, and have met. Valid until leave(). nullptr: the table cannot be reached.
    [[nodiscard]] Group* join(std::span<const nhi::PeerId> members, unsigned self, unsigned owner,
                              const Table& table);
    void leave(Group& group) noexcept;

private:
    struct Place {
        bool taken = false;
        unsigned members = 0;
        std::uint64_t number = 0;  // to which all who had it come, last of all
    };

    [[nodiscard]] FlagTable* board_of(nhi::PeerId id) noexcept;
    [[nodiscard]] bool is_free(unsigned place, const FlagTable& table) const noexcept;

    mp::Engine& engine_;
    bool board_there_ = false;
    std::array<Place, kTablesMost> places_{};
    std::vector<std::unique_ptr<Group>> groups_;
};

}  // namespace fci::group
