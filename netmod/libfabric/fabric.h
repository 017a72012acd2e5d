// Fabric: the root of what a program opens.
#pragma once

#include <rdma/fabric.h>

#include <atomic>
#include <cstdint>

namespace fci::libfabric {

class Fabric final : public fid_fabric {
public:
    static int open(fi_fabric_attr* attributes, fid_fabric** fabric, void* context);

    [[nodiscard]] static Fabric& of(fid_fabric* fabric) noexcept {
        return *static_cast<Fabric*>(fabric);
    }

    /// Domains and event queues that hang on it.
    void use(int by) noexcept { children_ += by; }

private:
    Fabric(std::uint32_t version, void* context);

    static int close(fid_t object);
    static int try_wait(fid_fabric* fabric, fid_t* objects, int count);

    std::atomic<int> children_{0};
};

}  // namespace fci::libfabric
