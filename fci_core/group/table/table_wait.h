// SPDX-License-Identifier: BSD-3-Clause
// TableWait: the wait of one member at the table of its group (§2.6.11): for which members, and
// whether they have come. A member with a core of its own looks; where cores are short it gives its
// core to the members that it waits for, or sleeps until one of them wakes it.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "fci_core/base/flag.h"
#include "fci_core/group/table/flag_table.h"
#include "fci_core/group/table/offers.h"
#include "fci_core/mp/engine.h"
#include "fci_core/mp/meetings.h"
#include "fci_core/progress/wait.h"

namespace fci::group {

/// The members of a group, as one of them sees it.
struct Members {
    std::vector<nhi::PeerId> peers;  // by rank; nhi::kSelf is at `self`
    unsigned self;                   // its rank
    std::uint64_t key;               // no other group of the same members has it now
    std::size_t most;                // bytes of one member's data that the table is to take

    [[nodiscard]] unsigned size() const noexcept { return static_cast<unsigned>(peers.size()); }
    /// Its rank: groups of the same members have their tables at different ones.
    [[nodiscard]] unsigned owner() const noexcept { return static_cast<unsigned>(key % size()); }
};

/// A broadcast: its root, and the slot in which that says it.
struct TableBroadcast {
    std::uint64_t number = 0;
    unsigned root = 0, slot = 0;
};

class TableWait final : public progress::Wait {
public:
    /// Without a table, so far.
    TableWait(mp::Engine& engine, mp::Meetings& meetings, const Offers& offers, Members members);

    /// The subject of a collective's wait.
    enum class Wanted : std::uint8_t {
        nothing,
        offer,    // the owner tells of its table
        meeting,  // all have come to that meeting
        room,     // all are past that broadcast, and the next one has room
        said,     // the root has spoken
        result    // the last one of a throng has reduced what all brought
    };

    void open(const FlagTable& table) noexcept { table_ = table; }
    [[nodiscard]] const FlagTable& table() const noexcept { return table_; }
    [[nodiscard]] const Members& members() const noexcept { return members_; }
    [[nodiscard]] mp::Engine& engine() const noexcept { return engine_; }

    /// `number`: of the meeting, or of the broadcast that is needed by `broadcast`.
    void want(Wanted wanted, std::uint64_t number, const TableBroadcast& broadcast = {}) noexcept {
        FCI_ASSERT(wanted_ == Wanted::nothing || wanted == Wanted::meeting);
        wanted_ = wanted;
        number_ = number;
        if (broadcast.number != 0) broadcast_ = broadcast;
        next_ = 0;
        begin(0);
    }
    /// Another meeting begins; all have to have come to the one before.
    void want_before_meeting() noexcept { want(Wanted::meeting, meeting_++); }
    /// The last one of this process, counted from 1.
    [[nodiscard]] std::uint64_t meeting() const noexcept { return meeting_; }
    /// All are known to have come, so that none is looked for.
    void skip() noexcept { next_ = members_.size(); }
    void end() noexcept { wanted_ = Wanted::nothing; }
    [[nodiscard]] bool wants(Wanted what) const noexcept { return wanted_ == what; }
    [[nodiscard]] std::uint64_t number() const noexcept { return number_; }
    /// The thing that is wanted is here, or comes within so many looks.
    [[nodiscard]] bool look(unsigned looks) noexcept;
    /// It is not here. True: nor will it be, as the member of rank *gone has gone; then the wait is
    /// at its end.
    [[nodiscard]] bool is_in_vain(unsigned* gone) noexcept;

    /// Wakes members that sleep over what this process has stored, or has seen another one store.
    void wake_sleepers() noexcept;

private:
    [[nodiscard]] bool is_over() noexcept override;
    [[nodiscard]] bool needs(unsigned core) noexcept override;
    void want_wake(bool wanted) noexcept override;
    [[nodiscard]] bool may_be_woken() const noexcept override;

    [[nodiscard]] bool lacks(unsigned rank) const noexcept;
    [[nodiscard]] unsigned who_is_gone() const noexcept;
    void meet_those_that_lack() noexcept;
    void wake(std::uint64_t asleep) noexcept;

    mp::Engine& engine_;
    mp::Meetings& meetings_;
    const Offers& offers_;
    FlagTable table_;
    const Members members_;
    Wanted wanted_ = Wanted::nothing;
    bool fences_ = true;  // a store may be seen later than the look that follows it
    bool asleep_ = false;
    bool met_those_ = false;    // that lack, in this wait
    unsigned next_ = 0;         // ranks below are not waited for any more
    std::uint64_t number_ = 0;  // see Wanted
    std::uint64_t meeting_ = 0;
    TableBroadcast broadcast_{};
};

inline bool TableWait::lacks(unsigned rank) const noexcept {
    const nhi::PeerId peer = members_.peers[rank];
    switch (wanted_) {
        case Wanted::nothing: return false;
        case Wanted::room:  // a member that has gone reads nothing any more
            return flag::load_acquire(table_.past(rank)) < number_ && !engine_.peers.is_lost(peer);
        case Wanted::said: return rank == broadcast_.root;
        case Wanted::offer: return rank == members_.owner();
        case Wanted::result:  // a member that has gone may be the one to reduce
            if (engine_.peers.is_lost(peer)) return true;
            break;
        case Wanted::meeting: break;
    }
    return table_.entry(rank, number_).number() < number_;
}

inline bool TableWait::look(unsigned looks) noexcept {
    if (wanted_ == Wanted::said || wanted_ == Wanted::result) {
        const Entry& entry =
            wanted_ == Wanted::said ? table_.said(broadcast_.slot) : table_.result();
        // Of two members the one that reads writes next, more often than not, and in this line.
        const bool is_next = members_.size() == 2;
        for (;;) {
            if (is_next) flag::prefetch_to_write(entry.word);
            if (entry.number() == number_) return true;
            if (--looks == 0) return false;
            flag::pause();
        }
    }
    if (wanted_ == Wanted::offer) [[unlikely]] {
        return offers_.has(members_.peers[members_.owner()], members_.key);
    }
    for (; next_ < members_.size(); ++next_) {
        if (next_ == members_.self) continue;
        while (lacks(next_)) {
            if (--looks == 0) return false;
            flag::pause();
        }
    }
    return true;
}

/// A member that sleeps has said so and looked once more since. One that this process never met is
/// woken by the owner, which has met all of them, or by its own timeout.
inline void TableWait::wake_sleepers() noexcept {
    if (fences_) [[unlikely]] {
        flag::full_fence();
        fences_ = table_.head().fenced != 0 ||
                  engine_.network.ordering() != nhi::Ordering::by_sleeper;
    }
    flag::compiler_fence();
    const std::uint64_t asleep = flag::load_relaxed(table_.head().asleep);
    if (asleep != 0) [[unlikely]] wake(asleep);
}

}  // namespace fci::group
