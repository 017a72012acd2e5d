#include "fci_core/progress/placement.h"

#include "fci_core/progress/cpu_set.h"

namespace fci::progress {

void take_place(int local_rank, unsigned local_ranks, unsigned cores) noexcept {
    std::size_t bytes = 0;
    const CpuSet all = cores_of(0, &bytes);
    const int count = all ? CPU_COUNT_S(bytes, all.get()) : 0;
    if (local_rank < 0 || count < 2 || static_cast<unsigned>(count) != cores) return;
    if (local_ranks < cores) return;
    const CpuSet one(CPU_ALLOC(kCpusMost));
    if (!one) return;
    CPU_ZERO_S(bytes, one.get());
    int before = local_rank % count;
    for (int cpu = 0; cpu < static_cast<int>(8 * bytes); ++cpu) {
        if (!CPU_ISSET_S(cpu, bytes, all.get()) || before-- != 0) continue;
        CPU_SET_S(cpu, bytes, one.get());
        break;
    }
    if (sched_setaffinity(0, bytes, one.get()) != 0) return;
    (void)sched_setaffinity(0, bytes, all.get());
}

}  // namespace fci::progress
