// SPDX-License-Identifier: BSD-3-Clause
// The choice of the address at which a process listens, without a look at the host: physical before
// virtual, then towards the launcher, then by the default route, then by name.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "drivers/host/interface.h"
#include "fci_core/ddi/networks.h"

namespace fci::host {

/// The host's networks as the kernel describes them, addresses in network byte order.
struct Surroundings {
    /// One of the launcher's addresses, and the own address with which packets leave for it.
    struct Way {
        std::uint32_t launcher = 0, own = 0;
    };

    std::vector<Interface> interfaces;
    std::vector<Way> ways;
    std::uint32_t default_own = 0;  // own address of packets by the default route; 0: no such route
};

/// `wanted`: FCI_NET; empty: not set. Without it no loopback address is taken, none that an
/// interface gave itself, and none of an interface that is down; if no other is left, 127.0.0.1.
ddi::Networks choose(const Surroundings& surroundings, const std::string& wanted);

}  // namespace fci::host
