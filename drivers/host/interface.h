// SPDX-License-Identifier: BSD-3-Clause
// Interface: one network interface as the kernel describes it, without a judgement.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace fci::host {

struct Interface {
    /// IPv4, in network byte order.
    struct Address {
        std::uint32_t host = 0;
        unsigned prefix_bits = 32;
    };

    int index = 0;  // 1 or more
    std::string name;
    std::string kind;  // "veth", "bridge"; empty: hardware, or a kernel that does not tell
    bool is_up = false;
    bool has_link = false;  // a cable or a peer is at the other end
    bool is_loopback = false;
    bool has_multicast = false;
    int mtu = 0;  // bytes of a packet at most
    bool is_hardware_type = false;      // Ethernet or InfiniBand, not a tunnel
    int parent = 0;                     // index of the one that it is made on; 0: none
    bool has_parent_elsewhere = false;  // in another network namespace
    int master = 0;                     // index of the bond or bridge that it is part of; 0: none
    bool has_ipv6 = false;              // an address that is not only for its link
    std::vector<Address> addresses;
};

/// One in 127.0.0.0/8.
inline bool is_loopback_address(std::uint32_t host) noexcept {
    return reinterpret_cast<const unsigned char*>(&host)[0] == 127;
}

/// One in 169.254.0.0/16, which an interface gave itself.
inline bool is_link_local(std::uint32_t host) noexcept {
    const auto* const bytes = reinterpret_cast<const unsigned char*>(&host);
    return bytes[0] == 169 && bytes[1] == 254;
}

}  // namespace fci::host
