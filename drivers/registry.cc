// The one explicit table of drivers, declared in ddi/driver.h: nothing above includes a driver.
#include <iterator>

#include "drivers/host/networks.h"
#include "drivers/node/node.h"
#include "drivers/shm/shm.h"
#include "drivers/tcp/tcp.h"
#include "fci_core/ddi/driver.h"

namespace fci::ddi {

namespace {

constexpr Driver kDrivers[] = {
    {"shm", "shared memory between the processes of one host", shm::probe_shm, shm::open_shm},
    {"node", "shared memory within a host, and TCP between hosts", node::probe_node,
     node::open_node},
    {"tcp", "any network that has TCP", tcp::probe_tcp, tcp::open_tcp},
};

}  // namespace

const Driver* driver(unsigned i) noexcept {
    return i < std::size(kDrivers) ? &kDrivers[i] : nullptr;
}

Networks networks(const NetworkRequest& request) { return host::networks_here(request); }

}  // namespace fci::ddi
