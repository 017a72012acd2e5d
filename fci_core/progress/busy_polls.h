// SPDX-License-Identifier: BSD-3-Clause
// BusyPolls: when a process whose turns all find work polls its network all the same (§2.6.10).
// Where that is memory, once credit went back: whatever else comes is seen without it. Where the
// network brings messages as well, by time, and the clock is asked every few turns.
#pragma once

#include "fci_core/base/assert.h"
#include "fci_core/base/status.h"
#include "fci_core/nhi/network_interface.h"

namespace fci::progress {

class BusyPolls {
public:
    /// The network was polled, whether busy or not. `every`: busy_poll_every() of it since then.
    void polled(Nanoseconds now, Nanoseconds every) noexcept {
        FCI_ASSERT(every > 0);
        polled_ = now;
        every_ = every;
    }

    [[nodiscard]] bool by_time() const noexcept {
        return every_ < nhi::NetworkInterface::kBusyPollEvery;
    }
    /// To ask the clock takes a tenth of what a message does.
    static constexpr unsigned kTurns = 4;
    /// A turn found work. True: the clock is to be asked.
    [[nodiscard]] bool count_turn() noexcept {
        if (!by_time() || --left_ != 0) return false;
        left_ = kTurns;
        return true;
    }
    [[nodiscard]] bool is_due(Nanoseconds now) const noexcept { return now - polled_ >= every_; }

private:
    Nanoseconds every_ = nhi::NetworkInterface::kBusyPollEvery;
    Nanoseconds polled_ = 0;
    unsigned left_ = kTurns;
};

}  // namespace fci::progress
