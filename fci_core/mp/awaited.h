// SPDX-License-Identifier: BSD-3-Clause
// Awaited: what messages bring to the callers of a process, as one of its registered waits
// (§2.7.4): the posted receives, the sends that are not taken, and what was asked for in vain.
#pragma once

#include "fci_core/mp/engine.h"
#include "fci_core/mp/sends.h"
#include "fci_core/progress/wait.h"

namespace fci::mp {

class Awaited final : public progress::Wait {
public:
    Awaited(Engine& engine, Sends& sends) noexcept : engine_(engine), sends_(sends) {}

    /// The next turn would do something, or there is room now for the send that was refused last.
    [[nodiscard]] bool is_over() noexcept override;
    /// A caller waits for a message, or since this was last asked has probed for one,
    /// or tried to send to a peer that is not connected yet: all of that wakes a sleeper. A receive
    /// that takes any message from any source does not count.
    [[nodiscard]] bool is_wanted() noexcept override;
    /// A receive from any source is among the oldest that are posted.
    [[nodiscard]] bool is_from_anybody() const noexcept;

    // Messages raise the wake event by themselves, wherever their senders are.
    [[nodiscard]] bool needs(unsigned) noexcept override { return false; }
    void want_wake(bool) noexcept override {}
    [[nodiscard]] bool may_be_woken() const noexcept override { return true; }

private:
    Engine& engine_;
    Sends& sends_;
};

}  // namespace fci::mp
