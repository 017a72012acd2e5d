// SPDX-License-Identifier: BSD-3-Clause
#include "fci_core/group/table/table_group.h"

#include <algorithm>
#include <utility>

#include "fci_core/base/assert.h"
#include "fci_core/base/flag.h"
#include "fci_core/base/result.h"

namespace fci::group {

namespace {

constexpr unsigned kPastEvery = kSlots / 2;  // a root that has no room waits for half of them

}  // namespace

// --- forming ---

/// It is not here: it comes later, or never, as a member has gone.
int TableGroup::not_yet() noexcept {
    return wait_.is_in_vain(&lost_) ? FCI_ICL_EPEER : FCI_ICL_EAGAIN;
}

int TableGroup::await_offer() noexcept {
    if (wait_.wants(Wanted::nothing)) wait_.want(Wanted::offer, 0);
    if (!wait_.look(1)) return not_yet();
    wait_.end();
    return FCI_ICL_DONE;
}

// --- meetings ---

/// Says that this process has come, once all have come to the meeting before: only then all have
/// read what its entry holds. FCI_ICL_OK: that was done before.
inline int TableGroup::come(const void* own, std::size_t bytes, unsigned looks) noexcept {
    if (wait_.wants(Wanted::nothing)) {
        wait_.want_before_meeting();
        if (met_ == wait_.number()) wait_.skip();
    } else if (wait_.number() == wait_.meeting()) {
        return FCI_ICL_OK;
    }
    if (!wait_.look(looks)) [[unlikely]] return not_yet();
    met_ = wait_.number();
    table().entry(members().self, wait_.meeting()).say(wait_.meeting(), own, bytes);
    wait_.want(Wanted::meeting, wait_.meeting());
    return FCI_ICL_DONE;
}

inline void TableGroup::have_met() noexcept {
    met_ = wait_.meeting();
    ++wait_.engine().counters.table_collectives;
    broadcast_.all_past = broadcast_.number;  // a member that comes here has read them
    wait_.end();
    wait_.wake_sleepers();
}

/// A member that is not the root goes on as soon as it has come.
inline int TableGroup::meet(unsigned root, const void* own, std::size_t bytes,
                       unsigned looks) noexcept {
    FCI_ASSERT(bytes <= table().longest() || bytes >= Entry::kNobody);
    const int came = come(own, bytes, looks);
    if (came != FCI_ICL_DONE && came != FCI_ICL_OK) return came;
    if (root != kAll && root != members().self) {
        wait_.end();
        ++wait_.engine().counters.table_collectives;
        wait_.wake_sleepers();
        return FCI_ICL_DONE;
    }
    if (!wait_.look(looks)) [[unlikely]] return not_yet();
    have_met();
    return FCI_ICL_DONE;
}

int TableGroup::barrier(unsigned looks) noexcept { return meet(kAll, nullptr, 0, looks); }

/// *bytes: that which is not like it.
inline bool TableGroup::has_other_length(std::size_t* bytes) noexcept {
    for (unsigned rank = 0; rank < members().size(); ++rank) {
        if (rank == members().self) continue;  // that line is another one's by now
        const Entry& entry = table().entry(rank, wait_.meeting());
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
    if (answer != FCI_ICL_DONE || (root != kAll && root != members().self)) return answer;
    if (has_other_length(bytes)) return FCI_ICL_ETRUNC;
    for (unsigned rank = 0; rank < members().size(); ++rank) {
        std::byte* const to = static_cast<std::byte*>(all) + rank * *bytes;
        if (rank != members().self) {
            copy_data(to, table().entry(rank, wait_.meeting()).data(*bytes), *bytes);
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
    const unsigned last = members().size() - 1;
    if (own == result && members().self != last) {
        copy_data(kept, own, bytes);
        own = kept;
    }
    const auto share = [&](unsigned rank) {
        return rank == members().self ? own : table().entry(rank, wait_.meeting()).data(bytes);
    };
    if (share(last) != result) copy_data(result, share(last), bytes);
    for (unsigned rank = last; rank-- > 0;) reduction.apply(reduction.user, share(rank), result);
}

int TableGroup::reduce(unsigned root, const void* own, void* result, std::size_t* bytes,
                  const Reduction& reduction, unsigned looks) noexcept {
    const bool is_forsaken = wait_.wants(Wanted::meeting) && wait_.number() == wait_.meeting();
    if (root == kAll && table().head().throng != 0 && !is_forsaken) {
        return reduce_in_throng(own, result, bytes, reduction, looks);
    }
    const int answer = meet(root, own, *bytes, looks);
    if (answer != FCI_ICL_DONE || (root != kAll && root != members().self)) return answer;
    if (has_other_length(bytes) || *bytes > table().longest()) return FCI_ICL_ETRUNC;
    fold(own, result, *bytes, reduction);
    return FCI_ICL_DONE;
}

/// For many members on few cores: the last one to come reduces for all, so that each reads one
/// entry. One result is enough: a member that comes to the next meeting has read the last one.
int TableGroup::reduce_in_throng(const void* own, void* result, std::size_t* bytes,
                            const Reduction& reduction, unsigned looks) noexcept {
    Entry& told = table().result();
    if (!wait_.wants(Wanted::result)) {
        const int came = come(own, *bytes, looks);
        if (came != FCI_ICL_DONE) return came;
        wait_.end();
        wait_.want(Wanted::result, wait_.meeting());
        const std::uint64_t mine = flag::fetch_add(table().head().gathered, std::uint64_t{1}) + 1;
        if (mine == ++throngs_ * members().size()) {
            std::size_t length = *bytes;
            if (has_other_length(&length) || length > table().longest()) {
                length = Entry::kNoLength;
            } else {
                fold(own, told.data(length), length, reduction);
            }
            told.publish(wait_.meeting(), length);
        }
    }
    if (!wait_.look(looks)) [[unlikely]] return not_yet();
    have_met();
    if (told.length() != *bytes) {
        (void)has_other_length(bytes);
        return FCI_ICL_ETRUNC;
    }
    copy_data(result, told.data(*bytes), *bytes);
    return FCI_ICL_DONE;
}

// --- broadcasts ---

/// The slots are gone round in. Where two members take turns the new root writes where it has just
/// heard: that line is here, and the other one looks at it already.
inline void TableGroup::begin_broadcast(unsigned root) noexcept {
    auto& broadcast = broadcast_;
    ++broadcast.number;
    const bool answers = members().size() == 2 && root != broadcast.root && broadcast.is_short;
    if (!answers) broadcast.slot = (broadcast.slot + 1) % kSlots;
    broadcast.root = root;
    const TableBroadcast said{broadcast.number, root, broadcast.slot};
    if (root != members().self) {
        wait_.want(Wanted::said, broadcast.number, said);
    } else if (broadcast.number > broadcast.all_past + kSlots) {
        wait_.want(Wanted::room, broadcast.number - kSlots, said);
    } else {
        wait_.want(Wanted::room, 0, said);
        wait_.skip();
    }
}

inline void TableGroup::end_broadcast(bool is_short) noexcept {
    auto& broadcast = broadcast_;
    if (wait_.wants(Wanted::room) && wait_.number() != 0) {
        std::uint64_t least = broadcast.number;
        for (unsigned rank = 0; rank < members().size(); ++rank) {
            if (rank == members().self) continue;
            least = std::min(least, flag::load_relaxed(table().past(rank)));
        }
        broadcast.all_past = least;
    }
    broadcast.is_short = is_short;
    ++wait_.engine().counters.table_collectives;
    wait_.end();
    const bool is_due = broadcast.number % kPastEvery == 0;
    if (is_due) flag::store_release(table().past(members().self), broadcast.number);
    const bool wakes = broadcast.root == members().self || members().owner() == members().self;
    if (is_due || wakes) wait_.wake_sleepers();
}

int TableGroup::broadcast(unsigned root, void* data, std::size_t* bytes, unsigned looks) noexcept {
    FCI_ASSERT(root < members().size());
    if (wait_.wants(Wanted::nothing)) begin_broadcast(root);
    FCI_ASSERT(root == broadcast_.root);
    if (!wait_.look(looks)) [[unlikely]] return not_yet();
    Entry& said = table().said(broadcast_.slot);
    if (root == members().self) {
        FCI_ASSERT(*bytes <= table().longest() || *bytes >= Entry::kNobody);
        said.say(broadcast_.number, data, *bytes);
        end_broadcast(*bytes <= Entry::kShort);
        return FCI_ICL_DONE;
    }
    const std::size_t came = said.length();
    // Another member has written it.
    if (came <= *bytes && came <= table().longest()) copy_data(data, said.data(came), came);
    if (came == Entry::kNobody) [[unlikely]] lost_ = said.who_is_gone();
    *bytes = came;
    end_broadcast(came <= Entry::kShort);
    return FCI_ICL_DONE;
}

}  // namespace fci::group
