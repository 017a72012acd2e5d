// SPDX-License-Identifier: BSD-3-Clause
// Ports of RDMA devices, as the kernel shows them.
#pragma once

#include <string>
#include <vector>

namespace fci::ucx {

struct Port {
    std::string name;   // "mlx5_0:1", as UCX_NET_DEVICES has it
    std::string state;  // "ACTIVE", "DOWN", ...
    [[nodiscard]] bool is_up() const noexcept { return state == "ACTIVE"; }
};

/// In the order of their names; none where the kernel has no RDMA.
std::vector<Port> ports(const std::string& folder = "/sys/class/infiniband");
/// The ports that are up, or why UCX has no RDMA here.
std::string rdma_text(const std::vector<Port>& ports);
/// The ports that are up, for a job that goes by TCP; empty: there is none.
std::string unused_text(const std::vector<Port>& ports);

}  // namespace fci::ucx
