#include "fci_core/group/any_group.h"

#include <type_traits>

#include "fci_core/base/assert.h"

namespace fci::group {

namespace {

template <class Part>
int call_in(Part& part, Collective& it, unsigned looks) noexcept {
    switch (it.kind) {
        case FCI_ICL_BARRIER: return part.barrier(looks);
        case FCI_ICL_BROADCAST: return part.broadcast(it.root, it.data, &it.bytes, looks);
        case FCI_ICL_GATHER:
            if constexpr (std::is_same_v<Part, Group>) {
                return part.gather(it.root, it.own, it.data, &it.bytes, looks);
            }
            return FCI_ICL_EUNSUPPORTED;
        default: return part.reduce(it.root, it.own, it.data, &it.bytes, it.reduction, looks);
    }
}

}  // namespace

std::size_t AnyGroup::longest() const noexcept {
    return table != nullptr ? table->table().longest() : levels->longest();
}

int AnyGroup::check(const Collective& it) const noexcept {
    const bool has_root = it.root < members.size();
    switch (it.kind) {
        case FCI_ICL_BARRIER: return FCI_ICL_OK;
        case FCI_ICL_BROADCAST: {
            const bool is_short = it.root != members.self || it.bytes <= longest();
            return has_root && is_short ? FCI_ICL_OK : FCI_ICL_EINVAL;
        }
        case FCI_ICL_GATHER:
        case FCI_ICL_REDUCE: break;
        default: return FCI_ICL_EINVAL;
    }
    if ((!has_root && it.root != Group::kAll) || it.bytes > longest()) return FCI_ICL_EINVAL;
    return it.kind == FCI_ICL_GATHER && table == nullptr ? FCI_ICL_EUNSUPPORTED : FCI_ICL_OK;
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
    const int answer = by_levels ? call_in(*levels, it, looks) : call_in(*table, it, looks);
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
