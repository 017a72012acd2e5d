// SPDX-License-Identifier: BSD-3-Clause
// TableGroup: processes that meet in collectives (§2.6.11, §2.6.12), as one of them sees it. Each
// says in the flag table that it has come, and looks for the others there. With a core for each
// that costs the way of one cache line; where cores are short what counts is how often one changes
// hands, and each is waited for once, by giving the core to those that are waited for.
//
// A collective is called again, with the same arguments, while it answers FCI_ICL_EAGAIN; between
// two calls wait() is stepped. FCI_ICL_EPEER: a member that is waited for has gone. All members
// call the same ones in the same order, and all data of one have the same length: FCI_ICL_ETRUNC
// says that they do not, and *bytes then what another one brought.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

#include "fci_core/group/table/flag_table.h"
#include "fci_core/group/table/reduction.h"
#include "fci_core/group/table/table_wait.h"

namespace fci::group {

class TableGroup {
public:
    /// Without a table, so far.
    TableGroup(mp::Engine& engine, mp::Meetings& meetings, const Offers& offers, Members members)
        : wait_(engine, meetings, offers, std::move(members)) {}

    static constexpr unsigned kAll = FCI_ICL_GROUP_ALL;

    /// FCI_ICL_DONE: the owner has told of its table, or that it has none.
    [[nodiscard]] int await_offer() noexcept;
    /// The first collective then is a barrier of all members that have opened it.
    void open(const FlagTable& table) noexcept { wait_.open(table); }
    /// Another member stored what they may wait for.
    void wake_sleepers() noexcept { wait_.wake_sleepers(); }
    /// For what the collective that is under way needs.
    [[nodiscard]] TableWait& wait() noexcept { return wait_; }

    // Each looks so often for the others before it answers.
    [[nodiscard]] int barrier(unsigned looks) noexcept;
    /// *bytes: of the data, at the root; elsewhere what there is room for, and in the end what
    /// came. Data that do not fit are not copied. A root without data passes Entry::kNoLength
    /// instead, or kNobody with the rank of the lost member, an unsigned, at `data`.
    [[nodiscard]] int broadcast(unsigned root, void* data, std::size_t* bytes,
                                unsigned looks) noexcept;
    /// To `all`, by rank, at `root` or at kAll.
    [[nodiscard]] int gather(unsigned root, const void* own, void* all, std::size_t* bytes,
                             unsigned looks) noexcept;
    /// To `result`, at `root` or at kAll, where it has the same bits at all. `own` may be `result`.
    /// A member without data passes Entry::kNoLength or kNobody, as there.
    [[nodiscard]] int reduce(unsigned root, const void* own, void* result, std::size_t* bytes,
                             const Reduction& reduction, unsigned looks) noexcept;

    /// After FCI_ICL_EPEER: the rank of the lost member. After kNobody: the rank that was passed.
    [[nodiscard]] unsigned lost() const noexcept { return lost_; }
    [[nodiscard]] const Members& members() const noexcept { return wait_.members(); }
    [[nodiscard]] const FlagTable& table() const noexcept { return wait_.table(); }

private:
    using Wanted = TableWait::Wanted;

    [[nodiscard]] int not_yet() noexcept;
    [[nodiscard]] int come(const void* own, std::size_t bytes, unsigned looks) noexcept;
    [[nodiscard]] int meet(unsigned root, const void* own, std::size_t bytes,
                           unsigned looks) noexcept;
    void have_met() noexcept;
    [[nodiscard]] bool has_other_length(std::size_t* bytes) noexcept;
    void fold(const void* own, void* result, std::size_t bytes,
              const Reduction& reduction) const noexcept;
    [[nodiscard]] int reduce_in_throng(const void* own, void* result, std::size_t* bytes,
                                       const Reduction& reduction, unsigned looks) noexcept;
    void begin_broadcast(unsigned root) noexcept;
    void end_broadcast(bool is_short) noexcept;

    TableWait wait_;
    unsigned lost_ = FCI_ICL_NO_RANK;
    std::uint64_t met_ = 0;       // the last to which all are known to have come
    std::uint64_t throngs_ = 0;   // those in which the last one reduced

    struct {
        std::uint64_t number = 0;    // the last one
        std::uint64_t all_past = 0;  // all are past this one
        unsigned root = 0;           // of the last one
        unsigned slot = 0;           // where it was said
        bool is_short = false;       // it was one line
    } broadcast_;
};

/// nullptr: there is no such table.
[[nodiscard]] inline TableWait* wait_of(TableGroup* group) noexcept {
    return group != nullptr ? &group->wait() : nullptr;
}

}  // namespace fci::group
