// SPDX-License-Identifier: BSD-3-Clause
#include "netmod/libfabric/memory_region.h"

#include <memory>

#include "netmod/libfabric/counter.h"
#include "netmod/libfabric/domain.h"
#include "netmod/libfabric/sheet.h"
#include "netmod/libfabric/stubs.h"
#include "netmod/libfabric/waiter.h"

namespace fci::libfabric {

namespace {

constexpr std::uint64_t kRemoteAccess = FI_REMOTE_READ | FI_REMOTE_WRITE;
/// How long closing waits for data that is under way; a peer may have been stopped.
constexpr int kCloseMs = 1000;

}  // namespace

fi_ops_mr MemoryRegion::operations{sizeof(fi_ops_mr), register_bytes, register_vector,
                                   register_attributes};

MemoryRegion::MemoryRegion(Domain& domain, const Wish& wish)
    : domain_(domain), region_{wish.access, {wish.ranges, wish.ranges + wish.count}} {
    static fi_ops fid_operations = fid_ops(close, bind, control);
    fid = {FI_CLASS_MR, wish.context, &fid_operations};
    mem_desc = this;
    key = region_.key = wish.key;
}

int MemoryRegion::make(fid_t object, const Wish& wish, fid_mr** region) {
    if (wish.count > kIovLimit) return -FI_EINVAL;
    return no_throw([&] {
        Domain& domain = Domain::of(reinterpret_cast<fid_domain*>(object));
        std::unique_ptr<MemoryRegion> made(new MemoryRegion(domain, wish));
        if (!total_of(made->region_.ranges, &made->region_.bytes)) return -FI_EINVAL;
        Guard guard(domain.lock());
        if (domain.basic_regions()) {
            made->key = made->region_.key = domain.regions.own_key();
            const void* const first = wish.count == 0 ? nullptr : wish.ranges[0].iov_base;
            made->region_.start = reinterpret_cast<std::uint64_t>(first);
        }
        const bool reachable = (wish.access & kRemoteAccess) != 0;
        if (reachable && !domain.regions.add(made->region_)) return -FI_ENOKEY;
        ++domain.children;
        *region = made.release();
        return 0;
    });
}

int MemoryRegion::register_bytes(fid_t domain, const void* data, std::size_t bytes,
                                 std::uint64_t access, std::uint64_t, std::uint64_t requested_key,
                                 std::uint64_t, fid_mr** region, void* context) {
    const iovec range{const_cast<void*>(data), bytes};
    return make(domain, {&range, 1, access, requested_key, context}, region);
}

int MemoryRegion::register_vector(fid_t domain, const iovec* ranges, std::size_t count,
                                  std::uint64_t access, std::uint64_t, std::uint64_t requested_key,
                                  std::uint64_t, fid_mr** region, void* context) {
    return make(domain, {ranges, count, access, requested_key, context}, region);
}

int MemoryRegion::register_attributes(fid_t domain, const fi_mr_attr* attributes, std::uint64_t,
                                      fid_mr** region) {
    if (attributes->iface != FI_HMEM_SYSTEM) return -FI_ENOSYS;
    return make(domain,
                {attributes->mr_iov, attributes->iov_count, attributes->access,
                 attributes->requested_key, attributes->context},
                region);
}

/// From here on peers are refused; what was granted before is waited for. -FI_EBUSY: that takes too
/// long, so the memory must stay, and closing be tried again.
int MemoryRegion::close(fid_t object) {
    auto* const self = static_cast<MemoryRegion*>(reinterpret_cast<fid_mr*>(object));
    Domain& domain = self->domain_;
    Region& region = self->region_;
    {
        Guard guard(domain.lock());
        domain.regions.remove(region);
        const Deadline deadline(kCloseMs);
        while (region.holds != 0 && !deadline.over()) domain.progress();
        if (region.holds != 0) return -FI_EBUSY;
        for (Counter* counter : region.counters) {
            if (counter != nullptr) --counter->waiter().users;
        }
        --domain.children;
    }
    delete self;
    return 0;
}

/// Endpoints need no binding: a region can be reached through all of its domain.
int MemoryRegion::bind(fid_t object, fid_t other, std::uint64_t flags) {
    auto* const region = static_cast<MemoryRegion*>(reinterpret_cast<fid_mr*>(object));
    if (other->fclass == FI_CLASS_EP) return 0;
    if (other->fclass != FI_CLASS_CNTR) return -FI_EINVAL;
    if ((flags & ~kRemoteAccess) != 0 || (flags & kRemoteAccess) == 0) return -FI_EBADFLAGS;
    return no_throw([&] {
        Counter& counter = Counter::of(other);
        Guard guard(region->domain_.lock());
        if (&counter.domain() != &region->domain_) return -FI_EINVAL;
        for (const bool reads : {false, true}) {
            if ((flags & (reads ? FI_REMOTE_READ : FI_REMOTE_WRITE)) == 0) continue;
            if (region->region_.counters[reads] != nullptr) return -FI_EINVAL;
        }
        region->domain_.watch(counter.waiter());
        for (const bool reads : {false, true}) {
            if ((flags & (reads ? FI_REMOTE_READ : FI_REMOTE_WRITE)) == 0) continue;
            region->region_.counters[reads] = &counter;
            ++counter.waiter().users;
        }
        return 0;
    });
}

int MemoryRegion::control(fid_t, int command, void*) {
    return command == FI_ENABLE || command == FI_REFRESH ? 0 : -FI_ENOSYS;
}

}  // namespace fci::libfabric
