// SPDX-License-Identifier: BSD-3-Clause
#include "drivers/host/epoll.h"

#include <signal.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

// glibc has this function since 2.35; with an older one the address is nullptr.
extern "C" [[gnu::weak]] int epoll_pwait2(int epoll, epoll_event* happened, int most,
                                          const timespec* limit, const sigset_t* mask);

namespace fci::host {

namespace {

int wait_exactly(int epoll, std::span<epoll_event> happened, const timespec* limit) noexcept {
    const auto most = static_cast<int>(happened.size());
    if (epoll_pwait2 != nullptr) return epoll_pwait2(epoll, happened.data(), most, limit, nullptr);
    constexpr long kCall = 441;  // epoll_pwait2, on every architecture
    return static_cast<int>(syscall(kCall, epoll, happened.data(), most, limit, nullptr, 0));
}

}  // namespace

int wait_for(int epoll, std::span<epoll_event> happened, Nanoseconds timeout) noexcept {
    const timespec limit{timeout / 1'000'000'000, timeout % 1'000'000'000};
    const int count = wait_exactly(epoll, happened, timeout < 0 ? nullptr : &limit);
    if (count >= 0 || errno == EINTR) return count;
    const Nanoseconds ms = std::min<Nanoseconds>((timeout + 999'999) / 1'000'000, 1'000'000);
    const auto most = static_cast<int>(happened.size());
    return epoll_wait(epoll, happened.data(), most, timeout < 0 ? -1 : static_cast<int>(ms));
}

}  // namespace fci::host
