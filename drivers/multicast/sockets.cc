// SPDX-License-Identifier: BSD-3-Clause
#include "drivers/multicast/sockets.h"

#include <linux/filter.h>
#include <netinet/in.h>
#include <netinet/udp.h>
#include <sys/socket.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <vector>

#include "drivers/host/interfaces.h"
#include "drivers/multicast/datagram.h"
#include "fci_core/base/assert.h"

namespace fci::multicast {

namespace {

constexpr unsigned kHops = 1;  // hints stay in this network

template <class Value>
bool set(int socket, int level, int name, const Value& value) noexcept {
    return setsockopt(socket, level, name, &value, sizeof value) == 0;
}

sockaddr_in address_of(std::uint32_t host, std::uint16_t port) noexcept {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = host;
    return address;
}

/// Datagrams of other jobs at this address are dropped before they take room. The filter sees UDP's
/// header of 8 bytes first, and words in network byte order.
bool filter(int socket, std::uint32_t cookie) noexcept {
    sock_filter code[] = {BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 8 + offsetof(Heading, cookie)),
                          BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, ntohl(cookie), 0, 1),
                          BPF_STMT(BPF_RET | BPF_K, 0xffff), BPF_STMT(BPF_RET | BPF_K, 0)};
    const sock_fprog program{static_cast<unsigned short>(std::size(code)), code};
    return set(socket, SOL_SOCKET, SO_ATTACH_FILTER, program);
}

}  // namespace

bool Sockets::check_interface(std::string* why) const {
    std::vector<host::Interface> all;
    if (!host::read_interfaces(&all, why)) return false;
    for (const host::Interface& one : all) {
        const bool is_it = std::ranges::any_of(
            one.addresses, [&](const auto& address) { return address.host == own_; });
        const bool is_loopback = one.is_loopback && host::is_loopback_address(own_);
        if (!is_it && !is_loopback) continue;
        if (!one.has_multicast && !one.is_loopback) {
            *why = "the interface " + one.name + " has no multicast (ip link set " + one.name +
                   " multicast on)";
        } else if (one.mtu < static_cast<int>(kDatagramMost) + 28) {
            *why = "the interface " + one.name + " takes packets of " + std::to_string(one.mtu) +
                   " bytes at most, and hints have " + std::to_string(kDatagramMost + 28);
        } else {
            return true;
        }
        return false;
    }
    *why = "no interface here has the address at which this process listens";
    return false;
}

