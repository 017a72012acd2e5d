// SPDX-License-Identifier: BSD-3-Clause
// Random numbers from the kernel.
#pragma once

#include <sys/random.h>

#include <cerrno>
#include <cstdint>

namespace fci::host {

/// False: the kernel has none, and errno says why.
inline bool draw(std::uint64_t* number) noexcept {
    ssize_t got;
    do {
        got = getrandom(number, sizeof *number, 0);
    } while (got < 0 && errno == EINTR);
    return got == sizeof *number;
}

}  // namespace fci::host
