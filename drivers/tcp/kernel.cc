// SPDX-License-Identifier: BSD-3-Clause
#include "drivers/tcp/kernel.h"

#include <linux/sockios.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>

#include "fci_core/base/assert.h"
#include "fci_core/base/clock.h"

#ifndef TCP_RTO_MAX_MS
#define TCP_RTO_MAX_MS 44
#endif

namespace fci::tcp {

namespace {

constexpr Nanoseconds kSecond = 1'000'000'000;
constexpr int kBacklog = 4096;
// Names of what is watched beside sockets, whose sources stand in the upper half.
constexpr std::uint64_t kBell = ~0ull, kTimer = kBell - 1;

sockaddr_in address_of(const ddi::Card& card, std::uint16_t port) noexcept {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = port;
    address.sin_addr.s_addr = card.host;
    return address;
}

int set(int socket, int level, int name, int value) noexcept {
    return setsockopt(socket, level, name, &value, sizeof value);
}

msghdr message_of(std::span<const iovec> ranges) noexcept {
    msghdr message{};
    message.msg_iov = const_cast<iovec*>(ranges.data());
    message.msg_iovlen = ranges.size();
    return message;
}

template <class Answer>
Answer or_error(Answer answer) noexcept {
    return answer < 0 ? -errno : answer;
}

}  // namespace

Status Kernel::open(std::string* error) {
    const bool can_watch = watch_.open();
    bell_ = host::Descriptor(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
    timer_ = host::Descriptor(timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK));
    if (!can_watch || !bell_ || !timer_) {
        *error = host::system_text("no descriptor left");
        return Status::exhausted;
    }
    watch_.set(bell_.get(), kBell, EPOLLIN);
    watch_.set(timer_.get(), kTimer, EPOLLIN);
    if (!watch_.is_complete()) {
        *error = "the kernel watches no descriptors for this process: raise "
                 "fs.epoll.max_user_watches (sysctl), or give it more memory";
        return Status::exhausted;
    }
    return Status::ok;
}

void Kernel::close() noexcept {
    watch_.close();
    for (host::Descriptor* own : {&bell_, &timer_}) own->close();
}

// --- how streams come and go ---

int Kernel::listen(ddi::Card* card) noexcept {
    host::Descriptor made(::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
    if (!made) return -errno;
    (void)set(made.get(), SOL_SOCKET, SO_REUSEADDR, 1);
    sockaddr_in address = address_of(*card, card->port);
    auto* const generic = reinterpret_cast<sockaddr*>(&address);
    socklen_t bytes = sizeof address;
    if (bind(made.get(), generic, bytes) != 0 || ::listen(made.get(), kBacklog) != 0 ||
        getsockname(made.get(), generic, &bytes) != 0) {
        return -errno;
    }
    card->port = address.sin_port;
    return made.release();
}

int Kernel::accept(int listening) noexcept {
    return or_error(::accept4(listening, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
}

std::uint32_t Kernel::caller(int socket) noexcept {
    sockaddr_in address{};
    socklen_t bytes = sizeof address;
    const int failed = getpeername(socket, reinterpret_cast<sockaddr*>(&address), &bytes);
    return failed == 0 ? address.sin_addr.s_addr : 0;
}

int Kernel::call(const ddi::Card& from, const ddi::Card& to) noexcept {
    host::Descriptor made(::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
    if (!made) return -errno;
    // This holds until tune().
    (void)set(made.get(), IPPROTO_TCP, TCP_USER_TIMEOUT, static_cast<int>(silence_ms_));
    // The call's port need only differ from those of other calls to the same place.
    (void)set(made.get(), IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, 1);
    const sockaddr_in here = address_of(from, 0), there = address_of(to, to.port);
    if (bind(made.get(), reinterpret_cast<const sockaddr*>(&here), sizeof here) != 0) {
        return -errno;
    }
    if (::connect(made.get(), reinterpret_cast<const sockaddr*>(&there), sizeof there) != 0 &&
        errno != EINPROGRESS) {
        return errno == EADDRNOTAVAIL ? -EAGAIN : -errno;
    }
    return made.release();
}

int Kernel::outcome(int socket) noexcept {
    int error = 0;
    socklen_t bytes = sizeof error;
    if (getsockopt(socket, SOL_SOCKET, SO_ERROR, &error, &bytes) != 0) return -errno;
    return -error;
}

void Kernel::tune(int socket) noexcept {
    (void)set(socket, IPPROTO_TCP, TCP_NODELAY, 1);
    (void)set(socket, IPPROTO_TCP, TCP_USER_TIMEOUT, 0);
    // The receive buffer grows with the first call, and stays. Without it the first small value
    // that is set later (Connection::set_quiet()) would bound the window.
    tell_from(socket, 2 << 20);
    tell_from(socket, 1);
    (void)set(socket, SOL_SOCKET, SO_KEEPALIVE, 1);
    // With a limit of 10 s, a host is asked after 4, 6 and 8 s.
    const int silence = std::max(static_cast<int>(silence_ms_ / 1000), 2);
    const int times = silence > 3 ? 3 : 1, apart = std::max(silence / 5, 1);
    FCI_ASSERT(silence > times * apart);
    (void)set(socket, IPPROTO_TCP, TCP_KEEPIDLE, silence - times * apart);
    (void)set(socket, IPPROTO_TCP, TCP_KEEPINTVL, apart);
    (void)set(socket, IPPROTO_TCP, TCP_KEEPCNT, times);
    // Since Linux 6.15. An older kernel asks a peer without room less and less often, down to every
    // two minutes, and notices only at the next time that its host fell silent.
    (void)set(socket, IPPROTO_TCP, TCP_RTO_MAX_MS, 2'000);
}

void Kernel::end(int socket, bool wholly) noexcept {
    (void)::shutdown(socket, wholly ? SHUT_RDWR : SHUT_WR);
}

void Kernel::close(int socket) noexcept {
    FCI_ASSERT(socket >= 0);
    watch_.closed(socket);
    (void)::close(socket);
}

// --- what goes through them ---

ssize_t Kernel::send(int socket, std::span<const iovec> ranges, bool lingers) noexcept {
    const int flags = MSG_DONTWAIT | MSG_NOSIGNAL | (lingers ? MSG_MORE : 0);
    if (ranges.size() == 1) {
        return or_error(::send(socket, ranges[0].iov_base, ranges[0].iov_len, flags));
    }
    const msghdr message = message_of(ranges);
    return or_error(::sendmsg(socket, &message, flags));
}

ssize_t Kernel::receive(int socket, std::span<const iovec> ranges) noexcept {
    if (ranges.size() == 1) {
        return or_error(::recv(socket, ranges[0].iov_base, ranges[0].iov_len, MSG_DONTWAIT));
    }
    msghdr message = message_of(ranges);
    return or_error(::recvmsg(socket, &message, MSG_DONTWAIT));
}

void Kernel::cork(int socket, bool on) noexcept {
    (void)set(socket, IPPROTO_TCP, TCP_CORK, on ? 1 : 0);
}

void Kernel::tell_from(int socket, int bytes) noexcept {
    (void)set(socket, SOL_SOCKET, SO_RCVLOWAT, bytes);
}

std::size_t Kernel::under_way(int socket) noexcept {
    int unread = 0;
    return ioctl(socket, SIOCOUTQ, &unread) != 0 ? 0 : static_cast<std::size_t>(unread);
}

bool Kernel::sign(int socket, Pulse::Sign* sign) noexcept {
    tcp_info told{};
    socklen_t bytes = sizeof told;
    if (getsockopt(socket, IPPROTO_TCP, TCP_INFO, &told, &bytes) != 0) return false;
    *sign = {told.tcpi_unacked != 0 || told.tcpi_probes != 0,
             Nanoseconds{told.tcpi_last_ack_recv} * 1'000'000};
    return true;
}

// --- what happens ---

void Kernel::watch(int socket, Source source, std::uint32_t detail, unsigned interests) noexcept {
    std::uint32_t events = 0;
    if ((interests & kIn) != 0) events |= EPOLLIN;
    if ((interests & kOut) != 0) events |= EPOLLOUT;
    watch_.set(socket, std::uint64_t{static_cast<std::uint32_t>(source)} << 32 | detail, events);
    if (!watch_.is_complete()) ring();  // a caller that sleeps on fd() looks then
}

void Kernel::forget(int socket) noexcept { watch_.forget(socket); }

std::size_t Kernel::look(std::span<Event, kEventsMost> events) noexcept {
    std::array<epoll_event, kEventsMost> happened;
    const std::size_t count = watch_.look(happened);
    std::size_t told = 0;
    for (std::size_t i = 0; i < count; ++i) {
        const std::uint64_t name = happened[i].data.u64;
        if (name != kBell && name != kTimer) {
            events[told++] = {static_cast<Source>(name >> 32), static_cast<std::uint32_t>(name)};
            continue;
        }
        std::uint64_t times;
        (void)!::read(name == kBell ? bell_.get() : timer_.get(), &times, sizeof times);
        if (name == kTimer) rings_at_ = 0;
    }
    return told;
}

bool Kernel::wait(Nanoseconds timeout) noexcept { return watch_.wait(timeout); }

void Kernel::ring() noexcept { eventfd_write(bell_.get(), 1); }

void Kernel::ring_at(Nanoseconds when) noexcept {
    FCI_ASSERT(when >= 0);
    if (!watch_.is_complete()) {
        const Nanoseconds time = now(), soon = time + Watch::kAgain;
        const Nanoseconds again = rings_at_ > time ? std::min(rings_at_, soon) : soon;
        when = when == 0 ? again : std::min(when, again);
    }
    if (when == rings_at_) return;
    rings_at_ = when;
    itimerspec told{};
    if (when != 0) told.it_value = {when / kSecond, when % kSecond};
    (void)timerfd_settime(timer_.get(), TFD_TIMER_ABSTIME, &told, nullptr);
}

Nanoseconds Kernel::now() noexcept { return monotonic_now(); }

void Kernel::pause(Nanoseconds time) noexcept {
    const timespec told{time / kSecond, time % kSecond};
    (void)nanosleep(&told, nullptr);
}

}  // namespace fci::tcp
