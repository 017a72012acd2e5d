// SPDX-License-Identifier: BSD-3-Clause
// Placement: where a process starts to communicate. Processes that wait by yielding are always
// ready to run, and the kernel takes a quarter of a second to even out how many of them each core
// has. Until then those on one core may be 6 of 8, and all 8 where a library has bound each to core
// 0 for a moment while it was loaded (libpsm2, which libfabric needs, to measure its clock).
#pragma once

namespace fci::progress {

/// Moves the calling thread to the core that is its share, once: the scheduler goes on from there,
/// with the same cores to choose from. Not where the launcher has bound the process to a part of
/// the job's `cores`, nor where there are cores to spare: which of them is best the kernel knows.
void take_place(int local_rank, unsigned local_ranks, unsigned cores) noexcept;

}  // namespace fci::progress
