// SPDX-License-Identifier: BSD-3-Clause
// RegionTable: the memory of a domain that peers may reach, by key.
#pragma once

#include <rdma/fabric.h>

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "netmod/libfabric/ranges.h"

namespace fci::libfabric {

class Counter;

/// Under the domain's lock.
struct Region {
    [[nodiscard]] bool contains(std::uint64_t address, std::uint64_t count) const noexcept {
        const std::uint64_t place = place_of(address);
        return address >= start && place <= bytes && count <= bytes - place;
    }
    [[nodiscard]] std::uint64_t place_of(std::uint64_t address) const noexcept {
        return address - start;
    }

    std::uint64_t access = 0;  // FI_REMOTE_READ, FI_REMOTE_WRITE
    std::vector<iovec> ranges{};
    std::uint64_t bytes = 0;
    std::uint64_t start = 0;  // peers' name of its first byte: 0, or its address (FI_MR_BASIC)
    std::uint64_t key = 0;
    unsigned holds = 0;         // data that still goes to it or comes from it
    Counter* counters[2] = {};  // of writes, of reads
};

class RegionTable {
public:
    /// nullptr: there is none with this key.
    [[nodiscard]] Region* find(std::uint64_t key) const noexcept {
        const auto found = by_key_.find(key);
        return found == by_key_.end() ? nullptr : found->second;
    }
    /// False: the key is taken.
    bool add(Region& region) { return by_key_.emplace(region.key, &region).second; }
    void remove(const Region& region) noexcept {
        if (find(region.key) == &region) by_key_.erase(region.key);
    }
    /// A key that nobody else has, for programs that leave the choice to the provider.
    [[nodiscard]] std::uint64_t own_key() noexcept {
        while (find(++last_own_key_) != nullptr) {
        }
        return last_own_key_;
    }

private:
    std::unordered_map<std::uint64_t, Region*> by_key_;
    std::uint64_t last_own_key_ = 0;
};

}  // namespace fci::libfabric
