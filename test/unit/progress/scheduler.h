// SPDX-License-Identifier: BSD-3-Clause
// What the scheduler says of the calling thread, and is told.
#pragma once

#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "fci_core/base/status.h"
#include "fci_core/progress/cpu_set.h"

namespace fci::progress {

/// -1: this kernel does not tell.
inline Nanoseconds slice_of_thread() {
    std::ifstream file("/proc/thread-self/sched");
    for (std::string line; std::getline(file, line);) {
        std::istringstream words(line);
        std::string name, colon;
        Nanoseconds value = -1;
        if (words >> name >> colon >> value && name == "se.slice") return value;
    }
    return -1;
}

/// The cores that it may use, in order.
inline std::vector<int> allowed_cores() {
    std::size_t bytes = 0;
    const CpuSet set = cores_of(0, &bytes);
    std::vector<int> found;
    for (int cpu = 0; cpu < static_cast<int>(8 * bytes); ++cpu) {
        if (CPU_ISSET_S(cpu, bytes, set.get())) found.push_back(cpu);
    }
    return found;
}

inline bool bind_to(int core) {
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(core, &set);
    return sched_setaffinity(0, sizeof set, &set) == 0;
}

}  // namespace fci::progress
