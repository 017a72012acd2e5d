// SPDX-License-Identifier: BSD-3-Clause
// NetworkWait: a wait for what comes from other hosts, by messages or hints (§2.7.4).
#pragma once

#include "fci_core/progress/wait.h"

namespace fci::group {

class NetworkWait : public progress::Wait {
public:
    /// Processes of other hosts may share this core all the same, if it is one of those that must
    /// be given away.
    [[nodiscard]] bool needs(unsigned) noexcept final { return true; }
    void want_wake(bool) noexcept final {}  // messages and hints wake by themselves
    [[nodiscard]] bool may_be_woken() const noexcept final { return true; }
    [[nodiscard]] bool is_for_network() const noexcept final { return true; }
};

}  // namespace fci::group
