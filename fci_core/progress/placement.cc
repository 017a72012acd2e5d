// SPDX-License-Identifier: BSD-3-Clause
#include "fci_core/progress/placement.h"

#include "fci_core/base/assert.h"
#include "fci_core/progress/cpu_set.h"

namespace fci::progress {

void take_place(int local_rank, unsigned local_ranks, unsigned cores) noexcept {
    if (local_rank < 0 || cores < 2 || local_ranks < cores) return;
    std::size_t bytes = 0;
    const CpuSet all = cores_of(0, &bytes);
    if (!all || static_cast<unsigned>(CPU_COUNT_S(bytes, all.get())) != cores) return;
    int cpu = -1;
    for (unsigned left = static_cast<unsigned>(local_rank) % cores + 1; left != 0;) {
        FCI_ASSERT(cpu + 1 < static_cast<int>(8 * bytes));  // `all` has as many as `cores`
        if (CPU_ISSET_S(++cpu, bytes, all.get())) --left;
    }
    const CpuSet one(CPU_ALLOC(kCpusMost));
    if (!one) return;
    CPU_ZERO_S(bytes, one.get());
    CPU_SET_S(cpu, bytes, one.get());
    if (sched_setaffinity(0, bytes, one.get()) != 0) return;
    (void)sched_setaffinity(0, bytes, all.get());
}

}  // namespace fci::progress
