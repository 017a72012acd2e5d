// Group: processes that meet in collectives (§2.6.11, §2.6.12), as one of them sees it. Where they
// are more than the cores they share, what counts is how often a core changes hands: by a table of
// flags each is waited for once, and whoever waits gives its core to those that it waits for.
//
// A collective is called again, with the same arguments, while it answers FCI_ICL_EAGAIN; between
// two calls wait() is stepped. FCI_ICL_EPEER: a member that others wait for has gone.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "fci_core/group/flag_table.h"
#include "fci_core/mp/engine.h"
#include "fci_core/progress/wait.h"

namespace fci::group {

class Group final : private progress::Wait {
public:
    /// `members` by rank, at most kMembersMost; `self` is the rank of this process, for which
    /// members[self] is nhi::kSelf. `number`: of the last collective of those who had the table.
    Group(mp::Engine& engine, FlagTable& table, std::span<const nhi::PeerId> members, unsigned self,
          std::uint64_t number);

    [[nodiscard]] int barrier() noexcept;
    /// *bytes: of the data, at the root; elsewhere what there is room for, and in the end what
    /// came. What does not fit is not copied.
    [[nodiscard]] int broadcast(unsigned root, void* data, std::size_t* bytes) noexcept;
    /// Shows all what each has brought, until the next gather but one.
    [[nodiscard]] int gather(const void* data, std::size_t bytes) noexcept;
    [[nodiscard]] std::span<const std::byte> gathered(unsigned rank) const noexcept;

    [[nodiscard]] progress::Wait& wait() noexcept { return *this; }
    [[nodiscard]] unsigned size() const noexcept { return static_cast<unsigned>(members_.size()); }
    [[nodiscard]] unsigned rank() const noexcept { return self_; }
    [[nodiscard]] const FlagTable& table() const noexcept { return table_; }

    /// The last thing that this process does here. The table is free for others once all members
    /// have come to the number that this answers.
    std::uint64_t leave() noexcept;

private:
    /// What the collective that is under way waits for.
    enum class Wanted : std::uint8_t { nothing, all, said };

    [[nodiscard]] bool is_over() noexcept override;
    [[nodiscard]] bool needs_core() noexcept override;
    void want_wake(bool wanted) noexcept override;

    void begin_waiting(Wanted wanted, std::uint64_t number) noexcept;
    [[nodiscard]] int go_on() noexcept;
    [[nodiscard]] bool is_here() const noexcept;
    [[nodiscard]] bool lacks(unsigned rank) const noexcept;
    [[nodiscard]] bool is_in_vain() const noexcept;
    [[nodiscard]] int meet() noexcept;
    [[nodiscard]] int say(const void* data, std::size_t bytes) noexcept;
    [[nodiscard]] int hear(void* data, std::size_t* bytes) noexcept;
    void come_to(std::uint64_t number) noexcept;
    void wake_sleepers() noexcept;

    mp::Engine& engine_;
    FlagTable& table_;
    const std::vector<nhi::PeerId> members_;
    const unsigned self_;
    unsigned root_ = 0;          // of the broadcast that is under way
    std::uint64_t number_;       // of the last collective
    std::uint64_t all_at_;       // to which all members have come, or further
    std::uint64_t gathers_ = 0;  // so far
    Wanted wanted_ = Wanted::nothing;
    std::uint64_t wanted_number_ = 0;
    bool asleep_ = false;
};

}  // namespace fci::group
