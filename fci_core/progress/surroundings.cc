// SPDX-License-Identifier: BSD-3-Clause
#include "fci_core/progress/surroundings.h"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string_view>

#include "fci_core/base/assert.h"
#include "fci_core/base/launcher.h"
#include "fci_core/progress/cpu_set.h"

namespace fci::progress {

namespace {

/// What the scheduler lets this job use.
unsigned scheduled_cores() {
    std::size_t bytes = 0, parent_bytes = 0;
    const CpuSet own = cores_of(0, &bytes);
    const long online = sysconf(_SC_NPROCESSORS_ONLN);
    if (!own) return online > 0 ? static_cast<unsigned>(online) : 1;
    const int count = CPU_COUNT_S(bytes, own.get());
    const CpuSet parent = cores_of(getppid(), &parent_bytes);
    if (parent && parent_bytes == bytes) {
        const CpuSet common(CPU_ALLOC(kCpusMost));
        if (!common) return static_cast<unsigned>(count);
        CPU_AND_S(bytes, common.get(), own.get(), parent.get());
        const int parents = CPU_COUNT_S(bytes, parent.get());
        // Bound by the launcher to a part of what the launcher has.
        if (CPU_EQUAL_S(bytes, common.get(), own.get()) && parents > count) {
            return static_cast<unsigned>(parents);
        }
    }
    // Open MPI binds only while there are cores for all, and says so; there may be a shell between.
    if (was_bound_at_launch(own_variable) && online > count) {
        return static_cast<unsigned>(online);
    }
    return static_cast<unsigned>(count);
}

std::string first_line(const std::string& path) {
    std::ifstream file(path);
    std::string line;
    std::getline(file, line);
    return line;
}

unsigned quota_cores(long long quota_us, long long period_us) {
    if (quota_us <= 0 || period_us <= 0) return 0;
    return static_cast<unsigned>(
        std::min<long long>((quota_us + period_us - 1) / period_us, 1 << 20));
}

/// The tightest limit on the way from a group up to the root of its hierarchy.
template <class Limit>
unsigned tightest(const std::string& root, std::string group, Limit limit) {
    unsigned cores = 0;
    for (;;) {
        const unsigned here = limit(root + group);
        if (here != 0 && (cores == 0 || here < cores)) cores = here;
        const std::size_t slash = group.rfind('/');
        if (slash == std::string::npos) return cores;
        group.resize(slash);
    }
}

unsigned limit_v2(const std::string& folder) {
    std::istringstream text(first_line(folder + "/cpu.max"));
    long long quota = 0, period = 0;
    return text >> quota >> period ? quota_cores(quota, period) : 0;  // "max 100000": no limit
}

unsigned limit_v1(const std::string& folder) {
    const std::string quota = first_line(folder + "/cpu.cfs_quota_us");
    const std::string period = first_line(folder + "/cpu.cfs_period_us");
    return quota_cores(std::atoll(quota.c_str()), std::atoll(period.c_str()));
}

bool lists(std::string_view controllers, std::string_view wanted) {
    for (;;) {
        const std::size_t comma = controllers.find(',');
        if (controllers.substr(0, comma) == wanted) return true;
        if (comma == std::string_view::npos) return false;
        controllers.remove_prefix(comma + 1);
    }
}

}  // namespace

unsigned cores_by_quota(const std::string& groups, const std::string& root) {
    unsigned cores = 0;
    std::istringstream lines(groups);
    for (std::string line; std::getline(lines, line);) {  // "4:cpu,cpuacct:/group", "0::/group"
        const std::size_t first = line.find(':');
        const std::size_t second = line.find(':', first + 1);
        if (first == std::string::npos || second == std::string::npos) continue;
        const std::string controllers = line.substr(first + 1, second - first - 1);
        std::string group = line.substr(second + 1);
        while (!group.empty() && group.back() == '/') group.pop_back();
        unsigned here = 0;
        if (controllers.empty()) {
            here = tightest(root, group, limit_v2);
            if (here == 0) here = tightest(root + "/unified", group, limit_v2);
        } else if (lists(controllers, "cpu")) {
            here = tightest(root + "/" + controllers, group, limit_v1);
            if (here == 0) here = tightest(root + "/cpu", group, limit_v1);
        }
        if (here != 0 && (cores == 0 || here < cores)) cores = here;
    }
    return cores;
}

unsigned usable_cores() {
    std::ifstream file("/proc/self/cgroup");
    std::stringstream groups;
    groups << file.rdbuf();
    const unsigned scheduled = std::max(scheduled_cores(), 1u);
    const unsigned quota = cores_by_quota(groups.str(), "/sys/fs/cgroup");
    const unsigned cores = quota != 0 ? std::min(scheduled, quota) : scheduled;
    FCI_ASSERT(cores != 0);  // ranks are divided by it
    return cores;
}

Caches caches(const std::string& root) {
    Caches caches;
    for (unsigned i = 0;; ++i) {
        const std::string cache = root + "/index" + std::to_string(i);
        const std::string level = first_line(cache + "/level");
        if (level.empty()) return caches;
        if (level != "2" && level != "3") continue;
        if (first_line(cache + "/type") == "Instruction") continue;
        // "512K"
        const std::uint64_t kib = std::strtoull(first_line(cache + "/size").c_str(), nullptr, 10);
        (level == "2" ? caches.second : caches.third) = kib * 1024;
    }
}

}  // namespace fci::progress
