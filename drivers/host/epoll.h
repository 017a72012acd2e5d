// SPDX-License-Identifier: BSD-3-Clause
// A wait for descriptors, by nanoseconds where the kernel can.
#pragma once

#include <sys/epoll.h>

#include <span>

#include "fci_core/base/status.h"

namespace fci::host {

/// As epoll_wait(), and errno with it. A `timeout` below 0: without end. Where the kernel is older
/// than Linux 5.11, or a container forbids epoll_pwait2, it is whole milliseconds, 1000 s at most.
int wait_for(int epoll, std::span<epoll_event> happened, Nanoseconds timeout) noexcept;

}  // namespace fci::host
