// SPDX-License-Identifier: BSD-3-Clause
// SystemBarrier: lets every thread of every process that uses this driver pass a memory barrier
// (membarrier(2)). So a writer need not make a fence before it looks whether the reader sleeps: the
// reader, which has time, makes one for all writers.
//
// A process must be registered for that, and where it has several threads the kernel then waits for
// all processors (RCU): 10 ms, and seconds where many ranks poll for each other on few cores, as in
// MPI_Init. So such a process is registered by a thread of its own, and not before it has written
// some: most of those that only begin and end never are. Until then it makes the fences.
#pragma once

#include <cstdint>

namespace fci::shm {

/// The barriers on which this process relies. Others than `system` are for tests.
enum class Barrier : std::uint8_t {
    system,  // the kernel's
    others,  // as long as this process is not registered
    none,    // as if the kernel had none
};

class SystemBarrier {
public:
    explicit SystemBarrier(Barrier wanted) noexcept;
    /// The kernel has membarrier(2). If not, every writer to this process makes fences.
    [[nodiscard]] bool works() const noexcept { return works_; }
    /// This process passes barriers of others, and need not make fences for those that have one.
    [[nodiscard]] bool is_registered() const noexcept;
    /// Called from any thread after a fence that a process makes while it is not registered.
    void count_fence() noexcept;
    void pass() const noexcept;

private:
    bool works_;
    bool registers_;
    unsigned fences_ = 0;
};

}  // namespace fci::shm
