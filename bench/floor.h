// SPDX-License-Identifier: BSD-3-Clause
// The floor: t_c before and after a sample, and what mode of the machine that means. Samples of
// different modes are never compared.
#pragma once

#include <vector>

#include "bench/handoff.h"

namespace fci::bench {

/// Which two places the two cores are. The borders lie between what was measured on virtual
/// machines of three kinds: 24 ns, 43-55 ns and 200-250 ns.
enum class Mode { unknown, siblings, same_l3, far };

[[nodiscard]] Mode mode_of(double tc_ns) noexcept;
[[nodiscard]] const char* name_of(Mode mode) noexcept;

/// t_c around one sample.
struct Around {
    double before = 0, after = 0;

    /// One figure that stands for both.
    [[nodiscard]] double tc_ns() const noexcept;
    /// The machine was the same before and after. A ratio rather than a change of mode: 34 ns and
    /// 36 ns are the same machine.
    [[nodiscard]] bool steady() const noexcept;
};

/// The first cores that this process may use, up to `wanted`.
[[nodiscard]] std::vector<int> usable_cores(unsigned wanted);
/// Moves the calling thread to one core. False where that is not allowed.
bool pin_to(int core) noexcept;

/// t_c between two cores, by two threads. 0: could not be measured. The calling thread's cores
/// are as before when it returns.
[[nodiscard]] double measure_tc(int core, int other_core);

}  // namespace fci::bench
