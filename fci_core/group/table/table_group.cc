// SPDX-License-Identifier: BSD-3-Clause
#include "fci_core/group/table/table_group.h"

#include <algorithm>
#include <new>
#include <utility>

#include "fci_core/base/assert.h"
#include "fci_core/base/flag.h"
#include "fci_core/base/result.h"
#include "fci_core/gcs/line.h"

namespace fci::group {

namespace {

// A death is heard within a tenth of a second; and nobody meets another for a short wait.
constexpr Nanoseconds kPatience = 50'000'000;
constexpr unsigned kPastEvery = kSlots / 2;  // a root that has no room waits for half of them

}  // namespace

TableGroup::TableGroup(mp::Engine& engine, mp::Meetings& meetings, const Offers& offers,
                       Members members)
    : engine_(engine), meetings_(meetings), offers_(offers), members_(std::move(members)) {
    FCI_ASSERT(members_.size() != 0 && members_.size() <= kMembersMost);
    FCI_ASSERT(members_.self < members_.size() && members_.peers[members_.self] == nhi::kSelf);
}

// --- telling ---

/// Who sleeps has said so and looked once more since; whoever calls this has stored something, or
/// seen that somebody has. One that this process never met is woken by the owner, which has met all
/// of them, or by its own timeout.
void TableGroup::wake_sleepers() noexcept {
    if (fences_) [[unlikely]] {
        flag::full_fence();
        fences_ = table_.head().fenced != 0 ||
                  engine_.network.ordering() != nhi::Ordering::by_sleeper;
    }
    flag::compiler_fence();
    const std::uint64_t asleep = flag::load_relaxed(table_.head().asleep);
    if (asleep != 0) [[unlikely]] wake(asleep);
}

[[gnu::noinline]] void TableGroup::wake(std::uint64_t asleep) noexcept {
    for (unsigned rank = 0; rank < members_.size(); ++rank) {
        if (rank == members_.self || (asleep >> rank & 1) == 0) continue;
        nhi::Transfer transfer(members_.peers[rank]);
        (void)engine_.network.initiate_transfer(transfer.raise(gcs::kWakeEvent));
    }
}

// --- waiting ---

inline void TableGroup::want(Wanted wanted, std::uint64_t number) noexcept {
    FCI_ASSERT(wanted_ == Wanted::nothing || wanted == Wanted::meeting);
    wanted_ = wanted;
    number_ = number;
    next_ = 0;
    begin(0);
}

inline bool TableGroup::lacks(unsigned rank) const noexcept {
    const nhi::PeerId peer = members_.peers[rank];
    switch (wanted_) {
        case Wanted::nothing: return false;
        case Wanted::room:  // who has gone reads nothing any more
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

/// Whether what is wanted is here, or comes within so many looks.
inline bool TableGroup::look(unsigned looks) noexcept {
    if (wanted_ == Wanted::said || wanted_ == Wanted::result) {
        const Entry& entry =
            wanted_ == Wanted::said ? table_.said(broadcast_.slot) : table_.result();
        // Of two members the one that hears speaks next, more often than not, and in this line.
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

/// One that is waited for; or, of a group that is only forming, the owner: then some may never hear
/// of its table. FCI_ICL_NO_RANK: all of them are there.
unsigned TableGroup::who_is_gone() const noexcept {
    for (unsigned rank = 0; rank < members_.size(); ++rank) {
        const bool is_needed = lacks(rank) || (meeting_ == 1 && rank == members_.owner());
        if (rank != members_.self && is_needed && engine_.peers.is_lost(members_.peers[rank])) {
            return rank;
        }
    }
    return FCI_ICL_NO_RANK;
}

/// Only who has met a process hears of its death, and is woken by it.
void TableGroup::meet_those_that_lack() noexcept try {
    met_those_ = true;
    for (unsigned rank = 0; rank < members_.size(); ++rank) {
        if (rank != members_.self && lacks(rank)) (void)meetings_.connected(members_.peers[rank]);
    }
} catch (const std::bad_alloc&) {
    met_those_ = false;
}

/// It is not here. Who has just begun to wait asks no more than that.
int TableGroup::not_yet() noexcept {
    const Nanoseconds now = engine_.device.now();
    if (since() == 0) {
        met_those_ = false;
        begin(now);
        return FCI_ICL_EAGAIN;
    }
    if (!met_those_ && (asleep_ || now - since() > kPatience)) meet_those_that_lack();
    const unsigned gone = who_is_gone();
    // Whoever is gone may have come first.
    if (gone == FCI_ICL_NO_RANK || look(1)) return FCI_ICL_EAGAIN;
    if (wanted_ == Wanted::result) {  // once all have come each reduces what they brought
        want(Wanted::meeting, number_);
        return FCI_ICL_EAGAIN;
    }
    lost_ = gone;
    // A root that waits for room must not wait for this member, which is through with that one.
    if (wanted_ == Wanted::said || wanted_ == Wanted::room) {
        flag::store_release(table_.past(members_.self), broadcast_.number);
        wake_sleepers();
    }
    wanted_ = Wanted::nothing;
    return FCI_ICL_EPEER;
}

/// Who sleeps asks for the dead as well: a death is no flag.
bool TableGroup::is_over() noexcept {
    if (wanted_ == Wanted::nothing || look(1)) return true;
    if (table_.is_there() && table_.is_refused()) return true;
    return asleep_ && who_is_gone() != FCI_ICL_NO_RANK;
}

bool TableGroup::needs(unsigned core) noexcept {
    if (!table_.is_there()) return true;  // it is not known where the others are
    TableHead& head = table_.head();
    const auto here = static_cast<std::uint8_t>(core + 1);
    std::uint8_t& own = head.core[members_.self];
    if (flag::load_relaxed(own) != here) flag::store_relaxed(own, here);
    for (unsigned rank = next_; rank < members_.size(); ++rank) {
        const std::uint8_t its = flag::load_relaxed(head.core[rank]);
        if (rank != members_.self && (its == here || its == 0) && lacks(rank)) return true;
    }
    return false;
}

void TableGroup::want_wake(bool wanted) noexcept {
    FCI_ASSERT(asleep_ != wanted);
    asleep_ = wanted;
    if (!table_.is_there()) return;  // a message wakes by itself
    const std::uint64_t own = std::uint64_t{1} << members_.self;
    if (wanted) {
        flag::set_bits(table_.head().asleep, own);
    } else {
        flag::clear_bits(table_.head().asleep, own);
    }
}

bool TableGroup::may_be_woken() const noexcept {
    for (unsigned rank = 0; rank < members_.size(); ++rank) {
        const bool is_stranger = !engine_.peers.find(members_.peers[rank]).attached;
        if (rank != members_.self && is_stranger && lacks(rank)) return false;
    }
    return true;
}

// --- forming ---

int TableGroup::hear_offer() noexcept {
    if (wanted_ == Wanted::nothing) want(Wanted::offer, 0);
    if (!look(1)) return not_yet();
    wanted_ = Wanted::nothing;
    return FCI_ICL_DONE;
}

// --- meetings ---

/// Says that this process has come, once all have come to the meeting before: only then all have
/// read what its entry holds. FCI_ICL_OK: that was done before.
inline int TableGroup::come(const void* own, std::size_t bytes, unsigned looks) noexcept {
    if (wanted_ == Wanted::nothing) {
        want(Wanted::meeting, meeting_++);
        if (met_ == number_) next_ = members_.size();
    } else if (number_ == meeting_) {
        return FCI_ICL_OK;
    }
    if (!look(looks)) [[unlikely]] return not_yet();
    met_ = number_;
    table_.entry(members_.self, meeting_).say(meeting_, own, bytes);
    want(Wanted::meeting, meeting_);
    return FCI_ICL_DONE;
}

inline void TableGroup::have_met() noexcept {
    met_ = meeting_;
    ++engine_.counters.table_collectives;
    broadcast_.all_past = broadcast_.number;  // who comes here has heard them
    wanted_ = Wanted::nothing;
    wake_sleepers();
}

/// Who is not the root goes on as soon as it has come.
inline int TableGroup::meet(unsigned root, const void* own, std::size_t bytes,
                       unsigned looks) noexcept {
    FCI_ASSERT(bytes <= table_.longest() || bytes >= Entry::kNobody);
    const int came = come(own, bytes, looks);
    if (came != FCI_ICL_DONE && came != FCI_ICL_OK) return came;
    if (root != kAll && root != members_.self) {
        wanted_ = Wanted::nothing;
        ++engine_.counters.table_collectives;
        wake_sleepers();
        return FCI_ICL_DONE;
    }
    if (!look(looks)) [[unlikely]] return not_yet();
    have_met();
    return FCI_ICL_DONE;
}

int TableGroup::barrier(unsigned looks) noexcept { return meet(kAll, nullptr, 0, looks); }

/// *bytes: that which is not like it.
inline bool TableGroup::has_other_length(std::size_t* bytes) noexcept {
    for (unsigned rank = 0; rank < members_.size(); ++rank) {
        if (rank == members_.self) continue;  // that line is another one's by now
        const Entry& entry = table_.entry(rank, meeting_);
        const std::size_t length = entry.length();
        if (length == *bytes) continue;
        if (length == Entry::kNobody) lost_ = entry.who_is_gone();
        *bytes = length;
        return true;
    }
    return false;
}

int TableGroup::gather(unsigned root, const void* own, void* all, std::size_t* bytes,
                  unsigned looks) noexcept {
    const int answer = meet(root, own, *bytes, looks);
    if (answer != FCI_ICL_DONE || (root != kAll && root != members_.self)) return answer;
    if (has_other_length(bytes)) return FCI_ICL_ETRUNC;
    for (unsigned rank = 0; rank < members_.size(); ++rank) {
        std::byte* const to = static_cast<std::byte*>(all) + rank * *bytes;
        if (rank != members_.self) {
            copy_data(to, table_.entry(rank, meeting_).data(*bytes), *bytes);
        } else if (to != own) {
            copy_data(to, own, *bytes);
        }
    }
    return FCI_ICL_DONE;
}

/// In the order of ranks, from the last one down, and the same way everywhere. The own share is
/// taken from where it came from: the line in which it was said is another one's by now.
void TableGroup::fold(const void* own, void* result, std::size_t bytes,
                 const Reduction& reduction) const noexcept {
    alignas(64) std::byte kept[Entry::kLong];
    const unsigned last = members_.size() - 1;
    if (own == result && members_.self != last) {
        copy_data(kept, own, bytes);
        own = kept;
    }
    const auto share = [&](unsigned rank) {
        return rank == members_.self ? own : table_.entry(rank, meeting_).data(bytes);
    };
    if (share(last) != result) copy_data(result, share(last), bytes);
    for (unsigned rank = last; rank-- > 0;) reduction.apply(reduction.user, share(rank), result);
}

int TableGroup::reduce(unsigned root, const void* own, void* result, std::size_t* bytes,
                  const Reduction& reduction, unsigned looks) noexcept {
    const bool is_forsaken = wanted_ == Wanted::meeting && number_ == meeting_;
    if (root == kAll && table_.head().throng != 0 && !is_forsaken) {
        return reduce_in_throng(own, result, bytes, reduction, looks);
    }
    const int answer = meet(root, own, *bytes, looks);
    if (answer != FCI_ICL_DONE || (root != kAll && root != members_.self)) return answer;
    if (has_other_length(bytes) || *bytes > table_.longest()) return FCI_ICL_ETRUNC;
    fold(own, result, *bytes, reduction);
    return FCI_ICL_DONE;
}

/// For many members on few cores: the last one to come reduces for all, so that each reads one
/// entry. There is one result, since who comes to the next meeting has read that of the last.
int TableGroup::reduce_in_throng(const void* own, void* result, std::size_t* bytes,
                            const Reduction& reduction, unsigned looks) noexcept {
    Entry& told = table_.result();
    if (wanted_ != Wanted::result) {
        const int came = come(own, *bytes, looks);
        if (came != FCI_ICL_DONE) return came;
        wanted_ = Wanted::nothing;
        want(Wanted::result, meeting_);
        const std::uint64_t mine = flag::fetch_add(table_.head().gathered, std::uint64_t{1}) + 1;
        if (mine == ++throngs_ * members_.size()) {
            std::size_t length = *bytes;
            if (has_other_length(&length) || length > table_.longest()) {
                length = Entry::kNoLength;
            } else {
                fold(own, told.data(length), length, reduction);
            }
            told.publish(meeting_, length);
        }
    }
    if (!look(looks)) [[unlikely]] return not_yet();
    have_met();
    if (told.length() != *bytes) {
        (void)has_other_length(bytes);
        return FCI_ICL_ETRUNC;
    }
    copy_data(result, told.data(*bytes), *bytes);
    return FCI_ICL_DONE;
}

// --- broadcasts ---

/// The slots are gone round in. Where two members take turns the new root speaks where it has just
/// heard: that line is here, and the other one looks at it already.
inline void TableGroup::begin_broadcast(unsigned root) noexcept {
    auto& broadcast = broadcast_;
    ++broadcast.number;
    const bool answers = members_.size() == 2 && root != broadcast.root && broadcast.is_short;
    if (!answers) broadcast.slot = (broadcast.slot + 1) % kSlots;
    broadcast.root = root;
    if (root != members_.self) {
        want(Wanted::said, broadcast.number);
    } else if (broadcast.number > broadcast.all_past + kSlots) {
        want(Wanted::room, broadcast.number - kSlots);
    } else {
        want(Wanted::room, 0);
        next_ = members_.size();
    }
}

inline void TableGroup::end_broadcast(bool is_short) noexcept {
    auto& broadcast = broadcast_;
    if (wanted_ == Wanted::room && number_ != 0) {
        std::uint64_t least = broadcast.number;
        for (unsigned rank = 0; rank < members_.size(); ++rank) {
            if (rank == members_.self) continue;
            least = std::min(least, flag::load_relaxed(table_.past(rank)));
        }
        broadcast.all_past = least;
    }
    broadcast.is_short = is_short;
    ++engine_.counters.table_collectives;
    wanted_ = Wanted::nothing;
    const bool is_due = broadcast.number % kPastEvery == 0;
    if (is_due) flag::store_release(table_.past(members_.self), broadcast.number);
    const bool wakes = broadcast.root == members_.self || members_.owner() == members_.self;
    if (is_due || wakes) wake_sleepers();
}

int TableGroup::broadcast(unsigned root, void* data, std::size_t* bytes, unsigned looks) noexcept {
    FCI_ASSERT(root < members_.size());
    if (wanted_ == Wanted::nothing) begin_broadcast(root);
    FCI_ASSERT(root == broadcast_.root);
    if (!look(looks)) [[unlikely]] return not_yet();
    Entry& said = table_.said(broadcast_.slot);
    if (root == members_.self) {
        FCI_ASSERT(*bytes <= table_.longest() || *bytes >= Entry::kNobody);
        said.say(broadcast_.number, data, *bytes);
        end_broadcast(*bytes <= Entry::kShort);
        return FCI_ICL_DONE;
    }
    const std::size_t came = said.length();
    // Another member has written it.
    if (came <= *bytes && came <= table_.longest()) copy_data(data, said.data(came), came);
    if (came == Entry::kNobody) [[unlikely]] lost_ = said.who_is_gone();
    *bytes = came;
    end_broadcast(came <= Entry::kShort);
    return FCI_ICL_DONE;
}

}  // namespace fci::group
