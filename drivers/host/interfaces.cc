// SPDX-License-Identifier: BSD-3-Clause
#include "drivers/host/interfaces.h"

#include <linux/if_link.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <net/if_arp.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/time.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>
#include <span>

#include "drivers/host/descriptor.h"
#include "fci_core/base/assert.h"

namespace fci::host {

namespace {

using Bytes = std::span<const std::byte>;

constexpr unsigned kAttempts = 3;                 // of a list that changed while it was read
constexpr unsigned kMessagesMost = 4096;          // of such a list, each with several entries
constexpr std::size_t kMessageBytes = 64 * 1024;  // the kernel's have 32 KiB at most

static_assert(kMessageBytes >= 32 * 1024, "a message that does not fit is lost");
static_assert(sizeof(ifinfomsg) == NLMSG_ALIGN(sizeof(ifinfomsg)) &&
                  sizeof(ifaddrmsg) == NLMSG_ALIGN(sizeof(ifaddrmsg)),
              "attributes follow at once");
static_assert(NLMSG_HDRLEN == sizeof(nlmsghdr) && NLMSG_ALIGNTO == RTA_ALIGNTO);

template <class T>
bool take(Bytes bytes, T* value) noexcept {
    if (bytes.size() < sizeof *value) return false;
    std::memcpy(value, bytes.data(), sizeof *value);
    return true;
}

/// Calls use(type, content) for each attribute of a message.
template <class Use>
void for_each_attribute(Bytes bytes, Use use) {
    rtattr head{};
    while (take(bytes, &head) && head.rta_len >= sizeof head && head.rta_len <= bytes.size()) {
        use(head.rta_type & NLA_TYPE_MASK, bytes.subspan(sizeof head, head.rta_len - sizeof head));
        bytes = bytes.subspan(std::min<std::size_t>(RTA_ALIGN(head.rta_len), bytes.size()));
    }
}

std::string text_of(Bytes bytes) {
    const auto* const begin = reinterpret_cast<const char*>(bytes.data());
    return {begin, strnlen(begin, bytes.size())};
}

int number_of(Bytes bytes) noexcept {
    std::int32_t number = 0;
    return take(bytes, &number) ? number : 0;
}

void add_link(Bytes content, std::vector<Interface>* interfaces) {
    ifinfomsg link{};
    if (!take(content, &link) || link.ifi_index <= 0) return;
    Interface& added = interfaces->emplace_back();
    added.index = link.ifi_index;
    added.is_up = (link.ifi_flags & IFF_UP) != 0;
    added.has_link = (link.ifi_flags & IFF_RUNNING) != 0;  // a second late, unlike CARRIER
    added.is_loopback = (link.ifi_flags & IFF_LOOPBACK) != 0;
    added.has_multicast = (link.ifi_flags & IFF_MULTICAST) != 0;
    added.is_hardware_type = link.ifi_type == ARPHRD_ETHER || link.ifi_type == ARPHRD_INFINIBAND;
    for_each_attribute(content.subspan(sizeof link), [&](int type, Bytes value) {
        if (type == IFLA_IFNAME) added.name = text_of(value);
        if (type == IFLA_CARRIER && !value.empty()) added.has_link = value[0] != std::byte{0};
        if (type == IFLA_MTU) added.mtu = number_of(value);
        if (type == IFLA_MASTER) added.master = number_of(value);
        if (type == IFLA_LINK && number_of(value) != added.index) added.parent = number_of(value);
        if (type == IFLA_LINK_NETNSID) added.has_parent_elsewhere = true;
        if (type != IFLA_LINKINFO) return;
        for_each_attribute(value, [&](int inner, Bytes kind) {
            if (inner == IFLA_INFO_KIND) added.kind = text_of(kind);
        });
    });
    if (added.has_parent_elsewhere) added.parent = 0;  // an index of that other namespace
}

void add_address(Bytes content, std::vector<Interface>* interfaces) {
    ifaddrmsg head{};
    if (!take(content, &head)) return;
    const auto owner =
        std::ranges::find(*interfaces, static_cast<int>(head.ifa_index), &Interface::index);
    if (owner == interfaces->end()) return;
    if (head.ifa_family == AF_INET6 && head.ifa_scope == RT_SCOPE_UNIVERSE) owner->has_ipv6 = true;
    if (head.ifa_family != AF_INET) return;
    Interface::Address address{0, head.ifa_prefixlen};
    for_each_attribute(content.subspan(sizeof head), [&](int type, Bytes value) {
        // Of a line between two, ADDRESS is the other end's; else both are the same.
        if (type == IFA_LOCAL || (type == IFA_ADDRESS && address.host == 0)) {
            (void)take(value, &address.host);
        }
    });
    if (address.host != 0) owner->addresses.push_back(address);
}

/// A socket by which the kernel lists what it has.
class Lister {
public:
    enum class End : std::uint8_t { complete, changed, failed };

