// SPDX-License-Identifier: BSD-3-Clause
#include "test/unit/drivers/calls.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <netinet/udp.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstring>
#include <ctime>
#include <utility>

namespace fci {

Calls calls;

namespace {

/// An answer of the test, as a system call gives it.
bool fails(const std::function<int()>& asked) {
    const int error = asked ? asked() : 0;
    if (error != 0) errno = error;
    return error != 0;
}

long files_in(const msghdr* message) {
    long count = 0;
    for (cmsghdr* header = CMSG_FIRSTHDR(message); header != nullptr;
         header = CMSG_NXTHDR(const_cast<msghdr*>(message), header)) {
        if (header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_RIGHTS) continue;
        count += static_cast<long>((header->cmsg_len - CMSG_LEN(0)) / sizeof(int));
    }
    return count;
}

/// Of a message that the driver of hints sends: likewise.
bool fails_as_datagram(int fd, const msghdr* message) {
    int kind = 0;
    socklen_t bytes = sizeof kind;
    if (!calls.fail_datagram || getsockopt(fd, SOL_SOCKET, SO_TYPE, &kind, &bytes) != 0) {
        return false;
    }
    const cmsghdr* const told = CMSG_FIRSTHDR(message);
    const bool several = told != nullptr && told->cmsg_level == IPPROTO_UDP;
    return kind == SOCK_DGRAM && fails([&] { return calls.fail_datagram(several); });
}

}  // namespace
}  // namespace fci

// The linker takes these instead of the C library's.
extern "C" ssize_t sendmsg(int fd, const msghdr* message, int flags) {
    const long files = fci::files_in(message);
    if (files != 0 && fci::fails(fci::calls.fail)) return -1;
    if (fci::fails_as_datagram(fd, message)) return -1;
    const ssize_t sent = syscall(SYS_sendmsg, fd, message, flags);
    if (sent >= 0) fci::calls.files_sent += files;
    return sent;
}

extern "C" ssize_t recvmsg(int fd, msghdr* message, int flags) {
    const ssize_t received = syscall(SYS_recvmsg, fd, message, flags);
    if (received >= 0) fci::calls.files_received += fci::files_in(message);
    return received;
}

extern "C" int accept4(int fd, sockaddr* address, socklen_t* bytes, int flags) {
    if (fci::fails(fci::calls.fail_accept)) return -1;
    const auto accepted = static_cast<int>(syscall(SYS_accept4, fd, address, bytes, flags));
    fci::calls.accepted += accepted >= 0;
    return accepted;
}

extern "C" int connect(int fd, const sockaddr* address, socklen_t bytes) {
    if (fci::fails(fci::calls.fail_connect)) return -1;
    const auto failed = static_cast<int>(syscall(SYS_connect, fd, address, bytes));
    const auto then = std::exchange(fci::calls.connected, {});
    if (failed == 0 && then) then();
    return failed;
}

extern "C" int setsockopt(int fd, int level, int name, const void* value, socklen_t bytes) {
    const auto failed = static_cast<int>(syscall(SYS_setsockopt, fd, level, name, value, bytes));
    if (failed == 0 && level == IPPROTO_TCP && name == TCP_CORK) {
        fci::calls.corked.erase(fd);
        if (*static_cast<const int*>(value) != 0) fci::calls.corked.insert(fd);
    }
    if (failed == 0 && level == IPPROTO_IP && bytes == sizeof(int)) {
        std::memcpy(&fci::calls.ip_options[name], value, sizeof(int));
    }
    return failed;
}

extern "C" int epoll_ctl(int epoll, int operation, int fd, epoll_event* event) {
    if (operation == EPOLL_CTL_ADD && fci::fails(fci::calls.fail_watch)) return -1;
    return static_cast<int>(syscall(SYS_epoll_ctl, epoll, operation, fd, event));
}

extern "C" int epoll_pwait2(int epoll, epoll_event* events, int most, const timespec* limit,
                            const sigset_t* mask) {
    ++fci::calls.waits;
    fci::calls.wait_limit =
        limit == nullptr ? -1 : std::int64_t{limit->tv_sec} * 1'000'000'000 + limit->tv_nsec;
    if (fci::fails(fci::calls.fail_exact_wait)) return -1;
    return static_cast<int>(
        syscall(SYS_epoll_pwait2, epoll, events, most, limit, mask, sizeof(std::uint64_t)));
}

extern "C" int epoll_wait(int epoll, epoll_event* events, int most, int limit) {
    ++fci::calls.waits;
    fci::calls.wait_limit = std::int64_t{limit} * 1'000'000;
    return static_cast<int>(syscall(SYS_epoll_pwait, epoll, events, most, limit, nullptr, 0));
}
