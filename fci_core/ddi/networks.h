// SPDX-License-Identifier: BSD-3-Clause
// Networks: at which of its addresses a process listens, and why not at the others (§3.2.3).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace fci::ddi {

/// The way between hosts of the driver node. `automatic`: UCX where an RDMA port is up, to peers
/// that have it, too.
enum class Far : std::uint8_t { tcp, ucx, automatic };

/// The request by which that address is chosen.
struct NetworkRequest {
    std::string wanted;                   // FCI_NET: interface, pattern, subnet; empty: nothing
    std::vector<std::uint32_t> launcher;  // the launcher's IPv4 addresses, in network byte order
    Far far = Far::tcp;
    // More of each block, where a driver above tells peers with a tail how else they are reached.
    std::uint32_t tail_bytes = 0;
};

struct NetworkChoice {
    std::uint32_t host = 0;  // IPv4 address in network byte order; 0: there is none
    std::string place;       // "10.0.0.1 (eth0)", without the interface where that is unknown
    std::string reason;      // why this one and not the others: a line for people
};

/// One address of an interface, or an interface that has none.
struct NetworkRow {
    std::string interface, address;  // "eth0", "10.0.0.1/24"
    std::string why;                 // the reason for it, or against it
    bool chosen = false;
};

struct Networks {
    std::vector<NetworkRow> rows;
    NetworkChoice choice;
    std::string error;  // why there is no choice, and what to do
};

/// The networks of this host now, and the one that a process opened now takes
/// (drivers/registry.cc).
Networks networks(const NetworkRequest& request);

}  // namespace fci::ddi
