// SPDX-License-Identifier: BSD-3-Clause
// Watch: an epoll, and what to do where it refuses a descriptor for want of memory, or as the user
// watches too many (fs.epoll.max_user_watches). Such a one is asked for by itself each time, and
// offered again, so that nothing that happens to it is missed.
#pragma once

#include <sys/epoll.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "drivers/host/descriptor.h"
#include "fci_core/base/status.h"

namespace fci::tcp {

class Watch {
public:
    /// Whoever sleeps on fd() while something is refused looks again after that.
    static constexpr Nanoseconds kAgain = 10'000'000;

    /// False: there is none, and errno says why.
    [[nodiscard]] bool open() noexcept;
    void close() noexcept;

    /// What happens to it comes under that name; of a name that it had before no more.
    void set(int fd, std::uint64_t name, std::uint32_t events) noexcept;
    void forget(int fd) noexcept;
    /// It is closed, or is about to be.
    void closed(int fd) noexcept;
    [[nodiscard]] bool is_complete() const noexcept { return refused_.empty(); }

    /// How many have something.
    std::size_t look(std::span<epoll_event> happened) noexcept;
    /// Until one of them has something, or should be looked for. False: the time is over, or a
    /// signal came.
    bool wait(Nanoseconds timeout) noexcept;
    [[nodiscard]] int fd() const noexcept { return epoll_.get(); }

private:
    struct One {
        int fd;
        epoll_event event;
    };
    [[nodiscard]] bool takes(One& one) noexcept;

    host::Descriptor epoll_;
    std::vector<One> refused_;
};

}  // namespace fci::tcp
