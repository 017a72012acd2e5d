#include "netmod/libfabric/waiter.h"

#include <poll.h>
#include <sched.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>

#include "netmod/libfabric/endpoint.h"

namespace fci::libfabric {

namespace {

constexpr std::int64_t kMillisecond = 1'000'000;

std::int64_t now_ns() noexcept {
    timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1'000 * kMillisecond + now.tv_nsec;
}

}  // namespace

Deadline::Deadline(int timeout_ms) noexcept
    : end_ns_(timeout_ms < 0 ? -1 : now_ns() + timeout_ms * kMillisecond) {}

std::int64_t Deadline::left_ns() const noexcept {
    return end_ns_ < 0 ? -1 : std::max<std::int64_t>(0, end_ns_ - now_ns());
}

Waiter::~Waiter() {
    if (epoll_ >= 0) ::close(epoll_);
    if (bell_ >= 0) ::close(bell_);
}

bool Waiter::offers(fi_wait_obj object) noexcept {
    switch (object) {
        case FI_WAIT_NONE:
        case FI_WAIT_UNSPEC:
        case FI_WAIT_FD:
        case FI_WAIT_YIELD: return true;
        default: return false;
    }
}

int Waiter::open(fi_wait_obj object) {
    object_ = object;
    return object == FI_WAIT_FD ? make_descriptors() : 0;
}

int Waiter::make_descriptors() noexcept {
    if (epoll_ >= 0) return 0;
    bell_ = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    epoll_ = epoll_create1(EPOLL_CLOEXEC);
    if (bell_ < 0 || epoll_ < 0) return -errno;
    epoll_event event{};
    event.events = EPOLLIN;
    if (epoll_ctl(epoll_, EPOLL_CTL_ADD, bell_, &event) != 0) return -errno;
    for (Endpoint* endpoint : endpoints_) watch(*endpoint, true);
    return 0;
}

void Waiter::watch(Endpoint& endpoint, bool on) noexcept {
    const int descriptor = endpoint.wait_descriptor();
    if (epoll_ < 0 || descriptor < 0) return;
    epoll_event event{};
    event.events = EPOLLIN;
    epoll_ctl(epoll_, on ? EPOLL_CTL_ADD : EPOLL_CTL_DEL, descriptor, &event);
}

void Waiter::add(Endpoint& endpoint) {
    if (std::find(endpoints_.begin(), endpoints_.end(), &endpoint) == endpoints_.end()) {
        endpoints_.push_back(&endpoint);
    }
}

void Waiter::remove(Endpoint& endpoint) noexcept {
    if (std::erase(endpoints_, &endpoint) != 0) watch(endpoint, false);
}

void Waiter::enabled(Endpoint& endpoint) noexcept { watch(endpoint, true); }

void Waiter::progress() noexcept {
    for (Endpoint* endpoint : endpoints_) endpoint->progress();
}

bool Waiter::arm() noexcept {
    if (make_descriptors() != 0) return false;
    for (Endpoint* endpoint : endpoints_) {
        if (!endpoint->arm()) return false;
    }
    armed_ = true;
    quick_ = false;
    return true;
}

int Waiter::descriptor() noexcept { return make_descriptors() == 0 ? epoll_ : -1; }

void Waiter::ring() noexcept {
    if (bell_ >= 0) eventfd_write(bell_, 1);
}

void Waiter::drain() noexcept {
    armed_ = false;
    quick_ = !lock_.needed();
    eventfd_t count;
    eventfd_read(bell_, &count);
}

void Waiter::sleep(std::int64_t left_ns) noexcept {
    // One endpoint and one thread: the core's own wait policy picks spinning or sleeping.
    if (!lock_.needed() && endpoints_.size() == 1 && endpoints_[0]->wait(left_ns)) return;
    bool all_have_descriptors = !endpoints_.empty();
    {
        Guard guard(lock_);
        for (Endpoint* endpoint : endpoints_) {
            all_have_descriptors = all_have_descriptors && endpoint->wait_descriptor() >= 0;
        }
        if (!arm()) return;
    }
    pollfd descriptor{epoll_, POLLIN, 0};
    // A driver without a descriptor has to be looked at.
    const std::int64_t slice = all_have_descriptors ? left_ns : kMillisecond / 20;
    const std::int64_t ns = left_ns < 0 ? slice : std::min(left_ns, slice);
    const timespec most{ns / (1'000 * kMillisecond), ns % (1'000 * kMillisecond)};
    ppoll(&descriptor, 1, ns < 0 ? nullptr : &most, nullptr);
    Guard guard(lock_);
    disarm();
}

}  // namespace fci::libfabric
