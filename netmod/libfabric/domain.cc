// SPDX-License-Identifier: BSD-3-Clause
#include "netmod/libfabric/domain.h"

#include <algorithm>

#include "netmod/libfabric/event_queue.h"
#include "netmod/libfabric/fabric.h"
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
    fid = {FI_CLASS_DOMAIN, context, &fid_operations};
    fabric.use(+1);
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

void Domain::add(Channel& channel) {
    channels_.push_back(&channel);
    for (Waiter* counter : region_counters_) {
        counter->add(channel);
        counter->watch(channel);
    }
}

void Domain::remove(Channel& channel) noexcept {
    std::erase(channels_, &channel);
    for (Waiter* counter : region_counters_) counter->remove(channel);
}

void Domain::watch(Waiter& counter) {
    if (std::ranges::find(region_counters_, &counter) != region_counters_.end()) return;
    region_counters_.push_back(&counter);
    for (Channel* channel : channels_) {
        counter.add(*channel);
        counter.watch(*channel);
    }
}

void Domain::progress() noexcept {
    for (Channel* channel : channels_) channel->progress();
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
