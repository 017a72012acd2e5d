// SPDX-License-Identifier: BSD-3-Clause
#include "drivers/tcp/watch.h"

#include <poll.h>

#include <algorithm>
#include <cerrno>

#include "fci_core/base/assert.h"
#include "fci_core/base/log.h"

namespace fci::tcp {

namespace {

constexpr Nanoseconds kSecond = 1'000'000'000;
// All that epoll and poll() tell has the same bits in both.
static_assert(EPOLLIN == POLLIN && EPOLLOUT == POLLOUT && EPOLLERR == POLLERR &&
              EPOLLHUP == POLLHUP);

}  // namespace

bool Watch::open() noexcept {
    epoll_ = host::Descriptor(epoll_create1(EPOLL_CLOEXEC));
    return static_cast<bool>(epoll_);
}

void Watch::close() noexcept {
    epoll_.close();
    refused_.clear();
}

bool Watch::takes(One& one) noexcept {
    return epoll_ctl(epoll_.get(), EPOLL_CTL_MOD, one.fd, &one.event) == 0 ||
           epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, one.fd, &one.event) == 0;
}

/// Without memory to note a refused descriptor the process ends, as it would wait for it for ever.
void Watch::set(int fd, std::uint64_t name, std::uint32_t events) noexcept {
    FCI_ASSERT(fd >= 0);
    closed(fd);
    One one{fd, {}};
    one.event.events = events;
    one.event.data.u64 = name;
    if (takes(one)) return;
    const int error = errno;
    refused_.push_back(one);
    log::hint_once(true, host::system_text("the kernel watches no more descriptors (epoll_ctl)",
                                           error) +
                             "; they are asked for one by one, which is slower. Raise "
                             "fs.epoll.max_user_watches (sysctl), or give the job more memory");
}

void Watch::forget(int fd) noexcept {
    FCI_ASSERT(fd >= 0);
    closed(fd);
    (void)epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, fd, nullptr);
}

void Watch::closed(int fd) noexcept {
    std::erase_if(refused_, [&](const One& one) { return one.fd == fd; });
}

std::size_t Watch::look(std::span<epoll_event> happened) noexcept {
    std::erase_if(refused_, [&](One& one) { return takes(one); });
    const auto most = static_cast<int>(happened.size());
    const int count = epoll_wait(epoll_.get(), happened.data(), most, 0);
    auto told = static_cast<std::size_t>(std::max(count, 0));
    for (const One& one : refused_) {
        pollfd asked{one.fd, static_cast<short>(one.event.events), 0};
        if (told == happened.size() || ::poll(&asked, 1, 0) <= 0) continue;
        happened[told] = one.event;
        happened[told++].events = static_cast<std::uint32_t>(asked.revents);
    }
    FCI_ASSERT(told <= happened.size());
    return told;
}

bool Watch::wait(Nanoseconds timeout) noexcept {
    const bool looks_again = !is_complete() && (timeout < 0 || timeout > kAgain);
    const Nanoseconds most = looks_again ? kAgain : timeout;
    const timespec limit{most / kSecond, most % kSecond};
    pollfd descriptor{epoll_.get(), POLLIN, 0};
    const int answer = ppoll(&descriptor, 1, most < 0 ? nullptr : &limit, nullptr);
    return answer > 0 || (answer == 0 && looks_again);
}

}  // namespace fci::tcp
