// SPDX-License-Identifier: BSD-3-Clause
// The operations that a child of fork() finds instead of its parent's endpoints. It has none of
// their shared memory, so that it cannot write into its parent's messages; it may still exec() and
// _exit().
#pragma once

#include <rdma/fi_errno.h>
#include <sys/types.h>

namespace fci::libfabric {

/// Once per process, on standard error: the child would otherwise have crashed.
void say_that_it_is_a_child() noexcept;

/// Of queues and counters. Takes the type of whatever slot it is put into.
template <typename Result, typename... Arguments>
Result in_child(Arguments...) noexcept {
    say_that_it_is_a_child();
    return static_cast<Result>(-FI_EOPBADSTATE);
}
/// For sends and receives: FI_EAGAIN, so that the caller reads a queue before it tries again. Open
/// MPI ends the process, and no other, at an error of a queue; at an error of a send it tries to
/// end the job, and hangs in that.
template <typename... Arguments>
ssize_t post_in_child(Arguments...) noexcept {
    say_that_it_is_a_child();
    return -FI_EAGAIN;
}

}  // namespace fci::libfabric