bool Sockets::open_to_send(std::string* why) {
    if (can_send()) return true;
    if (!check_interface(why)) return false;
    host::Descriptor made(::socket(AF_INET, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
    const sockaddr_in to = address_of(place_.host, place_.port);
    const in_addr own{own_};
    // Members on this host get the data by shared memory.
    const bool is_ready = made && set(made.get(), IPPROTO_IP, IP_MULTICAST_IF, own) &&
                          set(made.get(), IPPROTO_IP, IP_MULTICAST_TTL, int{kHops}) &&
                          set(made.get(), IPPROTO_IP, IP_MULTICAST_LOOP, int{0}) &&
                          ::connect(made.get(), reinterpret_cast<const sockaddr*>(&to),
                                    sizeof to) == 0;
    if (is_ready) {
        mouth_ = std::move(made);
    } else {
        *why = host::system_text("cannot send by multicast");
    }
    return is_ready;
}

/// Bound to the group's address: else it would hear groups that other processes have joined.
bool Sockets::listen(unsigned lane) noexcept {
    host::Descriptor made(::socket(AF_INET, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
    const sockaddr_in at = address_of(place_.host, static_cast<std::uint16_t>(place_.port + lane));
    const ip_mreqn membership{{place_.host}, {own_}, 0};
    if (!made || !set(made.get(), SOL_SOCKET, SO_REUSEADDR, 1) ||
        !set(made.get(), IPPROTO_IP, IP_MULTICAST_ALL, 0) || !filter(made.get(), place_.cookie) ||
        ::bind(made.get(), reinterpret_cast<const sockaddr*>(&at), sizeof at) != 0 ||
        !set(made.get(), IPPROTO_IP, IP_ADD_MEMBERSHIP, membership)) {
        return false;
    }
    // As much as the kernel gives (net.core.rmem_max).
    (void)set(made.get(), SOL_SOCKET, SO_RCVBUF, std::numeric_limits<int>::max() / 2);
    (void)set(made.get(), IPPROTO_UDP, UDP_GRO, 1);  // since Linux 5.0
    int room = 0;
    socklen_t bytes = sizeof room;
    (void)::getsockopt(made.get(), SOL_SOCKET, SO_RCVBUF, &room, &bytes);
    room_ = static_cast<std::size_t>(std::max(room, 0));
    ears_[lane] = std::move(made);
    return true;
}

bool Sockets::open_to_hear(std::string* why) {
    if (can_hear()) return true;
    if (!check_interface(why)) return false;
    for (unsigned lane = 0; lane < kLanes; ++lane) {
        if (listen(lane)) continue;
        *why = host::system_text("cannot hear multicast");
        close_ears();
        return false;
    }
    return true;
}

void Sockets::close_ears() noexcept {
    for (host::Descriptor& ear : ears_) ear.close();
}

void Sockets::close() noexcept {
    close_ears();
    mouth_.close();
}

ssize_t Sockets::send(unsigned lane, std::span<const std::byte> bytes,
                      std::size_t segment) noexcept {
    FCI_ASSERT(can_send() && lane < kLanes && segment <= kDatagramMost);
    sockaddr_in to = address_of(place_.host, static_cast<std::uint16_t>(place_.port + lane));
    iovec range{const_cast<std::byte*>(bytes.data()), bytes.size()};
    msghdr message{};
    message.msg_iov = &range;
    message.msg_iovlen = 1;
    if (lane != 0) {  // else that to which it is connected
        message.msg_name = &to;
        message.msg_namelen = sizeof to;
    }
    alignas(cmsghdr) char control[CMSG_SPACE(sizeof(std::uint16_t))] = {};
    if (segment != 0) {
        message.msg_control = control;
        message.msg_controllen = sizeof control;
        cmsghdr* const told = CMSG_FIRSTHDR(&message);
        told->cmsg_level = IPPROTO_UDP;
        told->cmsg_type = UDP_SEGMENT;
        told->cmsg_len = CMSG_LEN(sizeof(std::uint16_t));
        const auto each = static_cast<std::uint16_t>(segment);
        std::memcpy(CMSG_DATA(told), &each, sizeof each);
    }
    const ssize_t sent = ::sendmsg(mouth_.get(), &message, MSG_DONTWAIT | MSG_NOSIGNAL);
    return sent < 0 ? -errno : sent;
}

int Sockets::receive(unsigned lane, std::span<std::byte> to, Received* received) noexcept {
    FCI_ASSERT(can_hear() && lane < kLanes);
    iovec range{to.data(), to.size()};
    sockaddr_in from{};
    alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
    msghdr message{};
    message.msg_name = &from;
    message.msg_namelen = sizeof from;
    message.msg_iov = &range;
    message.msg_iovlen = 1;
    message.msg_control = control;
    message.msg_controllen = sizeof control;
    const ssize_t got = ::recvmsg(ears_[lane].get(), &message, MSG_DONTWAIT);
    if (got < 0) return -errno;
    const auto bytes = static_cast<std::size_t>(got);
    *received = {to.first(bytes), bytes, from.sin_addr.s_addr};
    for (cmsghdr* told = CMSG_FIRSTHDR(&message); told != nullptr;
         told = CMSG_NXTHDR(&message, told)) {
        if (told->cmsg_level != IPPROTO_UDP || told->cmsg_type != UDP_GRO) continue;
        int each = 0;
        std::memcpy(&each, CMSG_DATA(told), sizeof each);
        if (each > 0) received->segment = static_cast<std::size_t>(each);
    }
    return 0;
}

}  // namespace fci::multicast
