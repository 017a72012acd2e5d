// MemoryRegion: memory that peers may reach by its key. Any memory can be sent from and received
// into, so a registration that no peer may use does nothing.
#pragma once

#include <rdma/fi_domain.h>

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "netmod/libfabric/ranges.h"

namespace fci::libfabric {

class Counter;
class Domain;

class MemoryRegion final : public fid_mr {
public:
    static fi_ops_mr operations;

    // For the server of a domain's regions, under the lock:
    [[nodiscard]] std::uint64_t access() const noexcept { return access_; }
    [[nodiscard]] Ranges ranges() const noexcept { return ranges_; }
    /// Peers count from the region's start, or name virtual addresses (FI_MR_BASIC).
    [[nodiscard]] bool contains(std::uint64_t address, std::uint64_t bytes) const noexcept {
        const std::uint64_t place = place_of(address);
        return address >= start_ && place <= bytes_ && bytes <= bytes_ - place;
    }
    [[nodiscard]] std::uint64_t place_of(std::uint64_t address) const noexcept {
        return address - start_;
    }
    [[nodiscard]] Counter* counter(bool of_reads) const noexcept { return counters_[of_reads]; }
    /// Data still goes to it or comes from it.
    void hold() noexcept { ++holds_; }
    void release() noexcept { --holds_; }

private:
    struct Wish {
        const iovec* ranges;
        std::size_t count;
        std::uint64_t access, key;
        void* context;
    };

    MemoryRegion(Domain& domain, const Wish& wish);

    static int close(fid_t object);
    static int bind(fid_t object, fid_t other, std::uint64_t flags);
    static int control(fid_t object, int command, void* argument);
    static int make(fid_t domain, const Wish& wish, fid_mr** region);
    static int register_bytes(fid_t domain, const void* data, std::size_t bytes,
                              std::uint64_t access, std::uint64_t offset,
                              std::uint64_t requested_key, std::uint64_t flags, fid_mr** region,
                              void* context);
    static int register_vector(fid_t domain, const iovec* ranges, std::size_t count,
                               std::uint64_t access, std::uint64_t offset,
                               std::uint64_t requested_key, std::uint64_t flags, fid_mr** region,
                               void* context);
    static int register_attributes(fid_t domain, const fi_mr_attr* attributes, std::uint64_t flags,
                                   fid_mr** region);

    Domain& domain_;
    const std::uint64_t access_;
    std::vector<iovec> ranges_;
    std::uint64_t bytes_ = 0;
    std::uint64_t start_ = 0;
    unsigned holds_ = 0;
    Counter* counters_[2] = {};  // of writes, of reads
};

/// The regions of a domain that peers may reach.
class RegionTable {
public:
    /// nullptr: there is none with this key.
    [[nodiscard]] MemoryRegion* find(std::uint64_t key) const noexcept {
        const auto found = by_key_.find(key);
        return found == by_key_.end() ? nullptr : found->second;
    }
    /// False: the key is taken.
    bool add(MemoryRegion& region) { return by_key_.emplace(region.key, &region).second; }
    void remove(const MemoryRegion& region) noexcept {
        if (find(region.key) == &region) by_key_.erase(region.key);
    }
    /// A key that nobody else has, for programs that leave the choice to the provider.
    [[nodiscard]] std::uint64_t own_key() noexcept {
        while (find(++last_own_key_) != nullptr) {
        }
        return last_own_key_;
    }

private:
    std::unordered_map<std::uint64_t, MemoryRegion*> by_key_;
    std::uint64_t last_own_key_ = 0;
};

}  // namespace fci::libfabric
