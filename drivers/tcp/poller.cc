#include "drivers/tcp/poller.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/timerfd.h>

#include "fci_core/base/assert.h"

namespace fci::tcp {

namespace {

constexpr Nanoseconds kSecond = 1'000'000'000;

}  // namespace

Status Poller::open(std::string* error) {
    epoll_ = host::Descriptor(epoll_create1(EPOLL_CLOEXEC));
    bell_ = host::Descriptor(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
    timer_ = host::Descriptor(timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK));
    if (!epoll_ || !bell_ || !timer_) {
        *error = host::system_text("no descriptor left");
        return Status::exhausted;
    }
    watch(bell_.get(), Source::bell, 0, EPOLLIN);
    watch(timer_.get(), Source::timer, 0, EPOLLIN);
    return Status::ok;
}

void Poller::close() noexcept {
    for (host::Descriptor* own : {&epoll_, &bell_, &timer_}) own->close();
}

void Poller::watch(int fd, Source source, std::uint32_t detail, std::uint32_t events) noexcept {
    epoll_event event{};
    event.events = events;
    event.data.u64 = std::uint64_t{static_cast<std::uint32_t>(source)} << 32 | detail;
    if (epoll_ctl(epoll_.get(), EPOLL_CTL_MOD, fd, &event) != 0) {
        (void)epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, fd, &event);
    }
}

void Poller::forget(int fd) noexcept {
    FCI_ASSERT(fd >= 0);
    (void)epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, fd, nullptr);
}

void Poller::ring() noexcept { eventfd_write(bell_.get(), 1); }

void Poller::ring_at(Nanoseconds when) noexcept {
    FCI_ASSERT(when >= 0);
    if (when == rings_at_) return;
    rings_at_ = when;
    itimerspec told{};
    if (when != 0) told.it_value = {when / kSecond, when % kSecond};
    (void)timerfd_settime(timer_.get(), TFD_TIMER_ABSTIME, &told, nullptr);
}

void Poller::quieten(Source source) noexcept {
    std::uint64_t times;
    (void)!read(source == Source::bell ? bell_.get() : timer_.get(), &times, sizeof times);
    if (source == Source::timer) rings_at_ = 0;
}

bool Poller::wait(Nanoseconds timeout) noexcept {
    const timespec limit{timeout / kSecond, timeout % kSecond};
    pollfd descriptor{epoll_.get(), POLLIN, 0};
    return ppoll(&descriptor, 1, timeout < 0 ? nullptr : &limit, nullptr) > 0;
}

}  // namespace fci::tcp
