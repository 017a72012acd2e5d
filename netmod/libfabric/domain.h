// Domain: what shares one lock. Every endpoint in it is a process of its own to the core.
#pragma once

#include <rdma/fi_domain.h>

#include <cstdint>
#include <vector>

#include "netmod/libfabric/guard.h"
#include "netmod/libfabric/memory_region.h"

namespace fci::libfabric {

class Counter;
class Endpoint;
class EventQueue;
class Fabric;

class Domain final : public fid_domain {
public:
    static int open(fid_fabric* fabric, fi_info* info, fid_domain** domain, void* context);
    static int open_with_flags(fid_fabric* fabric, fi_info* info, fid_domain** domain,
                               std::uint64_t flags, void* context);

    [[nodiscard]] static Domain& of(fid_domain* domain) noexcept {
        return *static_cast<Domain*>(domain);
    }

    [[nodiscard]] Lock& lock() noexcept { return lock_; }
    [[nodiscard]] std::uint32_t api_version() const noexcept { return api_version_; }
    [[nodiscard]] fi_av_type av_type() const noexcept { return av_type_; }
    /// FI_MR_BASIC: the provider picks the keys, and peers name virtual addresses.
    [[nodiscard]] bool basic_regions() const noexcept { return basic_regions_; }

    // Under the lock, from here on.
    unsigned children = 0;
    RegionTable regions;
    /// Endpoints that are enabled: what peers do to the domain's memory comes through any of them,
    /// so all of them feed the counters of regions.
    void add(Endpoint& endpoint);
    void remove(Endpoint& endpoint) noexcept;
    void watch(Counter& counter);
    void forget(Counter& counter) noexcept { std::erase(region_counters_, &counter); }
    void progress() noexcept;
    [[nodiscard]] const std::vector<Counter*>& region_counters() const noexcept {
        return region_counters_;
    }

private:
    Domain(Fabric& fabric, const fi_info& info, void* context);

    static int close(fid_t object);
    static int bind(fid_t object, fid_t other, std::uint64_t flags);
    static int endpoint_with_flags(fid_domain* domain, fi_info* info, fid_ep** endpoint,
                                   std::uint64_t flags, void* context);

    Fabric& fabric_;
    Lock lock_;
    const std::uint32_t api_version_;
    const fi_av_type av_type_;
    const bool basic_regions_;
    std::vector<Endpoint*> endpoints_;
    std::vector<Counter*> region_counters_;
    EventQueue* events_ = nullptr;
};

}  // namespace fci::libfabric
