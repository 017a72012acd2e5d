// SPDX-License-Identifier: BSD-3-Clause
// Fabric: the root of what a program opens.
#pragma once

#include <rdma/fabric.h>

#include <atomic>
#include <cstdint>

namespace fci::libfabric {

class Fabric final : public fid_fabric {
public:
    Fabric(std::uint32_t version, void* context);

    [[nodiscard]] static Fabric& of(fid_fabric* fabric) noexcept {
        return *static_cast<Fabric*>(fabric);
    }

    /// Domains and event queues that hang on it.
    void use(int by) noexcept { children_ += by; }

private:
    static int close(fid_t object);

    std::atomic<int> children_{0};
};

}  // namespace fci::libfabric
