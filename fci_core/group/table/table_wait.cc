// SPDX-License-Identifier: BSD-3-Clause
#include "fci_core/group/table/table_wait.h"

#include <new>
#include <utility>

#include "fci_core/base/assert.h"
#include "fci_core/gcs/line.h"

namespace fci::group {

namespace {

// A death is heard within a tenth of a second; and nobody meets another for a short wait.
constexpr Nanoseconds kPatience = 50'000'000;

}  // namespace

TableWait::TableWait(mp::Engine& engine, mp::Meetings& meetings, const Offers& offers,
                     Members members)
    : engine_(engine), meetings_(meetings), offers_(offers), members_(std::move(members)) {
    FCI_ASSERT(members_.size() != 0 && members_.size() <= kMembersMost);
    FCI_ASSERT(members_.self < members_.size() && members_.peers[members_.self] == nhi::kSelf);
}

[[gnu::noinline]] void TableWait::wake(std::uint64_t asleep) noexcept {
    for (unsigned rank = 0; rank < members_.size(); ++rank) {
        if (rank == members_.self || (asleep >> rank & 1) == 0) continue;
        nhi::Transfer transfer(members_.peers[rank]);
        (void)engine_.network.initiate_transfer(transfer.raise(gcs::kWakeEvent));
    }
}

/// One that is waited for; or, of a group that is only forming, the owner: then some may never hear
/// of its table. FCI_ICL_NO_RANK: all of them are there.
unsigned TableWait::who_is_gone() const noexcept {
    for (unsigned rank = 0; rank < members_.size(); ++rank) {
        const bool is_needed = lacks(rank) || (meeting_ == 1 && rank == members_.owner());
        if (rank != members_.self && is_needed && engine_.peers.is_lost(members_.peers[rank])) {
            return rank;
        }
    }
    return FCI_ICL_NO_RANK;
}

/// A process hears of the death of those that it has met, and is woken by it.
void TableWait::meet_those_that_lack() noexcept try {
    met_those_ = true;
    for (unsigned rank = 0; rank < members_.size(); ++rank) {
        if (rank != members_.self && lacks(rank)) (void)meetings_.connected(members_.peers[rank]);
    }
} catch (const std::bad_alloc&) {
    met_those_ = false;
}

/// A member that sleeps asks for deaths as well: a death is no flag.
bool TableWait::is_over() noexcept {
    if (wanted_ == Wanted::nothing || look(1)) return true;
    if (table_.is_there() && table_.is_refused()) return true;
    return asleep_ && who_is_gone() != FCI_ICL_NO_RANK;
}

bool TableWait::needs(unsigned core) noexcept {
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

void TableWait::want_wake(bool wanted) noexcept {
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

bool TableWait::may_be_woken() const noexcept {
    for (unsigned rank = 0; rank < members_.size(); ++rank) {
        const bool is_stranger = !engine_.peers.find(members_.peers[rank]).attached;
        if (rank != members_.self && is_stranger && lacks(rank)) return false;
    }
    return true;
}

/// A member that has just begun to wait asks no more than that.
bool TableWait::is_in_vain(unsigned* gone) noexcept {
    const Nanoseconds now = engine_.device.now();
    if (since() == 0) {
        met_those_ = false;
        begin(now);
        return false;
    }
    if (!met_those_ && (asleep_ || now - since() > kPatience)) meet_those_that_lack();
    const unsigned rank = who_is_gone();
    // A member that is gone may have come first.
    if (rank == FCI_ICL_NO_RANK || look(1)) return false;
    if (wanted_ == Wanted::result) {  // once all have come each reduces what they brought
        want(Wanted::meeting, number_);
        return false;
    }
    *gone = rank;
    // A root that waits for room must not wait for this member, which is through with that one.
    if (wanted_ == Wanted::said || wanted_ == Wanted::room) {
        flag::store_release(table_.past(members_.self), broadcast_.number);
        wake_sleepers();
    }
    wanted_ = Wanted::nothing;
    return true;
}

}  // namespace fci::group
