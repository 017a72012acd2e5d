// SPDX-License-Identifier: BSD-3-Clause
#include "netmod/libfabric/waiter.h"

#include <poll.h>
#include <sched.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>

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
    lock_.remove(*this);
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
    for (Channel* channel : channels_) watch(*channel);
    return 0;
}

void Waiter::set_watched(const Channel& channel, bool on) noexcept {
    const int descriptor = channel.wait_descriptor();
    if (epoll_ < 0 || descriptor < 0) return;
    epoll_event event{};
    event.events = EPOLLIN;
    epoll_ctl(epoll_, on ? EPOLL_CTL_ADD : EPOLL_CTL_DEL, descriptor, &event);
}

void Waiter::add(Channel& channel) {
    if (std::find(channels_.begin(), channels_.end(), &channel) == channels_.end()) {
        channels_.push_back(&channel);
    }
}

void Waiter::remove(Channel& channel) noexcept {
    if (std::erase(channels_, &channel) != 0) set_watched(channel, false);
}

void Waiter::progress() noexcept {
    for (Channel* channel : channels_) channel->progress();
}

bool Waiter::arm() noexcept {
    if (make_descriptors() != 0) return false;
    for (Channel* channel : channels_) {
        if (channel->arm()) continue;
        if (!armed_) let_channels_go();
        return false;
    }
    if (!armed_) lock_.add(*this);
    armed_ = true;
    if (!lock_.needed()) quick_ = false;  // otherwise it is, and is read without the lock
    return true;
}

bool Waiter::try_wait() noexcept {
    // The entry that rang was read, but perhaps by a thread that had no right to silence the ring.
    if (lock_.needed() && unwoken_ == 0) silence();
    if (!arm()) return false;
    if (tried_ && pthread_equal(trier_, pthread_self()) == 0) several_try_ = true;
    tried_ = true;
    trier_ = pthread_self();
    return true;
}

/// Before the lock is let go.
void Waiter::before_unlock() noexcept {
    if (rung_) return;  // they will look
    for (Channel* channel : channels_) {
        if (!channel->arm()) return ring();
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
        // The thread that tried may sleep. If several tried, it is not known which of them do.
        if (several_try_ || (tried_ && pthread_equal(trier_, pthread_self()) == 0)) return;
        tried_ = false;
        if (sleepers_ != 0) return;
    }
    silence();
    armed_ = false;
    if (!lock_.needed()) quick_ = true;
    lock_.remove(*this);
    let_channels_go();
}

/// Other waiters that are armed arm them again before the lock is let go.
void Waiter::let_channels_go() noexcept {
    for (Channel* channel : channels_) channel->disarm();
}

void Waiter::sleep(std::int64_t left_ns) noexcept {
    // One channel and one thread: the core's own wait policy picks spinning or sleeping.
    if (!lock_.needed() && channels_.size() == 1 && channels_[0]->wait(left_ns)) return;
    // The caller has looked. A bell that somebody has still to hear is left to him: until then this
    // thread looks again and again.
    if (lock_.needed() && unwoken_ == 0) silence();
    if (!arm()) {
        lock_.unlock();
        lock_.lock();
        return;
    }
    const bool all_have_descriptors =
        !channels_.empty() && std::ranges::all_of(channels_, [](const Channel* channel) {
            return channel->wait_descriptor() >= 0;
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
