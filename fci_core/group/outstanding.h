// SPDX-License-Identifier: BSD-3-Clause
// Outstanding: collectives that were begun and go on in progress, those of a group one after the
// other: all its members begin them in the same order. They are one of the registered waits of the
// process, made of those of their groups.
#pragma once

#include "fci_core/base/intrusive_list.h"
#include "fci_core/group/group.h"
#include "fci_core/progress/wait.h"

namespace fci::group {

class Outstanding final : public progress::Wait {
public:
    [[nodiscard]] bool any() const noexcept { return !groups_.empty(); }
    /// FCI_ICL_OK: it goes on behind those before it; else how it has ended.
    [[nodiscard]] int start(Group& group, Collective& it) noexcept;
    /// One look at the first one of each group; the caller that has begun one that ends is told.
    /// `work`, and how many have ended; or `work` where that is an error.
    int advance(int work) noexcept;
    /// Those of the group go on no more, and nobody hears how they end.
    void drop(Group& group) noexcept;

    [[nodiscard]] bool is_wanted() noexcept override { return any(); }
    /// One has become the first of its group and was not looked at yet. The waits of
    /// its group say by themselves whether they are over.
    [[nodiscard]] bool is_over() noexcept override { return is_due_ && any(); }
    /// Adds the wait of the first one of each group, and removes all other waits of that group.
    bool add_parts(progress::Waits& to) noexcept override;
    // These are asked of the waits of its groups.
    [[nodiscard]] bool needs(unsigned) noexcept override { return false; }
    void want_wake(bool) noexcept override {}
    [[nodiscard]] bool may_be_woken() const noexcept override { return true; }

private:
    IntrusiveList<Group> groups_;  // that have some
    bool is_due_ = false;
};

}  // namespace fci::group
