// SPDX-License-Identifier: BSD-3-Clause
// Streams: the driver's view of the system: streams of bytes between processes, their events, and
// the time. The kernel provides them (kernel.h), or a simulated network, whose seed decides where
// they are cut, held up and broken (drivers/sim/stream).
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

/// The streams of one process. A stream, or a listening socket, is a number >= 0; a call that fails
/// returns -errno. Only wait() and pause() wait.
class Streams {
public:
    virtual ~Streams() = default;

    virtual Status open(std::string* error) = 0;
    /// In a child of fork(), which keeps none of its parent's streams.
    virtual void close() noexcept = 0;

    /// Listens at the place of `card`, which gets its port if it has none.
    virtual int listen(ddi::Card* card) noexcept = 0;
    virtual int accept(int listening) noexcept = 0;
    /// The address of the caller of an accepted stream; 0: not known.
    virtual std::uint32_t caller(int stream) noexcept {
        (void)stream;
        return 0;
    }
    /// A call from the address of `from` to the place of `to`, which is under way: once something
    /// can be written, outcome() is known. A host that does not answer for too long ends it.
    /// EADDRNOTAVAIL: this host has the address of `from` no more; EAGAIN: it has no port left.
    virtual int call(const ddi::Card& from, const ddi::Card& to) noexcept = 0;
    virtual int outcome(int stream) noexcept = 0;
    /// The two have met: from now on small frames leave at once, a host that falls silent while
    /// nothing is under way is noticed in time, and a host without room is asked often enough for
    /// Pulse to see that it answers.
    virtual void tune(int stream) noexcept = 0;

    /// Sends as much as there is room for; raises no signal. `lingers`: the bytes may wait for the
    /// next ones, for 200 ms.
    virtual ssize_t send(int stream, std::span<const iovec> ranges, bool lingers) noexcept = 0;
    /// Receives as much as is here. 0: the other end has ended the stream.
    virtual ssize_t receive(int stream, std::span<const iovec> ranges) noexcept = 0;
    /// While it is on, bytes that are sent may wait for more, for 200 ms.
    virtual void cork(int stream, bool on) noexcept = 0;
    /// The stream counts as readable from `bytes` on (SO_RCVLOWAT).
    virtual void tell_from(int stream, int bytes) noexcept = 0;
    /// Bytes sent that the other end's system has not acknowledged.
    virtual std::size_t under_way(int stream) noexcept = 0;
    /// False: there is no sign.
    virtual bool sign(int stream, Pulse::Sign* sign) noexcept = 0;
    /// Nothing is sent any more; `wholly`: nor is anything received.
    virtual void end(int stream, bool wholly) noexcept = 0;
    virtual void close(int stream) noexcept = 0;

    enum class Source : std::uint32_t { door, caller, peer, hints };
    struct Event {
        Source source;
        std::uint32_t detail;
    };
    enum Interest : unsigned { kIfBroken = 0, kIn = 1, kOut = 2 };
    static constexpr std::size_t kEventsMost = 64;  // at once
    /// Events of the stream come under that name.
    virtual void watch(int stream, Source source, std::uint32_t detail,
                       unsigned interests) noexcept = 0;
    virtual void forget(int stream) noexcept = 0;
    /// Returns how many events there are. An event may be stale: handling an earlier one may have
    /// closed its stream.
    virtual std::size_t look(std::span<Event, kEventsMost> events) noexcept = 0;
    /// Waits until there is an event. False: the time is over, or a signal came.
    virtual bool wait(Nanoseconds timeout) noexcept = 0;
    /// Ends a sleep, of wait() or on fd(), now or at that time.
    virtual void ring() noexcept = 0;
    virtual void ring_at(Nanoseconds when) noexcept = 0;
    /// A descriptor that is readable when there are events, to sleep on.
    [[nodiscard]] virtual int fd() const noexcept = 0;

    [[nodiscard]] virtual Nanoseconds now() noexcept = 0;
    virtual void pause(Nanoseconds time) noexcept = 0;
};

/// A stream that closes itself.
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

/// The bytes of all ranges.
inline std::size_t bytes_in(std::span<const iovec> ranges) noexcept {
    std::size_t bytes = 0;
    for (const iovec& range : ranges) bytes += range.iov_len;
    return bytes;
}

/// A call that failed with this error can be tried again.
inline bool is_shortage(int error) noexcept {
    return error == EMFILE || error == ENFILE || error == ENOBUFS || error == ENOMEM ||
           error == EAGAIN || error == EINTR;
}

}  // namespace fci::tcp
