// SPDX-License-Identifier: BSD-3-Clause
// MemoryRegion: memory that peers may reach by its key. Any memory can be sent from and received
// into, so a registration that no peer may use does nothing.
#pragma once

#include <rdma/fi_domain.h>

#include <cstddef>
#include <cstdint>

#include "netmod/libfabric/region_table.h"

namespace fci::libfabric {

class Domain;

class MemoryRegion final : public fid_mr {
public:
    static fi_ops_mr operations;

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
    Region region_;
};

}  // namespace fci::libfabric
