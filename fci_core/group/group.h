// SPDX-License-Identifier: BSD-3-Clause
// Group: a group as its callers see it, whether its members share a table or have levels, and
// those of its collectives that go on in progress.
#pragma once

#include <array>
#include <cstdint>
#include <memory>

#include "fci_core/base/intrusive_list.h"
#include "fci_core/base/result.h"
#include "fci_core/group/gathering.h"
#include "fci_core/group/hints/long_broadcast.h"
#include "fci_core/group/run.h"
#include "fci_core/group/table/reduction.h"
#include "fci_core/group/table/table_group.h"
#include "fci_core/progress/wait.h"

namespace fci::group {

/// Neither table nor levels: there are too many members on a host.
struct Group : ListLink {
    Members members;
    TableGroup* table = nullptr;  // of all, where they share a host
    std::unique_ptr<Run> run{};   // over hosts; or beside a table of many with a core each
    Gathering gathering;          // in these levels
    std::unique_ptr<LongBroadcast> long_broadcast{};  // by these levels, where there are hints
    TableGroup* forming = nullptr;  // the table that is being formed; nullptr: all are
    int formed = FCI_ICL_OK;        // how the table of this part was formed
    bool is_left = false;
    std::uint64_t ended = 0;      // collectives that were called until they ended
    Collective* first = nullptr;  // of those that go on in progress; with the others behind it

    explicit Group(Members its) : members(std::move(its)) {}

    /// Bytes of data in a barrier, broadcast or reduction,
    [[nodiscard]] std::size_t longest() const noexcept {
        return table != nullptr ? table->table().longest() : run->longest();
    }
    /// of each member's data in a gathering,
    [[nodiscard]] std::size_t longest_gather() const noexcept {
        return table != nullptr ? longest() : Gathering::longest(*run);
    }
    /// and in a broadcast.
    [[nodiscard]] std::size_t longest_broadcast() const noexcept {
        return long_broadcast ? UINT32_MAX : longest();
    }
    /// It has been formed.
    void begin_long();
    /// One that all members call, again and again (TableGroup). FCI_ICL_EINVAL: it is none of this
    /// group.
    [[nodiscard]] int call(Collective& it, unsigned looks) noexcept;
    /// The wait of that collective; nullptr: for one message, like a receive.
    [[nodiscard]] progress::Wait* waiting(const Collective& it) const noexcept;
    /// The wait of its forming.
    [[nodiscard]] progress::Wait* waiting_to_form() const noexcept;

    /// Those of all its collectives.
    [[nodiscard]] std::array<progress::Wait*, 7> waits() const noexcept;
    /// No wait is slept over any more, but that one.
    void sleep_only_over(const progress::Wait* waiting) const noexcept {
        for (progress::Wait* const one : waits()) {
            if (one != nullptr && one != waiting) progress::Waits::remove(*one);
        }
    }

    /// A message is under way in memory of this object, or of a caller.
    [[nodiscard]] bool is_busy() const noexcept {
        return run && (run->is_busy() || (long_broadcast && long_broadcast->is_busy()));
    }
    /// Takes back messages that are under way.
    void give_up() const noexcept;
    /// From another member. May throw bad_alloc.
    void on_progress(mp::MessagePassing& messages, nhi::PeerId source,
                     const LongProgress& note) const;

private:
    [[nodiscard]] bool is_valid(const Collective& it) const noexcept;
    [[nodiscard]] bool is_long(const Collective& it) const noexcept {
        return it.kind == FCI_ICL_BROADCAST && long_broadcast &&
               (it.bytes > longest() || long_broadcast->goes_on());
    }
    [[nodiscard]] int call_table(Collective& it, unsigned looks) const noexcept;
    [[nodiscard]] int call_levels(Collective& it, unsigned looks) noexcept;
    [[nodiscard]] int announce_long(Collective& it, unsigned looks) noexcept;
    [[nodiscard]] int broadcast_long(Collective& it, unsigned looks) noexcept;
    [[nodiscard]] bool goes_by_levels(const Collective& it) const noexcept;
};

}  // namespace fci::group
