#include "netmod/libfabric/domain.h"

#include <strings.h>

#include <algorithm>

#include "netmod/libfabric/address_vector.h"
#include "netmod/libfabric/atomic.h"
#include "netmod/libfabric/completion_queue.h"
#include "netmod/libfabric/counter.h"
#include "netmod/libfabric/endpoint.h"
#include "netmod/libfabric/event_queue.h"
#include "netmod/libfabric/fabric.h"
#include "netmod/libfabric/memory_region.h"
#include "netmod/libfabric/provider.h"
#include "netmod/libfabric/sheet.h"
#include "netmod/libfabric/stubs.h"

namespace fci::libfabric {

Domain::Domain(Fabric& fabric, const fi_info& info, void* context)
    : fabric_(fabric),
      // All weaker promises than FI_THREAD_DOMAIN let two threads meet in an address vector.
      lock_(info.domain_attr->threading != FI_THREAD_DOMAIN),
      api_version_(fabric.api_version),
      av_type_(info.domain_attr->av_type == FI_AV_UNSPEC ? FI_AV_TABLE : info.domain_attr->av_type),
      basic_regions_(info.domain_attr->mr_mode == kBasicRegions) {
    static fi_ops fid_operations = fid_ops(close, bind);
    static fi_ops_domain operations{
        sizeof(fi_ops_domain), AddressVector::open, CompletionQueue::open, Endpoint::open,
        not_offered,           Counter::open,       not_offered,           not_offered,
        not_offered,           query_atomic,        not_offered,           endpoint_with_flags,
    };
    fid = {FI_CLASS_DOMAIN, context, &fid_operations};
    ops = &operations;
    mr = &MemoryRegion::operations;
}

int Domain::open(fid_fabric* fabric, fi_info* info, fid_domain** domain, void* context) {
    if (info == nullptr || info->domain_attr == nullptr) return -FI_EINVAL;
    if (info->domain_attr->name != nullptr &&
        strcasecmp(info->domain_attr->name, kDomainName) != 0) {
        return -FI_EINVAL;
    }
    return no_throw([&] {
        Fabric& owner = Fabric::of(fabric);
        *domain = new Domain(owner, *info, context);
        owner.use(+1);
        return 0;
    });
}

int Domain::open_with_flags(fid_fabric* fabric, fi_info* info, fid_domain** domain,
                            std::uint64_t flags, void* context) {
    return flags == 0 ? open(fabric, info, domain, context) : -FI_EOPNOTSUPP;
}

int Domain::endpoint_with_flags(fid_domain* domain, fi_info* info, fid_ep** endpoint,
                                std::uint64_t flags, void* context) {
    return flags == 0 ? Endpoint::open(domain, info, endpoint, context) : -FI_EOPNOTSUPP;
}

int Domain::close(fid_t object) {
    Domain* const domain = &of(reinterpret_cast<fid_domain*>(object));
    {
        Guard guard(domain->lock_);
        if (domain->children != 0) return -FI_EBUSY;
    }
    if (domain->events_ != nullptr) domain->events_->use(-1);
    domain->fabric_.use(-1);
    delete domain;
    return 0;
}

void Domain::add(Endpoint& endpoint) {
    endpoints_.push_back(&endpoint);
    for (Counter* counter : region_counters_) {
        counter->waiter().add(endpoint);
        counter->waiter().enabled(endpoint);
    }
}

void Domain::remove(Endpoint& endpoint) noexcept {
    std::erase(endpoints_, &endpoint);
    for (Counter* counter : region_counters_) counter->waiter().remove(endpoint);
}

void Domain::watch(Counter& counter) {
    if (std::ranges::find(region_counters_, &counter) != region_counters_.end()) return;
    region_counters_.push_back(&counter);
    for (Endpoint* endpoint : endpoints_) {
        counter.waiter().add(*endpoint);
        counter.waiter().enabled(*endpoint);
    }
}

void Domain::progress() noexcept {
    for (Endpoint* endpoint : endpoints_) endpoint->progress();
}

/// Registrations are done at once, so an event queue bound here stays silent.
int Domain::bind(fid_t object, fid_t other, std::uint64_t) {
    Domain& domain = of(reinterpret_cast<fid_domain*>(object));
    if (other->fclass != FI_CLASS_EQ || domain.events_ != nullptr) return -FI_EINVAL;
    domain.events_ = &EventQueue::of(other);
    domain.events_->use(+1);
    return 0;
}

}  // namespace fci::libfabric
