// SPDX-License-Identifier: BSD-3-Clause
// The one explicit table of drivers, declared in ddi/driver.h: nothing above includes a driver.
#include <iterator>
#include <string>

#include "drivers/host/libcrypto.h"
#include "drivers/host/networks.h"
#include "drivers/node/node.h"
#include "drivers/shm/shm.h"
#include "drivers/tcp/tcp.h"
#include "drivers/ucx/ucx.h"
#include "fci_core/ddi/driver.h"

namespace fci::ddi {

namespace {

constexpr Driver kDrivers[] = {
    {"shm", "shared memory between the processes of one host", shm::probe_shm, shm::open_shm},
    {"node", "shared memory within a host, TCP or UCX between hosts", node::probe_node,
     node::open_node},
    {"tcp", "any network that has TCP", tcp::probe_tcp, tcp::open_tcp},
    {"ucx", "RDMA networks by UCX: InfiniBand and RoCE", ucx::probe_ucx, ucx::open_ucx},
};

}  // namespace

const Driver* driver(unsigned i) noexcept {
    return i < std::size(kDrivers) ? &kDrivers[i] : nullptr;
}

/// Multicast needs a library besides, which a process opens only when it has a group over hosts.
Networks networks(const NetworkRequest& request) {
    Networks found = host::networks_here(request);
    std::string why;
    if (found.choice.host == 0 || host::Libcrypto::open(&why)) return found;
    const std::string text = ", without multicast (OpenSSL's library cannot be used: " + why + ")";
    for (NetworkRow& row : found.rows) {
        if (row.chosen) row.why += text;
    }
    found.choice.reason += text;
    return found;
}

}  // namespace fci::ddi
