#include "netmod/libfabric/memory_region.h"

#include <new>

#include "netmod/libfabric/domain.h"
#include "netmod/libfabric/sheet.h"
#include "netmod/libfabric/stubs.h"

namespace fci::libfabric {

fi_ops_mr MemoryRegion::operations{sizeof(fi_ops_mr), register_bytes, register_vector,
                                   register_attributes};

MemoryRegion::MemoryRegion(Domain& domain, std::uint64_t requested_key, void* context)
    : domain_(domain) {
    static fi_ops fid_operations = fid_ops(close, bind, control);
    fid = {FI_CLASS_MR, context, &fid_operations};
    mem_desc = this;
    key = requested_key;
}

int MemoryRegion::make(fid_t object, std::uint64_t requested_key, fid_mr** region,
                       void* context) {
    Domain& domain = Domain::of(reinterpret_cast<fid_domain*>(object));
    auto* const made = new (std::nothrow) MemoryRegion(domain, requested_key, context);
    if (made == nullptr) return -FI_ENOMEM;
    Guard guard(domain.lock());
    ++domain.children;
    *region = made;
    return 0;
}

int MemoryRegion::register_bytes(fid_t domain, const void*, std::size_t, std::uint64_t,
                                 std::uint64_t, std::uint64_t requested_key, std::uint64_t,
                                 fid_mr** region, void* context) {
    return make(domain, requested_key, region, context);
}

int MemoryRegion::register_vector(fid_t domain, const iovec*, std::size_t count,
                                  std::uint64_t, std::uint64_t, std::uint64_t requested_key,
                                  std::uint64_t, fid_mr** region, void* context) {
    if (count > kIovLimit) return -FI_EINVAL;
    return make(domain, requested_key, region, context);
}

int MemoryRegion::register_attributes(fid_t domain, const fi_mr_attr* attributes,
                                      std::uint64_t, fid_mr** region) {
    if (attributes->iface != FI_HMEM_SYSTEM) return -FI_ENOSYS;
    if (attributes->iov_count > kIovLimit) return -FI_EINVAL;
    return make(domain, attributes->requested_key, region, attributes->context);
}

int MemoryRegion::close(fid_t object) {
    auto* const region = static_cast<MemoryRegion*>(reinterpret_cast<fid_mr*>(object));
    {
        Guard guard(region->domain_.lock());
        --region->domain_.children;
    }
    delete region;
    return 0;
}

int MemoryRegion::bind(fid_t, fid_t, std::uint64_t) { return 0; }

int MemoryRegion::control(fid_t, int command, void*) {
    return command == FI_ENABLE || command == FI_REFRESH ? 0 : -FI_ENOSYS;
}

}  // namespace fci::libfabric
