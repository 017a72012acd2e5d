// SPDX-License-Identifier: BSD-3-Clause
// Worker: what the waiting loop asks of the process that it turns (§2.6.10). The rooms that do the
// work lie above this one, so it comes to the loop as an argument.
#pragma once

#include <cstdint>

#include "fci_core/base/status.h"

namespace fci::progress {

/// The loop judges by these.
struct Signs {
    std::uint64_t begun;  // messages that the caller has begun to send: it does not wait meanwhile
    unsigned expected;    // peers that were asked for and not met so far
    bool is_in_use;       // somebody is there to wait for; not so in MPI_Init
    bool goes_on;         // something was begun that only a turn finds to be over
};
static_assert(sizeof(Signs) == 16, "it is returned in registers");

/// Asked in empty turns, and in those of a wait.
class Worker {
public:
    virtual ~Worker() = default;
    /// One bounded turn: what was done, or an error (< 0). Not the network's own work.
    [[nodiscard]] virtual int turn() = 0;
    /// What goes on is looked at: `work` and how much of it has ended; `work` where that is an
    /// error.
    [[nodiscard]] virtual int advance(int work) noexcept = 0;
    [[nodiscard]] virtual Signs signs() const noexcept = 0;
    /// Peers that sleep until something wakes them, as far as can be seen without asking.
    [[nodiscard]] virtual unsigned sleeping() const noexcept = 0;
    /// The network was polled, and did so much. Processes of this host that were met by now.
    [[nodiscard]] virtual unsigned polled(Nanoseconds now, unsigned work) = 0;
};

}  // namespace fci::progress
