// SPDX-License-Identifier: BSD-3-Clause
// CpuSet: the processors that the scheduler lets a process use, however many the host has.
#pragma once

#include <sched.h>
#include <sys/types.h>

#include <cstddef>
#include <memory>

namespace fci::progress {

inline constexpr int kCpusMost = 1 << 16;
static_assert(kCpusMost >= CPU_SETSIZE && kCpusMost % 1024 == 0);

struct FreeSet {
    void operator()(cpu_set_t* set) const noexcept { CPU_FREE(set); }
};
using CpuSet = std::unique_ptr<cpu_set_t, FreeSet>;

/// Null when the process cannot be asked. `process` 0: the calling thread.
inline CpuSet cores_of(pid_t process, std::size_t* bytes) noexcept {
    for (int cpus = 1024; cpus <= kCpusMost; cpus *= 4) {
        CpuSet set(CPU_ALLOC(cpus));
        *bytes = CPU_ALLOC_SIZE(cpus);
        if (!set) return nullptr;
        CPU_ZERO_S(*bytes, set.get());
        if (sched_getaffinity(process, *bytes, set.get()) == 0) return set;
    }
    return nullptr;
}

}  // namespace fci::progress
