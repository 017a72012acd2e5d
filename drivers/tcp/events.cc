// A device's turn, and its sleep.
#include <poll.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>

#include <algorithm>
#include <array>

#include "drivers/host/place.h"
#include "drivers/tcp/tcp_device.h"
#include "fci_core/base/assert.h"
#include "fci_core/base/clock.h"

namespace fci::tcp {

namespace {

// So few peers are read without asking the kernel first who has something.
constexpr std::size_t kReadAtOnce = 2;
constexpr unsigned kLookEvery = 64;               // turns, for all others
constexpr Nanoseconds kLookAtClock = 10'000'000;  // while somebody calls
constexpr Nanoseconds kSecond = 1'000'000'000;

}  // namespace

void TcpDevice::watch(int socket, std::uint64_t name, std::uint32_t events) noexcept {
    epoll_event event{};
    event.events = events;
    event.data.u64 = name;
    if (epoll_ctl(epoll_.get(), EPOLL_CTL_MOD, socket, &event) != 0) {
        (void)epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, socket, &event);
    }
}

unsigned TcpDevice::poll(Nanoseconds now) noexcept {
    unsigned work = 0;
    const bool few = connected_.size() <= kReadAtOnce && calling_.empty() && callers_.empty();
    if (few && ++turns_ % kLookEvery != 0) {
        for (std::size_t i = connected_.size(); i-- > 0;) {
            const nhi::PeerId id = connected_[i];
            if (peers_[id].state == State::attached) work += read_from(id);
        }
    } else {
        work = take_events_of_kernel();
    }
    flush_all();
    if (!calling_.empty() || !callers_.empty()) look_at_clock(now);
    return work + tell();
}

unsigned TcpDevice::take_events_of_kernel() noexcept {
    std::array<epoll_event, 64> events;
    const int count = epoll_wait(epoll_.get(), events.data(), events.size(), 0);
    unsigned work = 0;
    for (int i = 0; i < count; ++i) {
        const std::uint64_t name = events[static_cast<unsigned>(i)].data.u64;
        if (name == kListening) {
            accept_callers();
        } else if (name == kBell) {
            eventfd_t rung;
            eventfd_read(bell_.get(), &rung);
        } else if ((name & kCaller) != 0) {
            const auto caller = std::ranges::find_if(callers_, [&](const Caller& one) {
                return static_cast<std::uint32_t>(one.socket.get()) ==
                       static_cast<std::uint32_t>(name);
            });
            if (caller != callers_.end()) hear_caller(caller);
        } else {
            const auto id = static_cast<nhi::PeerId>(name);
            FCI_ASSERT(id < peers_.size());
            if (peers_[id].state == State::connecting) go_on_calling(id);
            if (peers_[id].state == State::attached) work += read_from(id);
        }
    }
    return work;
}

unsigned TcpDevice::read_from(nhi::PeerId id) noexcept {
    Connection& connection = *peers_[id].peer->connection;
    switch (connection.read()) {
        case Connection::Reading::nothing:
            return 0;
        case Connection::Reading::some:
            return 1;
        case Connection::Reading::goodbye:
            lose(id, Status::not_found, describe(id) + " has closed its connection");
            break;
        case Connection::Reading::end:
            lose(id, Status::lost, describe(id) + ": " + connection.why_ended());
            break;
        case Connection::Reading::nonsense:
            lose(id, Status::lost,
                 describe(id) + " sent what is no frame; its memory is damaged, or it is no FCI");
            break;
    }
    return 1;
}

void TcpDevice::flush_all() noexcept {
    std::erase_if(waiting_, [&](nhi::PeerId id) {
        Connection& connection = *peers_[id].peer->connection;
        if (!connection.flush()) return false;
        watch(connection.socket(), id, EPOLLIN);
        return true;
    });
}

unsigned TcpDevice::tell() noexcept {
    unsigned told = 0;
    // A listener may connect; what comes of it waits for the next turn.
    for (std::size_t count = notices_.size(); count != 0; --count, ++told) {
        const Notice notice = std::move(notices_.front());
        notices_.pop_front();
        Peers::Entry& entry = peers_[notice.id];
        if (notice.why == Status::ok) {
            FCI_ASSERT(entry.state == State::joined);
            entry.state = State::attached;
            watch(entry.peer->connection->socket(), notice.id, EPOLLIN);
            if (listener_ != nullptr) listener_->peer_attached(notice.id);
        } else {
            FCI_ASSERT(entry.state == State::ending);
            entry.state = State::lost;
            if (listener_ != nullptr) listener_->peer_lost(notice.id, notice.why, notice.reason);
        }
    }
    return told;
}

void TcpDevice::sleep(Nanoseconds timeout) noexcept {
    const Nanoseconds end = timeout < 0 ? INT64_MAX : monotonic_now() + timeout;
    while (!woken_ && notices_.empty()) {
        const Nanoseconds now = monotonic_now();
        if (now >= end) break;
        Nanoseconds most = end - now;
        if (!calling_.empty() || !callers_.empty()) most = std::min(most, kLookAtClock);
        const timespec wait{most / kSecond, most % kSecond};
        pollfd descriptor{epoll_.get(), POLLIN, 0};
        if (ppoll(&descriptor, 1, &wait, nullptr) < 0) break;  // a signal
        (void)take_events_of_kernel();
        flush_all();
        if (!calling_.empty() || !callers_.empty()) look_at_clock(monotonic_now());
    }
    woken_ = false;
}

}  // namespace fci::tcp
