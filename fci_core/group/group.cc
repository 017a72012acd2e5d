// SPDX-License-Identifier: BSD-3-Clause
#include "fci_core/group/group.h"

#include <new>
#include <span>

#include "fci_core/base/assert.h"
#include "fci_core/group/hosts/send_nothing.h"

namespace fci::group {

inline bool Group::is_valid(const Collective& it) const noexcept {
    const bool has_root = it.root < members.size();
    const bool is_for_all = it.root == TableGroup::kAll;
    switch (it.kind) {
        case FCI_ICL_BARRIER: return true;
        case FCI_ICL_BROADCAST:
            return has_root && (it.bytes <= longest() || it.root != members.self);
        case FCI_ICL_GATHER: return (has_root || is_for_all) && it.bytes <= longest_gather();
        case FCI_ICL_REDUCE: return (has_root || is_for_all) && it.bytes <= longest();
        default: return false;
    }
}

inline int Group::call_table(Collective& it, unsigned looks) const noexcept {
    switch (it.kind) {
        case FCI_ICL_BARRIER: return table->barrier(looks);
        case FCI_ICL_BROADCAST: return table->broadcast(it.root, it.data, &it.bytes, looks);
        case FCI_ICL_GATHER: return table->gather(it.root, it.own, it.data, &it.bytes, looks);
        default:
            return table->reduce(it.root, it.own, it.data, &it.bytes, it.reduction, looks);
    }
}

int Group::call_levels(Collective& it, unsigned looks) noexcept {
    if (it.kind == FCI_ICL_GATHER) return gathering.call(*run, it, looks);
    if (it.kind != FCI_ICL_BARRIER) return run->call(it, looks);
    Collective nothing{};  // a barrier is a reduction of no bytes
    nothing.kind = FCI_ICL_REDUCE;
    nothing.root = TableGroup::kAll;
    nothing.reduction = kNothing;
    return run->call(nothing, looks);
}

/// Collectives that all members end together go by the levels, where there are some; those that one
/// member begins or ends only where there is no table of all.
inline bool Group::goes_by_levels(const Collective& it) const noexcept {
    if (!run) return false;
    const bool is_for_all = it.kind == FCI_ICL_BARRIER ||
                            (it.kind == FCI_ICL_REDUCE && it.root == TableGroup::kAll);
    return table == nullptr || is_for_all;
}

int Group::call(Collective& it, unsigned looks) noexcept {
    FCI_ASSERT((table != nullptr || run) && !is_left);
    if (is_long(it)) [[unlikely]] return broadcast_long(it, looks);
    if (!is_valid(it)) [[unlikely]] return FCI_ICL_EINVAL;
    const bool by_levels = goes_by_levels(it);
    const std::size_t asked = it.bytes;
    const int answer = by_levels ? call_levels(it, looks) : call_table(it, looks);
    if (answer == FCI_ICL_EPEER) [[unlikely]] {
        const unsigned lost = by_levels ? run->lost() : table->lost();
        it.lost = lost < members.size() ? lost : FCI_ICL_NO_RANK;  // others may say anything
    }
    const bool is_over = answer == FCI_ICL_DONE || answer == FCI_ICL_ETRUNC;
    const bool is_other = is_over && it.bytes != asked;
    if (!is_other || it.kind != FCI_ICL_BROADCAST || !long_broadcast) [[likely]] return answer;
    if (it.bytes != sizeof(LongBroadcast::Announcement)) return FCI_ICL_ETRUNC;
    // It may have been the announcement of a long one, whose root waits for all.
    long_broadcast->refuse(it.root, run->ended(), FCI_ICL_ETRUNC, FCI_ICL_NO_RANK);
    return broadcast_long(it, looks);
}

// --- waiting ---

progress::Wait* Group::waiting(const Collective& it) const noexcept {
    if (long_broadcast && long_broadcast->goes_on()) return long_broadcast->waiting();
    return goes_by_levels(it) ? run->waiting() : &table->wait();
}

progress::Wait* Group::waiting_to_form() const noexcept {
    FCI_ASSERT(table != nullptr || run);
    if (forming != nullptr) return &forming->wait();
    return table != nullptr ? &table->wait() : run->waiting();
}

std::array<progress::Wait*, 7> Group::waits() const noexcept {
    if (!run) return {wait_of(table)};
    const auto of_run = run->waits();
    const auto of_long =
        long_broadcast ? long_broadcast->waits() : std::array<progress::Wait*, 2>{};
    return {wait_of(table), of_run[0], of_run[1], of_run[2], of_run[3], of_long[0], of_long[1]};
}

// --- long broadcasts ---

void Group::begin_long() {
    if (!run || !run->hinting().works() || long_broadcast) return;
    long_broadcast = run->hinting().make_long(run->levels().parts, members);
}

/// The short broadcast before the data. FCI_ICL_DONE: the long one goes on; else it has ended.
int Group::announce_long(Collective& it, unsigned looks) noexcept {
    LongBroadcast& own = *long_broadcast;
    const std::span<std::byte> room(static_cast<std::byte*>(it.data), it.bytes);
    if (const std::uint64_t ended = run->ended(); ended != 0) {
        own.expect(it.root, ended + 1, room, run->hinting().window(it.bytes));
    }
    Collective announcing = own.announcing(it.root);
    const int answer = run->call(announcing, looks);
    if (run->ended() == 0) return answer;
    if (answer == FCI_ICL_DONE && announcing.bytes != sizeof(LongBroadcast::Announcement)) {
        own.withdraw();  // it was a short one
        it.bytes = announcing.bytes;
        return FCI_ICL_ETRUNC;
    }
    return own.begin(it.root, run->ended(), room, answer, run->lost());
}

/// FCI_ICL_EUNSUPPORTED, at all members: it is to go another way.
int Group::broadcast_long(Collective& it, unsigned looks) noexcept {
    if (it.root >= members.size() || it.bytes > UINT32_MAX) return FCI_ICL_EINVAL;
    LongBroadcast& own = *long_broadcast;
    if (!own.goes_on()) {
        const int answer = announce_long(it, looks);
        if (answer != FCI_ICL_DONE) return answer;
    }
    try {
        if (own.advance()) {
            if (own.is_lossy()) run->hinting().report_lossy(members.peers[it.root]);
            if (own.code() == FCI_ICL_EPEER) it.lost = own.lost();
            return own.code();
        }
    } catch (const std::bad_alloc&) {  // there may be memory again
    }
    return FCI_ICL_EAGAIN;
}

// --- leaving ---

void Group::give_up() const noexcept {
    run->give_up();
    if (long_broadcast) long_broadcast->give_up();
}

void Group::on_progress(mp::MessagePassing& messages, nhi::PeerId source,
                        const LongProgress& note) const {
    if (long_broadcast) return long_broadcast->on_progress(source, note);
    // Nobody could have the group here, and another one waits for what this one would send.
    if (note.wanted == 0) return;
    send_nothing(messages, source, match_of(members.key, note.number, true));
}

}  // namespace fci::group