    Lister() : socket_(::socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE)) {
        const timeval patience{.tv_sec = 2, .tv_usec = 0};
        (void)setsockopt(socket_.get(), SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    }

    /// Calls add(content) for each entry of the list that `question` asks for.
    template <class Add>
    End list(std::uint16_t question, Add add) {
        struct {
            nlmsghdr head;
            rtgenmsg family;
        } request{};
        request.head.nlmsg_len = NLMSG_LENGTH(sizeof request.family);
        request.head.nlmsg_type = question;
        request.head.nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP;
        request.head.nlmsg_seq = ++sequence_;
        if (::send(socket_.get(), &request, request.head.nlmsg_len, 0) < 0) return End::failed;
        bool changed = false;
        for (unsigned i = 0; i < kMessagesMost; ++i) {
            const ssize_t got = ::recv(socket_.get(), buffer_.data(), buffer_.size(), MSG_TRUNC);
            if (got < 0 && errno == EINTR) continue;
            if (got <= 0) return End::failed;
            errno = EMSGSIZE;
            if (static_cast<std::size_t>(got) > buffer_.size()) return End::failed;
            Bytes rest(buffer_.data(), static_cast<std::size_t>(got));
            nlmsghdr head{};
            while (take(rest, &head) && head.nlmsg_len >= sizeof head &&
                   head.nlmsg_len <= rest.size()) {
                const Bytes content = rest.subspan(sizeof head, head.nlmsg_len - sizeof head);
                const std::size_t used = NLMSG_ALIGN(head.nlmsg_len);
                rest = rest.subspan(std::min(used, rest.size()));
                if (head.nlmsg_seq != sequence_) continue;  // of a list that was given up
                changed = changed || (head.nlmsg_flags & NLM_F_DUMP_INTR) != 0;
                if (head.nlmsg_type == NLMSG_DONE) return changed ? End::changed : End::complete;
                if (head.nlmsg_type == NLMSG_ERROR) {
                    errno = -number_of(content);
                    return End::failed;
                }
                add(content);
            }
        }
        return End::failed;
    }

private:
    Descriptor socket_;
    std::uint32_t sequence_ = 0;
    std::vector<std::byte> buffer_ = std::vector<std::byte>(kMessageBytes);
};

}  // namespace

bool read_interfaces(std::vector<Interface>* interfaces, std::string* error) {
    Lister lister;
    for (unsigned attempt = 0; attempt < kAttempts; ++attempt) {
        interfaces->clear();
        Lister::End end =
            lister.list(RTM_GETLINK, [&](Bytes entry) { add_link(entry, interfaces); });
        if (end == Lister::End::complete) {
            end = lister.list(RTM_GETADDR, [&](Bytes entry) { add_address(entry, interfaces); });
        }
        if (end == Lister::End::complete) return true;
        if (end == Lister::End::failed) break;
        errno = EAGAIN;
    }
    *error = system_text("the kernel does not list its network interfaces (rtnetlink)");
    return false;
}

std::uint32_t address_towards(std::uint32_t host) noexcept {
    const Descriptor socket(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(9);  // discard; without a port there is nothing to connect to
    address.sin_addr.s_addr = host;
    auto* const generic = reinterpret_cast<sockaddr*>(&address);
    socklen_t bytes = sizeof address;
    if (!socket || ::connect(socket.get(), generic, bytes) != 0 ||
        getsockname(socket.get(), generic, &bytes) != 0) {
        return 0;
    }
    FCI_ASSERT(bytes == sizeof address);
    return address.sin_addr.s_addr;
}

}  // namespace fci::host
