// SPDX-License-Identifier: BSD-3-Clause
#include "fci_core/group/group.h"

#include <new>
#include <span>
#include <type_traits>

#include "fci_core/base/assert.h"

namespace fci::group {

namespace {

template <class Part>
int call_in(Part& part, const Members& members, std::size_t longest, Collective& it,
            unsigned looks) noexcept {
    const bool has_root = it.root < members.size();
    const bool has_length = it.bytes <= longest;
    switch (it.kind) {
        case FCI_ICL_BARRIER: return part.barrier(looks);
        case FCI_ICL_BROADCAST:
            if (!has_root || (!has_length && it.root == members.self)) return FCI_ICL_EINVAL;
            return part.broadcast(it.root, it.data, &it.bytes, looks);
        case FCI_ICL_GATHER:
        case FCI_ICL_REDUCE: break;
        default: return FCI_ICL_EINVAL;
    }
    if (!has_length || (!has_root && it.root != TableGroup::kAll)) return FCI_ICL_EINVAL;
    if (it.kind == FCI_ICL_REDUCE) {
        return part.reduce(it.root, it.own, it.data, &it.bytes, it.reduction, looks);
    }
    if constexpr (std::is_same_v<Part, TableGroup>) {
        return part.gather(it.root, it.own, it.data, &it.bytes, looks);
    }
    return FCI_ICL_EUNSUPPORTED;
}

}  // namespace

std::size_t Group::longest() const noexcept {
    return table != nullptr ? table->table().longest() : levels->longest();
}

std::size_t Group::longest_gather() const noexcept {
    return table != nullptr ? longest() : Gathering::longest(*levels);
}

/// Over hosts.
int Group::gather(Collective& it, unsigned looks) noexcept {
    const bool has_root = it.root < members.size() || it.root == TableGroup::kAll;
    if (!has_root || it.bytes > longest_gather()) return FCI_ICL_EINVAL;
    return gathering.call(*levels, members.self, it, looks);
}

/// What all members end together, where there are levels; what one member begins or ends only
/// where there is no table of all.
inline bool Group::goes_by_levels(const Collective& it) const noexcept {
    if (!levels) return false;
    const bool is_for_all = it.kind == FCI_ICL_BARRIER ||
                            (it.kind == FCI_ICL_REDUCE && it.root == TableGroup::kAll);
    return table == nullptr || is_for_all;
}

int Group::call(Collective& it, unsigned looks) noexcept {
    FCI_ASSERT((table != nullptr || levels) && !is_left);
    if (is_long(it)) [[unlikely]] return broadcast_long(it, looks);
    const bool by_levels = goes_by_levels(it);
    const std::size_t asked = it.bytes;
    const int answer = !by_levels ? call_in(*table, members, longest(), it, looks)
                       : it.kind == FCI_ICL_GATHER
                           ? gather(it, looks)
                           : call_in(*levels, members, longest(), it, looks);
    if (answer == FCI_ICL_EPEER) [[unlikely]] {
        const unsigned lost = by_levels ? levels->lost() : table->lost();
        it.lost = lost < members.size() ? lost : FCI_ICL_NO_RANK;  // another one may have said it
    }
    const bool is_over = answer == FCI_ICL_DONE || answer == FCI_ICL_ETRUNC;
    const bool is_other = is_over && it.bytes != asked;
    if (!is_other || it.kind != FCI_ICL_BROADCAST || !long_broadcast) [[likely]] return answer;
    if (it.bytes != sizeof(LongBroadcast::Announcement)) return FCI_ICL_ETRUNC;
    // It may have been the announcement of a long one, whose root waits for all.
    long_broadcast->refuse(it.root, levels->ended(), FCI_ICL_ETRUNC, FCI_ICL_NO_RANK);
    return broadcast_long(it, looks);
}

progress::Wait* Group::waiting(const Collective& it) const noexcept {
    if (long_broadcast && long_broadcast->goes_on()) return long_broadcast->waiting();
    return goes_by_levels(it) ? levels->waiting() : table;
}

// --- long broadcasts ---

void Group::begin_long() {
    if (!levels || !levels->hinting().works() || long_broadcast) return;
    long_broadcast = levels->hinting().make_long(levels->parts(), members);
}

/// FCI_ICL_EUNSUPPORTED, at all: it is to go another way.
int Group::broadcast_long(Collective& it, unsigned looks) noexcept try {
    if (it.root >= members.size() || it.bytes > UINT32_MAX) return FCI_ICL_EINVAL;
    LongBroadcast& own = *long_broadcast;
    const std::span<std::byte> room(static_cast<std::byte*>(it.data), it.bytes);
    if (!own.goes_on()) {
        LongBroadcast::Announcement& announcement = own.announcement();
        if (const std::uint64_t ended = levels->ended(); ended != 0) {
            if (it.root == members.self) {
                const std::size_t window = levels->hinting().window(it.bytes);
                announcement = {it.bytes, window != 0, static_cast<std::uint32_t>(window)};
            }
            own.expect(it.root, ended + 1, room);
        }
        std::size_t length = sizeof announcement;
        int answer = levels->broadcast(it.root, &announcement, &length, looks);
        if (answer == FCI_ICL_EAGAIN) return answer;
        // What another one says may be anything; nothing is allocated, or waited for, that is not
        // what the caller said, too.
        if (answer == FCI_ICL_DONE && length != sizeof announcement) {  // a short one
            own.withdraw();
            it.bytes = length;
            return FCI_ICL_ETRUNC;
        }
        const bool differs = answer == FCI_ICL_DONE && announcement.bytes != it.bytes;
        if (answer == FCI_ICL_DONE && announcement.by_hints == 0) {
            own.withdraw();
            return differs ? FCI_ICL_ETRUNC : FCI_ICL_EUNSUPPORTED;
        }
        if (differs) answer = FCI_ICL_ETRUNC;
        if (answer != FCI_ICL_DONE) {
            own.refuse(it.root, levels->ended(), answer, levels->lost());
        } else {
            own.begin(it.root, levels->ended(), room);
        }
    }
    const int answer = own.advance();
    if (answer == FCI_ICL_DONE && own.is_lossy()) {
        levels->hinting().tell_lossy(members.peers[it.root]);
    }
    if (answer == FCI_ICL_EPEER) it.lost = own.lost();
    return answer;
} catch (const std::bad_alloc&) {  // there may be memory again
    return FCI_ICL_EAGAIN;
}

void Group::give_up() const noexcept {
    levels->exchange().give_up();
    if (long_broadcast) long_broadcast->give_up();
}

void Group::hear(mp::MessagePassing& messages, nhi::PeerId source, const Note& note) const {
    if (note.said.number == 0) return levels->hinting().hear(source, note);
    if (long_broadcast) return long_broadcast->hear(source, note.said);
    // Nobody could have the group here, and another one waits for what this one would send.
    if (note.said.wanted == 0) return;
    send_nothing(messages, source, match_of(members.key, note.said.number, true));
}

progress::Wait* Group::waiting_to_form() const noexcept {
    FCI_ASSERT(table != nullptr || levels);
    if (forming != nullptr) return forming;
    return table != nullptr ? table : levels->waiting();
}

}  // namespace fci::group
