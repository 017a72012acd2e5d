// SPDX-License-Identifier: BSD-3-Clause
#include "bench/floor.h"

#include <sched.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <thread>

namespace fci::bench {
namespace {

constexpr double kSiblingsBelow = 35, kSameL3Below = 120;
constexpr double kSteadyFactor = 1.5;

struct alignas(256) Token : fci_handoff {};

}  // namespace

Mode mode_of(double tc_ns) noexcept {
    if (!(tc_ns > 0)) return Mode::unknown;
    if (tc_ns < kSiblingsBelow) return Mode::siblings;
    return tc_ns < kSameL3Below ? Mode::same_l3 : Mode::far;
}

const char* name_of(Mode mode) noexcept {
    switch (mode) {
        case Mode::siblings: return "siblings";
        case Mode::same_l3: return "same-l3";
        case Mode::far: return "far";
        case Mode::unknown: break;
    }
    return "unknown";
}

double Around::tc_ns() const noexcept {
    if (!(before > 0)) return after;
    if (!(after > 0)) return before;
    return std::sqrt(before * after);
}

bool Around::steady() const noexcept {
    if (!(before > 0) || !(after > 0)) return false;
    return std::max(before, after) <= kSteadyFactor * std::min(before, after);
}

std::vector<int> usable_cores(unsigned wanted) {
    std::vector<int> cores;
    cpu_set_t set;
    CPU_ZERO(&set);
    if (sched_getaffinity(0, sizeof set, &set) != 0) return cores;
    for (int core = 0; core < CPU_SETSIZE && cores.size() < wanted; ++core)
        if (CPU_ISSET(core, &set)) cores.push_back(core);
    return cores;
}

bool pin_to(int core) noexcept {
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(core, &set);
    return sched_setaffinity(0, sizeof set, &set) == 0;
}

double measure_tc(int core, int other_core) {
    if (core == other_core) return 0;
    cpu_set_t mine;
    CPU_ZERO(&mine);
    const bool can_return = sched_getaffinity(0, sizeof mine, &mine) == 0;
    const auto token = std::make_unique<Token>();
    double tc_ns = 0;
    std::thread other([&] {
        pin_to(other_core);
        fci_handoff_pong(token.get());
    });
    if (pin_to(core)) tc_ns = fci_handoff_ping(token.get());
    other.join();
    if (can_return) sched_setaffinity(0, sizeof mine, &mine);
    return tc_ns;
}

}  // namespace fci::bench
