// SPDX-License-Identifier: BSD-3-Clause
// Domain: what shares one lock. Every endpoint in it is a process of its own to the core.
#pragma once

#include <rdma/fi_domain.h>

#include <cstdint>
#include <vector>

#include "netmod/libfabric/channel.h"
#include "netmod/libfabric/guard.h"
#include "netmod/libfabric/region_table.h"
#include "netmod/libfabric/waiter.h"

namespace fci::libfabric {

class EventQueue;
class Fabric;

class Domain final : public fid_domain {
public:
    Domain(Fabric& fabric, const fi_info& info, void* context);

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
    /// Of endpoints that are enabled: what peers do to the domain's memory comes through any of
    /// them, so all of them feed the counters of regions.
    void add(Channel& channel);
    void remove(Channel& channel) noexcept;
    void watch(Waiter& counter);
    void forget(Waiter& counter) noexcept { std::erase(region_counters_, &counter); }
    void progress() noexcept;
    [[nodiscard]] const std::vector<Waiter*>& region_counters() const noexcept {
        return region_counters_;
    }

private:
    static int close(fid_t object);
    static int bind(fid_t object, fid_t other, std::uint64_t flags);

    Fabric& fabric_;
    Lock lock_;
    const std::uint32_t api_version_;
    const fi_av_type av_type_;
    const bool basic_regions_;
    std::vector<Channel*> channels_;
    std::vector<Waiter*> region_counters_;
    EventQueue* events_ = nullptr;
};

}  // namespace fci::libfabric
