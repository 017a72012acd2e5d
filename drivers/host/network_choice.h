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

/// What the kernel says, addresses in network byte order.
struct Surroundings {
    /// One of the launcher's addresses, and with which of the own ones packets leave for it.
    struct Way {
        std::uint32_t launcher = 0, own = 0;
    };

    std::vector<Interface> interfaces;
    std::vector<Way> ways;
    std::uint32_t default_own = 0;  // with which packets leave by the default route; 0: none does
};

/// `wanted`: what FCI_NET says; empty: nothing. Without it neither loopback, nor what an interface
/// gave itself, nor what is down is taken, and 127.0.0.1 where nothing else is there.
ddi::Networks choose(const Surroundings& surroundings, const std::string& wanted);

}  // namespace fci::host
