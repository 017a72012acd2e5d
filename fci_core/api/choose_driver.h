// SPDX-License-Identifier: BSD-3-Clause
// Which driver a process gets that asks for none. That is decided before any peer is known, as the
// card that it hands out depends on it; all ranks of a job come to the same answer.
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "fci_core/base/launcher.h"

namespace fci::api {

/// As a launcher tells, or whoever opens the process; 0: unknown.
struct Ranks {
    std::uint32_t job = 0;   // processes of the job
    std::uint32_t here = 0;  // of them, on this host
    bool launched = false;   // there is a launcher, whatever it tells
    bool may_spread = false;  // by jobs on other hosts that it spawns, or is spawned by

    /// `job`: known already, or 0.
    static Ranks of(const Lookup& variable, std::uint32_t job);
};

struct Preference {
    std::array<const char*, 2> drivers;  // the first of them that works here
    std::string why;
};

Preference prefer_drivers(const Ranks& ranks);

}  // namespace fci::api
