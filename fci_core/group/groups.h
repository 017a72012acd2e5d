// Groups: those of a process, how they come about, and the flag tables that it keeps for them
// (§2.6.11). One member, the owner, has the table; it tells the others where, and these join it,
// or say that they cannot. Then all do without.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "fci_core/group/board.h"
#include "fci_core/group/flag_table.h"
#include "fci_core/group/group.h"
#include "fci_core/group/offers.h"
#include "fci_core/mp/message_passing.h"

namespace fci::group {

class Groups {
public:
    explicit Groups(mp::MessagePassing& messages);

    /// A group that all members begin. Valid until leave().
    [[nodiscard]] Group& begin(Members members);
    /// The first that all members call, like a collective. `crowded`: they are more than the cores
    /// that they share. FCI_ICL_EUNREACHABLE, at all: they have no memory in common.
    [[nodiscard]] int form(Group& group, bool crowded, unsigned looks) noexcept;
    /// Nothing of the table is touched any more.
    void leave(Group& group) noexcept;
    /// The memory of tables that all have left goes back.
    void clear_away() noexcept;

private:
    struct Place {
        std::uint64_t name;
        std::span<std::byte> memory;
        std::vector<nhi::PeerId> members;
        std::uint64_t answered;  // whether they have joined or not; those that told so by message
        bool taken;              // this process has not left
    };
    struct Note;

    void hear(nhi::PeerId source, const Note& note);
    void tell(nhi::PeerId peer, const Note& note);
    [[nodiscard]] Table offer(const Group& group, bool crowded) noexcept;
    [[nodiscard]] int find(Group& group, bool crowded);
    [[nodiscard]] bool join(Group& group, const Table& table) noexcept;
    [[nodiscard]] std::byte* map(nhi::PeerId owner, const Table& table,
                                 std::size_t bytes) noexcept;
    [[nodiscard]] bool is_free(const Place& place) const noexcept;

    mp::MessagePassing& messages_;
    mp::Engine& engine_;
    Board board_;
    Offers offers_;
    std::uint64_t names_ = 0;    // so far
    std::vector<Place> places_;  // of this process's tables
    std::vector<std::unique_ptr<Group>> groups_;
};

}  // namespace fci::group
