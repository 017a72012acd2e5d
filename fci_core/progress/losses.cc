// SPDX-License-Identifier: BSD-3-Clause
#include "fci_core/progress/losses.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>

namespace fci::progress {

namespace {

Nanoseconds lost_time() noexcept {
    const int file = open("/proc/thread-self/schedstat", O_RDONLY | O_CLOEXEC);
    if (file < 0) return -1;
    char text[64];
    const ssize_t bytes = read(file, text, sizeof text - 1);
    close(file);
    if (bytes <= 0) return -1;
    text[bytes] = '\0';
    const char* const second = std::strchr(text, ' ');  // after the time that it ran
    return second != nullptr ? std::strtoll(second, nullptr, 10) : -1;
}

}  // namespace

Losses losses() noexcept {
    rusage use{};
    (void)getrusage(RUSAGE_THREAD, &use);
    return {lost_time(), static_cast<std::uint64_t>(use.ru_nivcsw)};
}

}  // namespace fci::progress
