// SPDX-License-Identifier: BSD-3-Clause
// NoStreams: a system for the tcp driver that has nothing, whose clock goes on where a test
// says so. A test makes of it what it needs.
#pragma once

#include <cerrno>
#include <span>
#include <string>

#include "drivers/tcp/streams.h"

namespace fci::tcp::test {

struct NoStreams : Streams {
    Status open(std::string*) override { return Status::ok; }
    void close() noexcept override {}
    int listen(ddi::Card*) noexcept override { return -EINVAL; }
    int accept(int) noexcept override { return -EAGAIN; }
    int call(const ddi::Card&, const ddi::Card&) noexcept override { return -EINVAL; }
    int outcome(int) noexcept override { return 0; }
    void tune(int) noexcept override {}
    ssize_t send(int, std::span<const iovec> ranges, bool) noexcept override {
        return static_cast<ssize_t>(bytes_in(ranges));
    }
    ssize_t receive(int, std::span<const iovec>) noexcept override { return -EAGAIN; }
    void cork(int, bool) noexcept override {}
    void tell_from(int, int) noexcept override {}
    std::size_t under_way(int) noexcept override { return 0; }
    bool sign(int, Pulse::Sign*) noexcept override { return false; }
    void end(int, bool) noexcept override {}
    void close(int) noexcept override {}
    void watch(int, Source, std::uint32_t, unsigned) noexcept override {}
    void forget(int) noexcept override {}
    std::size_t look(std::span<Event, kEventsMost>) noexcept override { return 0; }
    bool wait(Nanoseconds) noexcept override { return false; }
    void ring() noexcept override {}
    void ring_at(Nanoseconds) noexcept override {}
    int fd() const noexcept override { return -1; }
    Nanoseconds now() noexcept override { return time; }
    void pause(Nanoseconds some) noexcept override { time += some; }

    Nanoseconds time = 1'000'000;
};

}  // namespace fci::tcp::test
