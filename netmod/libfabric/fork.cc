// SPDX-License-Identifier: BSD-3-Clause
#include "netmod/libfabric/fork.h"

#include <unistd.h>

#include <atomic>
#include <cstdio>

namespace fci::libfabric {

void say_that_it_is_a_child() noexcept {
    static constinit std::atomic<pid_t> said{0};
    const pid_t self = getpid();
    if (said.exchange(self, std::memory_order_relaxed) == self) return;
    std::fprintf(stderr,
                 "fci: process %d came from fork() and uses an endpoint of its parent, whose "
                 "shared memory it does not have: it can neither send nor receive. Let it call "
                 "exec() or _exit(), or fork before the endpoint (MPI) is opened.\n",
                 static_cast<int>(self));
}

}  // namespace fci::libfabric
