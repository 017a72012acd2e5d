// SPDX-License-Identifier: BSD-3-Clause
#include "fci_core/progress/slice.h"

#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdint>

#include "fci_core/base/assert.h"

namespace fci::progress {

namespace {
// sched_setattr(2). C libraries before glibc 2.41 do not declare it.
struct Scheduling {
    std::uint32_t size, policy;
    std::uint64_t flags;
    std::int32_t nice;
    std::uint32_t priority;
    std::uint64_t slice, deadline, period;
    std::uint32_t least, most;
};
static_assert(sizeof(Scheduling) == 56, "SCHED_ATTR_SIZE_VER1");
}  // namespace

void set_slice(Nanoseconds slice) noexcept {
    thread_local Nanoseconds current = 0;
    thread_local std::uint64_t before = 0;
    FCI_ASSERT(slice >= 0);
    if (slice == current) return;
    Scheduling thread{};
    if (syscall(SYS_sched_getattr, 0, &thread, sizeof thread, 0) != 0) return;
    if (thread.policy != SCHED_OTHER && thread.policy != SCHED_BATCH) return;
    if (current == 0) before = thread.slice;
    current = slice;
    thread.slice = slice != 0 ? static_cast<std::uint64_t>(slice) : before;
    (void)syscall(SYS_sched_setattr, 0, &thread, 0);
}

}  // namespace fci::progress
