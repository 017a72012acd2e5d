// SPDX-License-Identifier: BSD-3-Clause
// The provider: what a program opens first, from the fabric to what lies in a domain.
#include <strings.h>

#include "netmod/libfabric/address_vector.h"
#include "netmod/libfabric/atomic.h"
#include "netmod/libfabric/completion_queue.h"
#include "netmod/libfabric/counter.h"
#include "netmod/libfabric/domain.h"
#include "netmod/libfabric/endpoint.h"
#include "netmod/libfabric/event_queue.h"
#include "netmod/libfabric/fabric.h"
#include "netmod/libfabric/info.h"
#include "netmod/libfabric/log.h"
#include "netmod/libfabric/memory_region.h"
#include "netmod/libfabric/stubs.h"

namespace fci::libfabric {

namespace {

int open_endpoint(fid_domain* domain, fi_info* info, fid_ep** endpoint, std::uint64_t flags,
                  void* context) {
    return flags == 0 ? Endpoint::open(domain, info, endpoint, context) : -FI_EOPNOTSUPP;
}

fi_ops_domain domain_operations{
    sizeof(fi_ops_domain), AddressVector::open, CompletionQueue::open, Endpoint::open,
    not_offered,           Counter::open,       not_offered,           not_offered,
    not_offered,           query_atomic,        not_offered,           open_endpoint,
};

int open_domain(fid_fabric* fabric, fi_info* info, fid_domain** domain, void* context) {
    if (info == nullptr || info->domain_attr == nullptr) return -FI_EINVAL;
    const char* const name = info->domain_attr->name;
    if (name != nullptr && strcasecmp(name, kName) != 0) return -FI_EINVAL;
    return no_throw([&] {
        *domain = new Domain(Fabric::of(fabric), *info, context);
        (*domain)->ops = &domain_operations;
        (*domain)->mr = &MemoryRegion::operations;
        return 0;
    });
}

int open_domain_with_flags(fid_fabric* fabric, fi_info* info, fid_domain** domain,
                           std::uint64_t flags, void* context) {
    return flags == 0 ? open_domain(fabric, info, domain, context) : -FI_EOPNOTSUPP;
}

int try_wait(fid_fabric*, fid_t* objects, int count) {
    for (int i = 0; i < count; ++i) {
        switch (objects[i]->fclass) {
            case FI_CLASS_CQ: {
                CompletionQueue& queue = CompletionQueue::of(objects[i]);
                Guard guard(queue.domain().lock());
                if (!queue.empty() || !queue.waiter().try_wait()) return -FI_EAGAIN;
                break;
            }
            case FI_CLASS_CNTR: {
                Counter& counter = Counter::of(objects[i]);
                Guard guard(counter.domain().lock());
                if (!counter.try_wait()) return -FI_EAGAIN;
                break;
            }
            case FI_CLASS_EQ:
                if (!EventQueue::of(objects[i]).empty()) return -FI_EAGAIN;
                break;
            default:
                return -FI_EINVAL;
        }
    }
    return 0;
}

fi_ops_fabric fabric_operations{
    sizeof(fi_ops_fabric),  open_domain, not_offered, EventQueue::open, not_offered, try_wait,
    open_domain_with_flags,
};

int open_fabric(fi_fabric_attr* attributes, fid_fabric** fabric, void* context) {
    if (attributes == nullptr || attributes->name == nullptr) return -FI_EINVAL;
    if (strcasecmp(attributes->name, kName) != 0) return -FI_ENODATA;
    return no_throw([&] {
        *fabric = new Fabric(attributes->api_version, context);
        (*fabric)->ops = &fabric_operations;
        return 0;
    });
}

}  // namespace

// Nothing to clean up: no thread, nothing allocated; contexts are closed with their endpoints.
fi_provider provider{
    .version = FI_VERSION(0, 1),
    .fi_version = FI_VERSION(FI_MAJOR_VERSION, FI_MINOR_VERSION),
    .context = {},
    .name = kName,
    .getinfo = get_info,
    .fabric = open_fabric,
    .cleanup = [] {},
};

}  // namespace fci::libfabric

// A provider older than the version that a program asks for is skipped by libfabric. All structures
// that it shares with us only grew at their tails, which are never touched here, so the version of
// the running library is ours too.
extern "C" __attribute__((visibility("default"))) fi_provider* fi_prov_ini(void) {
    fci::libfabric::provider.fi_version = fi_version();
    return &fci::libfabric::provider;
}
