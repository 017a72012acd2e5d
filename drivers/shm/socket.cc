// SPDX-License-Identifier: BSD-3-Clause
#include "drivers/shm/socket.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <ifaddrs.h>
#include <linux/sockios.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/un.h>

#include <cstdio>
#include <cstring>

#include "fci_core/base/assert.h"

namespace fci::shm {

namespace {

struct Name {
    sockaddr_un address{};
    socklen_t bytes = 0;

    Name(const ddi::Card& card, uid_t user) noexcept {
        address.sun_family = AF_UNIX;
        const int length = std::snprintf(
            address.sun_path + 1, sizeof address.sun_path - 1, "fci/%u/%08x/%u",
            static_cast<unsigned>(user), static_cast<unsigned>(ntohl(card.host)),
            static_cast<unsigned>(ntohs(card.port)));
        FCI_ASSERT(length > 0 && static_cast<std::size_t>(length) < sizeof address.sun_path - 1);
        bytes = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 +
                                       static_cast<std::size_t>(length));
    }
    [[nodiscard]] const sockaddr* get() const noexcept {
        return reinterpret_cast<const sockaddr*>(&address);
    }
};

// Strangers may put as many before a peer, which is turned away and comes again.
constexpr int kBacklog = 256;
constexpr timeval kInLine{0, 4000};

host::Descriptor make_socket(int flags) noexcept {
    return host::Descriptor(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | flags, 0));
}

}  // namespace

host::Descriptor listen_at(const ddi::Card& card, uid_t user) noexcept {
    host::Descriptor made = make_socket(SOCK_NONBLOCK);
    const Name name(card, user);
    if (made &&
        (bind(made.get(), name.get(), name.bytes) != 0 || listen(made.get(), kBacklog) != 0)) {
        const int error = errno;
        made.close();
        errno = error;
    }
    return made;
}

host::Descriptor connect_to(const ddi::Card& card, uid_t user) noexcept {
    host::Descriptor made = make_socket(0);  // all else that is done with it does not wait
    const Name name(card, user);
    if (made) (void)setsockopt(made.get(), SOL_SOCKET, SO_SNDTIMEO, &kInLine, sizeof kInLine);
    if (made && connect(made.get(), name.get(), name.bytes) != 0) {
        const int error = errno;
        made.close();
        errno = error;
    }
    return made;
}

host::Descriptor accept_from(int listening) noexcept {
    int fd;
    do {
        fd = accept4(listening, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
    } while (fd < 0 && (errno == EINTR || errno == ECONNABORTED));
    return host::Descriptor(fd);
}

host::Descriptor watch_process(pid_t pid) noexcept {
#ifdef SYS_pidfd_open
    if (pid > 0) return host::Descriptor(static_cast<int>(syscall(SYS_pidfd_open, pid, 0)));
#endif
    errno = pid > 0 ? ENOSYS : EINVAL;
    return {};
}

bool is_readable(int fd) noexcept {
    pollfd one{fd, POLLIN, 0};
    return fd >= 0 && poll(&one, 1, 0) == 1 && (one.revents & POLLIN) != 0;
}

bool is_hung_up(int socket) noexcept {
    pollfd one{socket, POLLRDHUP, 0};
    return poll(&one, 1, 0) == 1 && (one.revents & (POLLRDHUP | POLLHUP | POLLERR)) != 0;
}

bool is_all_read(int socket) noexcept {
    int unread = 1;
    return ioctl(socket, SIOCOUTQ, &unread) == 0 && unread == 0;
}

bool is_waker(int fd, int own) noexcept {
    struct stat here {}, there {};
    if (fstat(own, &here) != 0 || fstat(fd, &there) != 0) return false;
    const int flags = fcntl(fd, F_GETFL);
    return there.st_dev == here.st_dev && there.st_ino == here.st_ino &&
           (flags & O_NONBLOCK) != 0 && flags >= 0;
}

bool send_record(int socket, const void* record, std::size_t bytes,
                 std::span<const int> files) noexcept {
    FCI_ASSERT(files.size() <= Received::kFilesMax);
    iovec data{const_cast<void*>(record), bytes};
    alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int) * Received::kFilesMax)] = {};
    msghdr message{};
    message.msg_iov = &data;
    message.msg_iovlen = 1;
    if (!files.empty()) {
        message.msg_control = control;
        message.msg_controllen = CMSG_SPACE(files.size_bytes());
        cmsghdr* const header = CMSG_FIRSTHDR(&message);
        header->cmsg_level = SOL_SOCKET;
        header->cmsg_type = SCM_RIGHTS;
        header->cmsg_len = CMSG_LEN(files.size_bytes());
        std::memcpy(CMSG_DATA(header), files.data(), files.size_bytes());
    }
    ssize_t sent;
    do {
        sent = sendmsg(socket, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
    } while (sent < 0 && errno == EINTR);
    return sent == static_cast<ssize_t>(bytes);
}

