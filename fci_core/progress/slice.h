// SPDX-License-Identifier: BSD-3-Clause
// Slice: how long a thread may run before another one's turn comes, and so how soon its own comes
// again. Its share of the processor's time stays what it is. Who gives the core away to a process
// that computes has it back after that one's slice, 1.4 ms and more in Linux, and often only at the
// next tick, every 4 ms; but soon, if its own slice is shorter.
#pragma once

#include "fci_core/base/status.h"

namespace fci::progress {

/// The least that Linux gives, from 6.12 on; older kernels ignore it.
inline constexpr Nanoseconds kShortSlice = 100'000;

/// For the calling thread. 0: what it had before. Real-time threads are left alone.
void set_slice(Nanoseconds slice) noexcept;

}  // namespace fci::progress
