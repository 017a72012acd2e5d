// SPDX-License-Identifier: BSD-3-Clause
// Groups: those of a process, how they come about, and the flag tables that it keeps for them
// (§2.6.11). One member, the owner, has the table; it tells the others where, and these join it,
// or say that they cannot. Then all do without. Of a group whose members are on several hosts each
// host has a table.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "fci_core/group/group.h"
#include "fci_core/group/table/board.h"
#include "fci_core/group/table/flag_table.h"
#include "fci_core/group/table/table_group.h"
#include "fci_core/group/table/offers.h"
#include "fci_core/group/outstanding.h"
#include "fci_core/mp/message_passing.h"

namespace fci::group {

struct CannotJoin;
struct LongProgress;

class Groups {
public:
    explicit Groups(mp::MessagePassing& messages);

    /// A group that all members begin. Valid until leave(). May throw bad_alloc.
    [[nodiscard]] Group& begin(Members members);
    /// The first that all members call, like a collective. `crowded`: they are more than the cores
    /// that they share. FCI_ICL_EUNREACHABLE, at all: those of a host have no memory in common.
    /// FCI_ICL_EPEER: one on another host has gone before all could tell, and all collectives fail.
    [[nodiscard]] int form(Group& group, bool crowded, unsigned looks) noexcept;
    /// Nothing of it is touched any more.
    void leave(Group& group) noexcept;
    /// The memory of what all have left goes back.
    void clear_away() noexcept;
    [[nodiscard]] Outstanding& outstanding() noexcept { return outstanding_; }

private:
    struct Place {
        std::uint64_t name;
        std::span<std::byte> memory;
        std::vector<nhi::PeerId> members;
        std::uint64_t answered;  // whether they have joined or not; those that told so by message
        bool taken;              // this process has not left
    };

    [[nodiscard]] TableGroup& add(Members members);
    [[nodiscard]] int form_on_host(Group& group, bool crowded, unsigned looks);
    [[nodiscard]] int form_over_hosts(Group& group, bool crowded, unsigned looks);
    [[nodiscard]] int form_table(TableGroup& group, bool crowded, unsigned looks) noexcept;
    [[nodiscard]] TableGroup* add_part(const Members& members, const std::vector<unsigned>& ranks);
    void meet_some(const TableGroup& group) noexcept;
    void leave_levels(Group& group) noexcept;
    void leave_table(TableGroup& group) noexcept;
    void on_note(nhi::PeerId source, std::span<const std::byte> note);
    void on_cannot_join(nhi::PeerId source, const CannotJoin& note);
    void on_progress(nhi::PeerId source, const LongProgress& note);
    template <class Call>
    bool for_levels(std::uint64_t key, const Call& call);
    [[nodiscard]] Table offer(const TableGroup& group, bool crowded) noexcept;
    [[nodiscard]] int find(TableGroup& group, bool crowded);
    [[nodiscard]] bool join(TableGroup& group, const Table& table) noexcept;
    [[nodiscard]] std::byte* map(nhi::PeerId owner, const Table& table,
                                 std::size_t bytes) noexcept;
    [[nodiscard]] bool is_free(const Place& place) const noexcept;

    mp::MessagePassing& messages_;
    mp::Engine& engine_;
    Board board_;
    Offers offers_;
    std::uint64_t names_ = 0;    // of tables so far
    std::vector<Place> places_;  // of this process's tables
    std::vector<std::unique_ptr<TableGroup>> groups_;  // with tables
    std::vector<std::unique_ptr<Group>> all_;  // one that was left until its messages have ended
    Outstanding outstanding_;  // of these
};

}  // namespace fci::group
