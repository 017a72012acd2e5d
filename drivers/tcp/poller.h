// Poller: what the kernel watches for a device, and what it says of that.
#pragma once

#include <sys/epoll.h>

#include <array>
#include <cstdint>
#include <string>

#include "drivers/host/descriptor.h"
#include "fci_core/base/status.h"

namespace fci::tcp {

class Poller {
public:
    enum class Source : std::uint32_t { bell, timer, door, caller, peer };

    Status open(std::string* error);
    /// In a child of fork(), which has nothing of all that.
    void close() noexcept;
    [[nodiscard]] int fd() const noexcept { return epoll_.get(); }

    /// `events`: EPOLLIN and others; 0: for now only whether it breaks.
    void watch(int fd, Source source, std::uint32_t detail, std::uint32_t events) noexcept;
    void forget(int fd) noexcept;
    /// Whoever sleeps must come back, now or at that time.
    void ring() noexcept;
    void ring_at(Nanoseconds when) noexcept;

    /// Calls handle(source, detail) for each that has something, of which some may be stale: what
    /// they name was given up by one before.
    template <class Handle>
    void look(Handle handle) {
        std::array<epoll_event, 64> happened;
        const int count = epoll_wait(epoll_.get(), happened.data(), happened.size(), 0);
        for (int i = 0; i < count; ++i) {
            const std::uint64_t name = happened[static_cast<unsigned>(i)].data.u64;
            const auto source = static_cast<Source>(name >> 32);
            if (source == Source::bell || source == Source::timer) {
                quieten(source);
            } else {
                handle(source, static_cast<std::uint32_t>(name));
            }
        }
    }
    /// Until one of them has something. False: the time is over, or a signal came.
    bool wait(Nanoseconds timeout) noexcept;

private:
    void quieten(Source source) noexcept;

    host::Descriptor epoll_, bell_, timer_;
    Nanoseconds rings_at_ = 0;  // 0: never
};

}  // namespace fci::tcp
