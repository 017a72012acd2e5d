// SPDX-License-Identifier: BSD-3-Clause
// Kernel: streams as the kernel has them: TCP sockets, and what watches them.
#pragma once

#include "drivers/host/descriptor.h"
#include "drivers/tcp/streams.h"
#include "drivers/tcp/watch.h"

namespace fci::tcp {

class Kernel final : public Streams {
public:
    /// `silence_ms`: for how long a host may owe an answer.
    explicit Kernel(std::uint32_t silence_ms = 10'000) : silence_ms_(silence_ms) {}

    Status open(std::string* error) override;
    void close() noexcept override;

    int listen(ddi::Card* card) noexcept override;
    int accept(int listening) noexcept override;
    std::uint32_t caller(int socket) noexcept override;
    int call(const ddi::Card& from, const ddi::Card& to) noexcept override;
    int outcome(int socket) noexcept override;
    void tune(int socket) noexcept override;
    ssize_t send(int socket, std::span<const iovec> ranges, bool lingers) noexcept override;
    ssize_t receive(int socket, std::span<const iovec> ranges) noexcept override;
    void cork(int socket, bool on) noexcept override;
    void tell_from(int socket, int bytes) noexcept override;
    std::size_t under_way(int socket) noexcept override;
    bool sign(int socket, Pulse::Sign* sign) noexcept override;
    void end(int socket, bool wholly) noexcept override;
    void close(int socket) noexcept override;

    void watch(int socket, Source source, std::uint32_t detail,
               unsigned interests) noexcept override;
    void forget(int socket) noexcept override;
    std::size_t look(std::span<Event, kEventsMost> events) noexcept override;
    bool wait(Nanoseconds timeout) noexcept override;
    void ring() noexcept override;
    void ring_at(Nanoseconds when) noexcept override;
    [[nodiscard]] int fd() const noexcept override { return watch_.fd(); }

    [[nodiscard]] Nanoseconds now() noexcept override;
    void pause(Nanoseconds time) noexcept override;

private:
    std::uint32_t silence_ms_;
    Watch watch_;
    host::Descriptor bell_, timer_;
    Nanoseconds rings_at_ = 0;  // 0: never
};

}  // namespace fci::tcp
