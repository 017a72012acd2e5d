// SPDX-License-Identifier: BSD-3-Clause
// The clock that drivers and api read; everything else gets `now` as an argument.
#pragma once

#include <ctime>

#include "fci_core/base/status.h"

namespace fci {

/// Never goes back; the same in all processes of one host.
inline Nanoseconds monotonic_now() noexcept {
    timespec time{};
    clock_gettime(CLOCK_MONOTONIC, &time);
    return static_cast<Nanoseconds>(time.tv_sec) * 1'000'000'000 + time.tv_nsec;
}

}  // namespace fci
