// SPDX-License-Identifier: BSD-3-Clause
#include "fci_core/progress/host.h"

#include <sched.h>
#include <time.h>

#include "fci_core/progress/placement.h"
#include "fci_core/progress/slice.h"

namespace fci::progress {

void give_core_away() noexcept { sched_yield(); }

Nanoseconds used_time() noexcept {
    timespec used{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
    return Nanoseconds{used.tv_sec} * 1'000'000'000 + used.tv_nsec;
}

namespace {

class OwnHost final : public Host {
public:
    void give_core_away() noexcept override { progress::give_core_away(); }
    unsigned core() noexcept override { return static_cast<unsigned>(sched_getcpu()); }
    Nanoseconds used_time() noexcept override { return progress::used_time(); }
    Losses losses() noexcept override { return progress::losses(); }
    void set_slice(Nanoseconds slice) noexcept override { progress::set_slice(slice); }
    void take_place(int local_rank, unsigned local_ranks, unsigned cores) noexcept override {
        progress::take_place(local_rank, local_ranks, cores);
    }
};

constinit OwnHost the_own_host;

}  // namespace

Host& own_host() noexcept {
    return the_own_host;
}

}  // namespace fci::progress
