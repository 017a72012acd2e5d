// SPDX-License-Identifier: BSD-3-Clause
// Surroundings: how many cores there are, and how large their caches, as far as the host and the
// launcher tell.
#pragma once

#include <cstdint>
#include <string>

namespace fci::progress {

/// Cores that the processes of this job on this host share: what the scheduler allows, cut down to
/// the CPU quota of the container. A process that its launcher bound to a part of the launcher's
/// cores counts them all, because its neighbours were bound to the others. At least 1.
unsigned usable_cores();

/// Whole cores that the CPU quota of a control group allows, rounded up; 0: no limit. `groups` is
/// the text of /proc/self/cgroup, `root` where the hierarchies are mounted.
unsigned cores_by_quota(const std::string& groups, const std::string& root);

/// Bytes of the caches of a core, the third shared with others; 0: not told.
struct Caches {
    std::uint64_t second = 0, third = 0;
};
Caches caches(const std::string& root = "/sys/devices/system/cpu/cpu0/cache");

}  // namespace fci::progress
