// SPDX-License-Identifier: BSD-3-Clause
#include "drivers/shm/system_barrier.h"

#include <linux/membarrier.h>
#include <pthread.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "fci_core/base/assert.h"
#include "fci_core/base/flag.h"

namespace fci::shm {

namespace {

constexpr unsigned kFencesBeforeRegistration = 64;

// Of the process, whatever the number of its devices. A child of fork() has what its parent had.
enum : std::uint32_t { kNot, kBegun, kDone };
std::uint32_t registration = kNot;

long membarrier(int command) noexcept { return syscall(SYS_membarrier, command, 0, 0); }

bool has_barrier() noexcept {
    constexpr long wanted =
        MEMBARRIER_CMD_GLOBAL_EXPEDITED | MEMBARRIER_CMD_REGISTER_GLOBAL_EXPEDITED;
    const long known = membarrier(MEMBARRIER_CMD_QUERY);
    return known >= 0 && (known & wanted) == wanted;
}

bool is_only_thread() noexcept {
    struct stat tasks {};
    return stat("/proc/self/task", &tasks) == 0 && tasks.st_nlink == 3;  // it, ".", ".."
}

void register_process() noexcept {
    FCI_ASSERT(flag::load_acquire(registration) != kNot);  // one thread does it, once
    if (membarrier(MEMBARRIER_CMD_REGISTER_GLOBAL_EXPEDITED) == 0) {
        flag::store_release(registration, std::uint32_t{kDone});
    }
}

/// Without a thread for it the process goes on making fences.
void register_by_thread() noexcept {
    pthread_attr_t attributes;
    if (pthread_attr_init(&attributes) != 0) return;
    (void)pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    sigset_t all, before;
    sigfillset(&all);
    (void)pthread_sigmask(SIG_SETMASK, &all, &before);  // signals are for the program's threads
    pthread_t thread;
    (void)pthread_create(
        &thread, &attributes,
        [](void*) -> void* {
            register_process();
            return nullptr;
        },
        nullptr);
    (void)pthread_sigmask(SIG_SETMASK, &before, nullptr);
    (void)pthread_attr_destroy(&attributes);
}

bool begin_registration() noexcept {
    std::uint32_t expected = kNot;
    return flag::compare_exchange(registration, expected, std::uint32_t{kBegun});
}

}  // namespace

SystemBarrier::SystemBarrier(Barrier wanted) noexcept
    : works_(wanted != Barrier::none && has_barrier()),
      registers_(works_ && wanted == Barrier::system) {
    if (registers_ && is_only_thread() && begin_registration()) register_process();
}

bool SystemBarrier::is_registered() const noexcept {
    return registers_ && flag::load_acquire(registration) == kDone;
}

void SystemBarrier::count_fence() noexcept {
    if (++fences_ == kFencesBeforeRegistration && registers_ && begin_registration()) {
        register_by_thread();
    }
}

void SystemBarrier::pass() const noexcept {
    if (works_) {
        membarrier(MEMBARRIER_CMD_GLOBAL_EXPEDITED);
    } else {
        flag::full_fence();  // the senders do the same
    }
}

}  // namespace fci::shm
