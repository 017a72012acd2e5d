#include "fci_core/group/any_group.h"

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
            if constexpr (std::is_same_v<Part, Levels>) {
                if (has_root && !has_length && part.takes_long() && it.bytes <= UINT32_MAX) {
                    return part.broadcast_long(it.root, it.data, &it.bytes, looks);
                }
            }
            if (!has_root || (!has_length && it.root == members.self)) return FCI_ICL_EINVAL;
            return part.broadcast(it.root, it.data, &it.bytes, looks);
        case FCI_ICL_GATHER:
        case FCI_ICL_REDUCE: break;
        default: return FCI_ICL_EINVAL;
    }
    if (!has_length || (!has_root && it.root != Group::kAll)) return FCI_ICL_EINVAL;
    if (it.kind == FCI_ICL_REDUCE) {
        return part.reduce(it.root, it.own, it.data, &it.bytes, it.reduction, looks);
    }
    if constexpr (std::is_same_v<Part, Group>) {
        return part.gather(it.root, it.own, it.data, &it.bytes, looks);
    }
    return FCI_ICL_EUNSUPPORTED;
}

}  // namespace

std::size_t AnyGroup::longest() const noexcept {
    return table != nullptr ? table->table().longest() : levels->longest();
}

/// What all members end together, where there are levels; what one member begins or ends only
/// where there is no table of all.
inline bool AnyGroup::goes_by_levels(const Collective& it) const noexcept {
    if (!levels) return false;
    const bool is_for_all = it.kind == FCI_ICL_BARRIER ||
                            (it.kind == FCI_ICL_REDUCE && it.root == Group::kAll);
    return table == nullptr || is_for_all;
}

int AnyGroup::call(Collective& it, unsigned looks) noexcept {
    FCI_ASSERT((table != nullptr || levels) && !is_left);
    const bool by_levels = goes_by_levels(it);
    const int answer = by_levels ? call_in(*levels, members, longest(), it, looks)
                                 : call_in(*table, members, longest(), it, looks);
    if (answer == FCI_ICL_EPEER) [[unlikely]] {
        const unsigned lost = by_levels ? levels->lost() : table->lost();
        it.lost = lost < members.size() ? lost : FCI_ICL_NO_RANK;  // another one may have said it
    }
    return answer;
}

progress::Wait* AnyGroup::waiting(const Collective& it) const noexcept {
    return goes_by_levels(it) ? levels->waiting() : table;
}

progress::Wait* AnyGroup::waiting_to_form() const noexcept {
    FCI_ASSERT(table != nullptr || levels);
    if (forming != nullptr) return forming;
    return table != nullptr ? table : levels->waiting();
}

}  // namespace fci::group
