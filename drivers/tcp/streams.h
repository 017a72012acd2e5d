// SPDX-License-Identifier: BSD-3-Clause
// Streams: what the driver has of the system: streams of bytes between processes, what happens to
// them, and the time. The kernel has them (kernel.h), or a simulated network, whose seed decides
// where they are cut, held up and broken (drivers/sim/stream).
#pragma once

#include <sys/types.h>
#include <sys/uio.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>

#include "drivers/tcp/pulse.h"
#include "fci_core/base/status.h"
#include "fci_core/ddi/card.h"

namespace fci::tcp {

/// One process's. A stream, or a place where it listens, is a number >= 0; what fails answers
/// -errno. None of these calls waits, but wait() and pause().
class Streams {
public:
    virtual ~Streams() = default;

    virtual Status open(std::string* error) = 0;
    /// In a child of fork(), which has nothing of all that.
    virtual void close() noexcept = 0;

    /// At the place of `card`, which gets its port if it has none.
    virtual int listen(ddi::Card* card) noexcept = 0;
    virtual int accept(int listening) noexcept = 0;
    /// The address from which one that was accepted called; 0: that is not known.
    virtual std::uint32_t caller(int stream) noexcept {
        (void)stream;
        return 0;
    }
    /// A call from the address of `from` to the place of `to`, which is under way: once something
    /// can be written, outcome() is known. A host that does not answer for too long ends it.
    /// EADDRNOTAVAIL: this host has the address of `from` no more; EAGAIN: it has no port left.
    virtual int call(const ddi::Card& from, const ddi::Card& to) noexcept = 0;
    virtual int outcome(int stream) noexcept = 0;
    /// The two have met: small things leave at once, a host that falls silent while nothing is
    /// under way is noticed in time, and one that has no room is asked often enough for Pulse to
    /// see that it answers.
    virtual void tune(int stream) noexcept = 0;

    /// As much as there is room for. Never a signal. `lingers`: it may wait for what is sent next,
    /// for 200 ms.
    virtual ssize_t send(int stream, std::span<const iovec> ranges, bool lingers) noexcept = 0;
    /// As much as is here. 0: the other end has ended it.
    virtual ssize_t receive(int stream, std::span<const iovec> ranges) noexcept = 0;
    /// What is sent may wait for more, for 200 ms, or until this is off.
    virtual void cork(int stream, bool on) noexcept = 0;
    /// What is watched tells of nothing less (SO_RCVLOWAT).
    virtual void tell_from(int stream, int bytes) noexcept = 0;
    /// How much of what was sent the other end's system does not have, or has not said it has.
    virtual std::size_t under_way(int stream) noexcept = 0;
    /// False: there is none.
    virtual bool sign(int stream, Pulse::Sign* sign) noexcept = 0;
    /// Nothing is sent any more; `wholly`: nor received.
    virtual void end(int stream, bool wholly) noexcept = 0;
    virtual void close(int stream) noexcept = 0;

    enum class Source : std::uint32_t { door, caller, peer, hints };
    struct Event {
        Source source;
        std::uint32_t detail;
    };
    enum Interest : unsigned { kIfBroken = 0, kIn = 1, kOut = 2 };
    static constexpr std::size_t kEventsMost = 64;  // at once
    /// What it has to tell comes under that name.
    virtual void watch(int stream, Source source, std::uint32_t detail,
                       unsigned interests) noexcept = 0;
    virtual void forget(int stream) noexcept = 0;
    /// How many have something, of which some may be stale: what they name was given up by one
    /// before.
    virtual std::size_t look(std::span<Event, kEventsMost> events) noexcept = 0;
    /// Until one of them has something. False: the time is over, or a signal came.
    virtual bool wait(Nanoseconds timeout) noexcept = 0;
    /// Whoever sleeps must come back, now or at that time.
    virtual void ring() noexcept = 0;
    virtual void ring_at(Nanoseconds when) noexcept = 0;
    /// For others to sleep on.
    [[nodiscard]] virtual int fd() const noexcept = 0;

    [[nodiscard]] virtual Nanoseconds now() noexcept = 0;
    virtual void pause(Nanoseconds time) noexcept = 0;
};

/// One that closes itself.
class Stream {
public:
    Stream() noexcept = default;
    Stream(Streams& of, int number) noexcept : of_(&of), number_(number) {}
    Stream(Stream&& other) noexcept
        : of_(other.of_), number_(std::exchange(other.number_, -1)) {}
    Stream& operator=(Stream&& other) noexcept {
        if (this != &other) {
            close();
            of_ = other.of_;
            number_ = std::exchange(other.number_, -1);
        }
        return *this;
    }
    ~Stream() { close(); }

    [[nodiscard]] int get() const noexcept { return number_; }
    explicit operator bool() const noexcept { return number_ >= 0; }
    void close() noexcept {
        if (number_ >= 0) of_->close(std::exchange(number_, -1));
    }
    ssize_t send(std::span<const iovec> ranges, bool lingers = false) noexcept {
        return of_->send(number_, ranges, lingers);
    }
    ssize_t receive(std::span<const iovec> ranges) noexcept {
        return of_->receive(number_, ranges);
    }

private:
    Streams* of_ = nullptr;
    int number_ = -1;
};

/// Of all of them.
inline std::size_t bytes_in(std::span<const iovec> ranges) noexcept {
    std::size_t bytes = 0;
    for (const iovec& range : ranges) bytes += range.iov_len;
    return bytes;
}

/// It will pass: what failed with this error can be tried again.
inline bool is_shortage(int error) noexcept {
    return error == EMFILE || error == ENFILE || error == ENOBUFS || error == ENOMEM ||
           error == EAGAIN || error == EINTR;
}

}  // namespace fci::tcp
