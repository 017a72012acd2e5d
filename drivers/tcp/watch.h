// SPDX-License-Identifier: BSD-3-Clause
// Watch: an epoll that may refuse a descriptor, for want of memory, or as the user watches too many
// (fs.epoll.max_user_watches). A refused descriptor is polled by itself each time, and offered to
// epoll again, so that none of its events is missed.
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
    /// While a descriptor is refused, a caller that sleeps on fd() looks again after so long.
    static constexpr Nanoseconds kAgain = 10'000'000;

    /// False: epoll could not be opened; errno says why.
    [[nodiscard]] bool open() noexcept;
    void close() noexcept;

    /// Events of `fd` come under that name from now on, and no more under an earlier one.
    void set(int fd, std::uint64_t name, std::uint32_t events) noexcept;
    void forget(int fd) noexcept;
    /// `fd` is closed, or is about to be.
    void closed(int fd) noexcept;
    [[nodiscard]] bool is_complete() const noexcept { return refused_.empty(); }

    /// Returns how many descriptors have something.
    std::size_t look(std::span<epoll_event> happened) noexcept;
    /// Waits until a descriptor has something. False: the time is over, or a signal came. True also
    /// if a refused one is to be polled.
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
