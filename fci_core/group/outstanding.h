// SPDX-License-Identifier: BSD-3-Clause
// Outstanding: collectives that were begun and go on in progress, those of a group one after the
// other: all its members begin them in the same order.
#pragma once

#include "fci_core/base/intrusive_list.h"
#include "fci_core/group/group.h"
#include "fci_core/progress/wait.h"

namespace fci::group {

class Outstanding {
public:
    [[nodiscard]] bool any() const noexcept { return !groups_.empty(); }
    /// One has become the first of its group and was not looked at yet.
    [[nodiscard]] bool is_due() const noexcept { return is_due_ && any(); }
    /// FCI_ICL_OK: it goes on behind those before it; else how it has ended.
    [[nodiscard]] int start(Group& group, Collective& it) noexcept;
    /// One look at the first one of each group; who has begun one that ends is told. `work`, and
    /// how many have ended; or `work` where that is an error.
    int advance(int work) noexcept;
    /// Those of the group go on no more, and nobody hears how they end.
    void drop(Group& group) noexcept;

    /// Before a sleep: visit(wait), of all that they wait for.
    template <class F>
    void for_each_wait(F visit) noexcept {
        groups_.for_each([&](Group& group) {
            progress::Wait* const waiting = group.waiting(*group.first);
            group.sleep_only_over(waiting);
            if (waiting != nullptr) visit(*waiting);
        });
    }

    /// Whoever may end them is able to wake this process.
    [[nodiscard]] bool may_be_woken() noexcept {
        bool may = true;
        for_each_wait([&](const progress::Wait& wait) { may = may && wait.may_be_woken(); });
        return may;
    }

private:
    IntrusiveList<Group> groups_;  // that have some
    bool is_due_ = false;
};

}  // namespace fci::group
