// SPDX-License-Identifier: BSD-3-Clause
// HandWait: a wait whose answers a test sets.
#pragma once

#include "fci_core/progress/wait.h"

namespace fci::progress {

struct HandWait final : Wait {
    bool over = false, wanted = true, woken = true, needed = false, network = false;
    bool wants_wake = false;
    Wait* part = nullptr;
    unsigned asked = 0;          // whether it is over
    unsigned over_after = ~0u;   // so many asks it is

    bool is_over() noexcept override { return over = over || ++asked > over_after; }
    bool needs(unsigned) noexcept override { return needed; }
    void want_wake(bool wants) noexcept override { wants_wake = wants; }
    [[nodiscard]] bool may_be_woken() const noexcept override { return woken; }
    [[nodiscard]] bool is_for_network() const noexcept override { return network; }
    bool is_wanted() noexcept override { return wanted; }
    bool add_parts(Waits& to) noexcept override { return part != nullptr && to.add(*part); }
};

}  // namespace fci::progress
