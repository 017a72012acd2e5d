#include "fci_core/group/group.h"

#include <sched.h>

#include <algorithm>
#include <cstring>

#include "fci_core/base/assert.h"
#include "fci_core/base/flag.h"
#include "fci_core/base/result.h"
#include "fci_core/gcs/line.h"

namespace fci::group {

namespace {

bool all_at(const FlagTable& table, unsigned members, std::uint64_t number) noexcept {
    for (unsigned rank = 0; rank < members; ++rank) {
        if (flag::load_acquire(table.at[rank]) < number) return false;
    }
    return true;
}

}  // namespace

Group::Group(mp::Engine& engine, FlagTable& table, std::span<const nhi::PeerId> members,
             unsigned self, std::uint64_t number)
    : Wait(EndedBy::flag),
      engine_(engine),
      table_(table),
      members_(members.begin(), members.end()),
      self_(self),
      number_(number),
      all_at_(number) {
    FCI_ASSERT(!members_.empty() && members_.size() <= kMembersMost);
    FCI_ASSERT(self_ < members_.size() && members_[self_] == nhi::kSelf);
}

// --- telling ---

void Group::come_to(std::uint64_t number) noexcept {
    FCI_ASSERT(number <= number_);
    flag::store_release(table_.at[self_], number);
}

/// Who sleeps has said so and looked once more since; whoever calls this has stored something. One
/// that cannot be woken (it has gone, or was never met) hears of it by its own timeout.
void Group::wake_sleepers() noexcept {
    flag::full_fence();
    if (flag::load_relaxed(table_.sleepers) == 0) [[likely]] return;
    for (unsigned rank = 0; rank < members_.size(); ++rank) {
        if (rank == self_ || flag::load_relaxed(table_.asleep[rank]) == 0) continue;
        nhi::Transfer transfer(members_[rank]);
        (void)engine_.network.initiate_transfer(transfer.raise(gcs::kWakeEvent));
    }
}

// A number of its own, since who has come to the last collective may still be reading. Nobody
// sleeps over it: who waits for others to be past something has yet to say what comes then.
std::uint64_t Group::leave() noexcept {
    come_to(++number_);
    return number_;
}

// --- waiting ---

void Group::begin_waiting(Wanted wanted, std::uint64_t number) noexcept {
    FCI_ASSERT(wanted_ == Wanted::nothing && wanted != Wanted::nothing);
    wanted_ = wanted;
    wanted_number_ = number;
    set_steps(0);
}

bool Group::is_here() const noexcept {
    if (wanted_ == Wanted::all) return all_at(table_, size(), wanted_number_);
    const Entry& entry = table_.said[wanted_number_ % kKept];
    return Entry::number_of(flag::load_acquire(entry.word)) == wanted_number_;
}

bool Group::lacks(unsigned rank) const noexcept {
    if (wanted_ == Wanted::said) return rank == root_;
    return flag::load_relaxed(table_.at[rank]) < wanted_number_;
}

/// One that is waited for is gone. Who sleeps asks: a death is no flag.
bool Group::is_in_vain() const noexcept {
    for (unsigned rank = 0; rank < members_.size(); ++rank) {
        if (rank != self_ && lacks(rank) && *engine_.peers.reason(members_[rank]) != '\0') {
            return true;
        }
    }
    return false;
}

bool Group::is_over() noexcept {
    return wanted_ == Wanted::nothing || is_here() || (asleep_ && is_in_vain());
}

bool Group::needs_core() noexcept {
    const auto here = static_cast<std::uint8_t>(sched_getcpu() + 1);
    if (flag::load_relaxed(table_.core[self_]) != here) {
        flag::store_relaxed(table_.core[self_], here);
    }
    for (unsigned rank = 0; rank < members_.size(); ++rank) {
        const std::uint8_t core = flag::load_relaxed(table_.core[rank]);
        if (rank != self_ && (core == here || core == 0) && lacks(rank)) return true;
    }
    return false;
}

void Group::want_wake(bool wanted) noexcept {
    FCI_ASSERT(asleep_ != wanted);
    asleep_ = wanted;
    flag::store_relaxed(table_.asleep[self_], std::uint8_t{wanted});
    flag::add(table_.sleepers, wanted ? 1u : ~0u);
    flag::full_fence();
}

/// What is waited for is here, or will not come; or FCI_ICL_EAGAIN.
int Group::go_on() noexcept {
    bool here = is_here();
    if (!here) {
        if (!is_in_vain()) return FCI_ICL_EAGAIN;
        here = is_here();  // whoever is gone may have come first
    }
    if (here && wanted_ == Wanted::all) {
        std::uint64_t least = number_;
        for (unsigned rank = 0; rank < members_.size(); ++rank) {
            least = std::min(least, flag::load_relaxed(table_.at[rank]));
        }
        all_at_ = std::max(all_at_, least);
    }
    wanted_ = Wanted::nothing;
    return here ? FCI_ICL_DONE : FCI_ICL_EPEER;
}

// --- the collectives ---

/// The last one to come wakes those who have slept over it.
int Group::meet() noexcept {
    come_to(number_);
    flag::full_fence();
    if (all_at(table_, size(), number_)) {
        all_at_ = number_;
        wake_sleepers();
        return FCI_ICL_DONE;
    }
    begin_waiting(Wanted::all, number_);
    return FCI_ICL_EAGAIN;
}

int Group::barrier() noexcept {
    if (wanted_ != Wanted::nothing) return go_on();
    ++number_;
    return meet();
}

int Group::gather(const void* data, std::size_t bytes) noexcept {
    FCI_ASSERT(bytes <= kBytesMost);
    if (wanted_ != Wanted::nothing) return go_on();
    Entry& mine = table_.brought[self_][++gathers_ % 2];
    std::memcpy(mine.data, data, bytes);
    flag::store_relaxed(mine.word, std::uint64_t{bytes});
    ++number_;
    return meet();
}

std::span<const std::byte> Group::gathered(unsigned rank) const noexcept {
    FCI_ASSERT(rank < members_.size());
    const Entry& entry = table_.brought[rank][gathers_ % 2];
    // Another member has written it.
    const std::uint64_t bytes = flag::load_relaxed(entry.word);
    return {entry.data, static_cast<std::size_t>(std::min<std::uint64_t>(bytes, kBytesMost))};
}

int Group::broadcast(unsigned root, void* data, std::size_t* bytes) noexcept {
    FCI_ASSERT(root < members_.size());
    const bool begins = wanted_ == Wanted::nothing;
    if (begins) {
        ++number_;
        root_ = root;
    }
    FCI_ASSERT(root == root_);
    int answer = begins ? FCI_ICL_DONE : go_on();
    if (root == self_) {
        // All must be past what lies where this goes.
        if (begins && number_ > all_at_ + kKept) {
            begin_waiting(Wanted::all, number_ - kKept);
            answer = go_on();
        }
        if (answer == FCI_ICL_DONE) answer = say(data, *bytes);
    } else {
        if (begins) {
            begin_waiting(Wanted::said, number_);
            answer = go_on();
        }
        if (answer == FCI_ICL_DONE) answer = hear(data, bytes);
    }
    // A root that waits for this waits for the half before the last one at most.
    if (answer == FCI_ICL_DONE && number_ % (kKept / 2) == 0) {
        come_to(number_);
        wake_sleepers();
    }
    return answer;
}

int Group::say(const void* data, std::size_t bytes) noexcept {
    FCI_ASSERT(bytes <= kBytesMost);
    Entry& said = table_.said[number_ % kKept];
    std::memcpy(said.data, data, bytes);
    flag::store_release(said.word, Entry::broadcast(number_, bytes));
    wake_sleepers();
    return FCI_ICL_DONE;
}

int Group::hear(void* data, std::size_t* bytes) noexcept {
    const Entry& said = table_.said[number_ % kKept];
    const std::size_t came = Entry::length_of(flag::load_relaxed(said.word));
    // Another member has written it.
    if (came <= *bytes && came <= kBytesMost) std::memcpy(data, said.data, came);
    *bytes = came;
    return FCI_ICL_DONE;
}

}  // namespace fci::group
