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

void Lock::let_go() noexcept {
    for (Waiter* waiter = armed_; waiter != nullptr; waiter = waiter->next_armed_) {
        waiter->stay_armed();
    }
    pthread_mutex_unlock(&mutex_);
}

Waiter::~Waiter() {
    unlink();
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
        if (endpoint->arm()) continue;
        if (!armed_) let_endpoints_go();
        return false;
    }
    if (!armed_) link();
    armed_ = true;
    if (!lock_.needed()) quick_ = false;  // otherwise it is, and is read without the lock
    return true;
}

bool Waiter::try_wait() noexcept {
    // What it was rung for was read, but perhaps by a thread that had no right to silence it.
    if (lock_.needed() && unwoken_ == 0) silence();
    if (!arm()) return false;
    if (tried_ && pthread_equal(trier_, pthread_self()) == 0) several_try_ = true;
    tried_ = true;
    trier_ = pthread_self();
    return true;
}

/// Before the lock is let go.
void Waiter::stay_armed() noexcept {
    if (rung_) return;  // they will look
    for (Endpoint* endpoint : endpoints_) {
        if (!endpoint->arm()) return ring();
    }
}

void Waiter::link() noexcept {
    next_armed_ = lock_.armed_;
    lock_.armed_ = this;
}

void Waiter::unlink() noexcept {
    for (Waiter** at = &lock_.armed_; *at != nullptr; at = &(*at)->next_armed_) {
        if (*at != this) continue;
        *at = next_armed_;
        return;
    }
}

int Waiter::descriptor() noexcept { return make_descriptors() == 0 ? epoll_ : -1; }

void Waiter::ring() noexcept {
    ++rings_;
    unwoken_ = sleepers_;
    if (bell_ >= 0 && !rung_) eventfd_write(bell_, 1);
    rung_ = bell_ >= 0;
}

void Waiter::silence() noexcept {
    if (!rung_) return;
    rung_ = false;
    eventfd_t count;
    eventfd_read(bell_, &count);
}

/// The thread that calls does not sleep; others may.
void Waiter::drain() noexcept {
    if (lock_.needed()) {
        // Whoever tried may sleep. Of several nobody knows which of them do.
        if (several_try_ || (tried_ && pthread_equal(trier_, pthread_self()) == 0)) return;
        tried_ = false;
        if (sleepers_ != 0) return;
    }
    silence();
    armed_ = false;
    if (!lock_.needed()) quick_ = true;
    unlink();
    let_endpoints_go();
}

/// Other waiters that are armed arm them again before the lock is let go.
void Waiter::let_endpoints_go() noexcept {
    for (Endpoint* endpoint : endpoints_) endpoint->disarm();
}

void Waiter::sleep(std::int64_t left_ns) noexcept {
    // One endpoint and one thread: the core's own wait policy picks spinning or sleeping.
    if (!lock_.needed() && endpoints_.size() == 1 && endpoints_[0]->wait(left_ns)) return;
    // The caller has looked. A bell that somebody has still to hear is left to him: until then this
    // thread looks again and again.
    if (lock_.needed() && unwoken_ == 0) silence();
    if (!arm()) {
        lock_.unlock();
        lock_.lock();
        return;
    }
    const bool all_have_descriptors =
        !endpoints_.empty() && std::ranges::all_of(endpoints_, [](const Endpoint* endpoint) {
            return endpoint->wait_descriptor() >= 0;
        });
    const std::uint64_t rings = rings_;
    ++sleepers_;
    lock_.unlock();
    poll(left_ns, all_have_descriptors);
    lock_.lock();
    --sleepers_;
    if (rings != rings_ && --unwoken_ == 0) silence();
    disarm();
}

void Waiter::poll(std::int64_t left_ns, bool all_have_descriptors) const noexcept {
    pollfd descriptor{epoll_, POLLIN, 0};
    // A driver without a descriptor has to be looked at.
    const std::int64_t slice = all_have_descriptors ? left_ns : kMillisecond / 20;
    const std::int64_t ns = left_ns < 0 ? slice : std::min(left_ns, slice);
    const timespec most{ns / (1'000 * kMillisecond), ns % (1'000 * kMillisecond)};
    ppoll(&descriptor, 1, ns < 0 ? nullptr : &most, nullptr);
}

}  // namespace fci::libfabric