bool is_shortage(int error) noexcept {
    return error == ETOOMANYREFS || error == ENOBUFS || error == ENOMEM || error == EAGAIN;
}

Reception receive_record(int socket, Received* received) noexcept {
    iovec data{received->bytes.data(), received->bytes.size()};
    alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int) * Received::kFilesMax)] = {};
    msghdr message{};
    message.msg_iov = &data;
    message.msg_iovlen = 1;
    message.msg_control = control;
    message.msg_controllen = sizeof control;
    ssize_t length;
    // A peer that closes without having read everything resets the connection. The kernel tells
    // that once, before the peer's last record, which is often the reason.
    do {
        length = recvmsg(socket, &message, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
    } while (length < 0 && (errno == EINTR || errno == ECONNRESET));
    if (length < 0) {
        return errno == EAGAIN || errno == EWOULDBLOCK ? Reception::nothing : Reception::closed;
    }
    received->file_count = 0;
    for (cmsghdr* header = CMSG_FIRSTHDR(&message); header != nullptr;
         header = CMSG_NXTHDR(&message, header)) {
        if (header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_RIGHTS) continue;
        const std::size_t count = (header->cmsg_len - CMSG_LEN(0)) / sizeof(int);
        for (std::size_t i = 0; i < count; ++i) {
            int fd;
            std::memcpy(&fd, CMSG_DATA(header) + i * sizeof fd, sizeof fd);
            host::Descriptor file(fd);
            if (received->file_count < Received::kFilesMax) {
                received->files[received->file_count++] = std::move(file);
            }
        }
    }
    received->files_cut = (message.msg_flags & MSG_CTRUNC) != 0;
    // An empty record is none of ours; it looks like the end and is treated so.
    if (length == 0) return Reception::closed;
    received->length = (message.msg_flags & MSG_TRUNC) != 0 ? 0 : static_cast<std::size_t>(length);
    return Reception::record;
}

bool is_here(const ddi::Card& card) noexcept { return card.host == htonl(INADDR_LOOPBACK); }

ddi::Card place_here(const ddi::Card& card) noexcept {
    ddi::Card here = card;
    here.family = AF_INET;
    bool own = card.host == 0 || host::is_loopback(card.host);
    ifaddrs* all = nullptr;
    if (!own && getifaddrs(&all) == 0) {
        for (const ifaddrs* one = all; one != nullptr; one = one->ifa_next) {
            if (one->ifa_addr == nullptr || one->ifa_addr->sa_family != AF_INET) continue;
            sockaddr_in address;
            std::memcpy(&address, one->ifa_addr, sizeof address);
            own = own || address.sin_addr.s_addr == card.host;
        }
        freeifaddrs(all);
    }
    if (own) here.host = htonl(INADDR_LOOPBACK);
    return here;
}

}  // namespace fci::shm
