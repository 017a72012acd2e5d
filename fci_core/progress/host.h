// SPDX-License-Identifier: BSD-3-Clause
// Host: what a process that waits asks of the operating system (§2.7.4, §2.7.5). It is an argument
// of the process, as its device is, so a test can run a whole job in virtual time.
#pragma once

#include "fci_core/base/status.h"
#include "fci_core/progress/losses.h"

namespace fci::progress {

/// Asked in empty turns only, by the thread that makes progress.
class Host {
public:
    virtual ~Host() = default;
    /// Whoever else is ready to run here runs first.
    virtual void give_core_away() noexcept = 0;
    /// On which core the calling thread is, or was a moment ago; counted from 0.
    [[nodiscard]] virtual unsigned core() noexcept = 0;
    /// Processor time of the calling thread.
    [[nodiscard]] virtual Nanoseconds used_time() noexcept = 0;
    /// What it has lost so far of its core.
    [[nodiscard]] virtual Losses losses() noexcept = 0;
    /// For how long it runs before another one's turn comes (slice.h). 0: as before.
    virtual void set_slice(Nanoseconds slice) noexcept = 0;
    /// It moves to the core that is its share (placement.h).
    virtual void take_place(int local_rank, unsigned local_ranks, unsigned cores) noexcept = 0;
};

/// What own_host() asks of the kernel: this thread's place in the queue of its core, and its
/// processor time.
void give_core_away() noexcept;
[[nodiscard]] Nanoseconds used_time() noexcept;

/// The one that this process runs on. It has no state: all processes share it.
[[nodiscard]] Host& own_host() noexcept;

}  // namespace fci::progress
