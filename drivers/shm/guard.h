// SPDX-License-Identifier: BSD-3-Clause
// Guard: the page by which peers' kernel copies find out that they still reach the process they
// mean, and that it wants to be reached.
//
// Every such copy is one system call, whose first element is the word on this page: the owner's
// incarnation. The kernel looks up the address space once, at the start of the call, takes the
// elements in their order and ends at the first that cannot be reached. So no byte of the data is
// touched after the owner has unmapped the page (it closes), nor where the process runs another
// program by now (exec), nor where another process got its number. The page lies at a random
// address, where these have nothing.
//
// A call may have passed the guard just before the unmapping. So the process that copies stores the
// owner's incarnation into `copying` of its own header before the call, and clears it after. To
// reach the guard the kernel takes the lock of the owner's address space, and unmapping takes the
// same lock. So one of two things is true of every call: it came to the lock after the unmapping
// and fails at the guard, or it came before, and then the owner, which reads `copying` after the
// unmapping, sees the word until the call has ended.
#pragma once

#include <cstdint>
#include <string>

#include "drivers/shm/clock.h"
#include "drivers/shm/peer.h"
#include "drivers/shm/region.h"
#include "fci_core/base/status.h"

namespace fci::shm {

/// Children of fork() do not get the page: a copy means the parent, not them.
Status raise_guard(std::uint64_t incarnation, Region* guard, std::string* error);

/// From its return on, no peer's kernel copy touches this process. Not for a child of fork().
void lower_guard(std::uint64_t incarnation, Region* guard, const PeerTable& peers,
                 Clock& clock) noexcept;

}  // namespace fci::shm
