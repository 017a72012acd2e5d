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
#include <vector>

#include "fci_core/group/table/flag_table.h"
#include "fci_core/group/table/offers.h"
#include "fci_core/group/table/reduction.h"
#include "fci_core/mp/engine.h"
#include "fci_core/mp/meetings.h"
#include "fci_core/progress/wait.h"

namespace fci::group {

/// Who they are, as one of them sees it.
struct Members {
    std::vector<nhi::PeerId> peers;  // by rank; nhi::kSelf is at `self`
    unsigned self;                   // its rank
    std::uint64_t key;               // no other group of the same members has it now
    std::size_t most;                // data of one that they want to bring: so much memory it takes

    [[nodiscard]] unsigned size() const noexcept { return static_cast<unsigned>(peers.size()); }
    /// Its rank: groups of the same members have their tables at different ones.
    [[nodiscard]] unsigned owner() const noexcept { return static_cast<unsigned>(key % size()); }
};

class TableGroup final : public progress::Wait {
public:
    /// Without a table, so far.
    TableGroup(mp::Engine& engine, mp::Meetings& meetings, const Offers& offers, Members members);

    static constexpr unsigned kAll = FCI_ICL_GROUP_ALL;

    /// FCI_ICL_DONE: the owner has told of its table, or that it has none.
    [[nodiscard]] int hear_offer() noexcept;
    /// The first collective then is a barrier of those who have opened it.
    void open(const FlagTable& table) noexcept { table_ = table; }
    /// Another member stored what they may wait for.
    void wake_sleepers() noexcept;

    // Each looks so often for the others before it answers.
    [[nodiscard]] int barrier(unsigned looks) noexcept;
    /// *bytes: of the data, at the root; elsewhere what there is room for, and in the end what
    /// came. What does not fit is not copied. A root that has nothing to say says Entry::kNoLength
    /// instead, or kNobody, and at `data` who is gone, an unsigned.
    [[nodiscard]] int broadcast(unsigned root, void* data, std::size_t* bytes,
                                unsigned looks) noexcept;
    /// To `all`, by rank, at `root` or at kAll.
    [[nodiscard]] int gather(unsigned root, const void* own, void* all, std::size_t* bytes,
                             unsigned looks) noexcept;
    /// To `result`, at `root` or at kAll, where it has the same bits at all. `own` may be `result`.
    /// Who has nothing to bring says Entry::kNoLength or kNobody, as there.
    [[nodiscard]] int reduce(unsigned root, const void* own, void* result, std::size_t* bytes,
                             const Reduction& reduction, unsigned looks) noexcept;

    /// After FCI_ICL_EPEER: the rank of who has gone. After kNobody: what was said of it.
    [[nodiscard]] unsigned lost() const noexcept { return lost_; }
    [[nodiscard]] const Members& members() const noexcept { return members_; }
    [[nodiscard]] const FlagTable& table() const noexcept { return table_; }

private:
    /// What the collective that is under way waits for.
    enum class Wanted : std::uint8_t {
        nothing,
        offer,    // the owner tells of its table
        meeting,  // all have come to meeting `number_`
        room,     // all are past broadcast `number_`, and what is to be said now has room
        said,     // the root has spoken
        result    // the last one of a throng has reduced what all brought
    };

    [[nodiscard]] bool is_over() noexcept override;
    [[nodiscard]] bool needs(unsigned core) noexcept override;
    void want_wake(bool wanted) noexcept override;
    [[nodiscard]] bool may_be_woken() const noexcept override;

    void want(Wanted wanted, std::uint64_t number) noexcept;
    [[nodiscard]] bool lacks(unsigned rank) const noexcept;
    [[nodiscard]] bool look(unsigned looks) noexcept;
    [[nodiscard]] unsigned who_is_gone() const noexcept;
    [[nodiscard]] int not_yet() noexcept;
    void meet_those_that_lack() noexcept;
    void wake(std::uint64_t asleep) noexcept;

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

    mp::Engine& engine_;
    mp::Meetings& meetings_;
    const Offers& offers_;
    FlagTable table_;
    const Members members_;
    Wanted wanted_ = Wanted::nothing;
    bool fences_ = true;  // what is stored may be seen later than what is looked at next
    bool asleep_ = false;
    bool met_those_ = false;      // that lack, in this wait
    unsigned next_ = 0;           // ranks below are not waited for any more
    unsigned lost_ = FCI_ICL_NO_RANK;
    std::uint64_t number_ = 0;    // see Wanted
    std::uint64_t meeting_ = 0;   // the last one of this process
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

}  // namespace fci::group
