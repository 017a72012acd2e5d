// Groups: what a driver keeps whose network has none (App. C, NHI_CreateGroup).
#pragma once

#include <algorithm>
#include <span>
#include <utility>
#include <vector>

#include "fci_core/base/assert.h"
#include "fci_core/base/status.h"
#include "fci_core/nhi/types.h"

namespace fci::nhi {

class Groups {
public:
    /// Of some of the peers below `known`, each once.
    Status create(std::span<const PeerId> peers, PeerId known, GroupId* group) {
        std::vector<PeerId> set(peers.begin(), peers.end());
        std::sort(set.begin(), set.end());
        set.erase(std::unique(set.begin(), set.end()), set.end());
        if (set.empty() || set.back() >= known) return Status::invalid;
        auto place = std::find_if(all_.begin(), all_.end(), [](auto& g) { return g.empty(); });
        if (place == all_.end()) place = all_.emplace(all_.end());
        FCI_ASSERT(place->empty() && all_.size() < kGroupFlag);
        *place = std::move(set);
        *group = kGroupFlag | static_cast<GroupId>(place - all_.begin());
        return Status::ok;
    }
    Status destroy(GroupId group) noexcept {
        if ((group & kGroupFlag) == 0 || members(group, 0).empty()) return Status::not_found;
        FCI_ASSERT((group & ~kGroupFlag) < all_.size());
        all_[group & ~kGroupFlag].clear();
        return Status::ok;
    }
    /// Of an id below `known` that id; nobody: there is no such group. Valid while `group` is.
    [[nodiscard]] std::span<const PeerId> members(const GroupId& group,
                                                  PeerId known) const noexcept {
        if ((group & kGroupFlag) == 0) return {&group, group < known ? 1u : 0u};
        const GroupId at = group & ~kGroupFlag;
        return at < all_.size() ? std::span<const PeerId>(all_[at]) : std::span<const PeerId>();
    }

private:
    std::vector<std::vector<PeerId>> all_;  // empty: free
};

}  // namespace fci::nhi
