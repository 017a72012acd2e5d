#include "netmod/libfabric/fabric.h"

#include <strings.h>

#include "netmod/libfabric/completion_queue.h"
#include "netmod/libfabric/counter.h"
#include "netmod/libfabric/domain.h"
#include "netmod/libfabric/event_queue.h"
#include "netmod/libfabric/provider.h"
#include "netmod/libfabric/stubs.h"

namespace fci::libfabric {

Fabric::Fabric(std::uint32_t version, void* context) {
    static fi_ops fid_operations = fid_ops(close);
    static fi_ops_fabric operations{
        sizeof(fi_ops_fabric), Domain::open, not_offered, EventQueue::open,
        not_offered,           try_wait,     Domain::open_with_flags,
    };
    fid = {FI_CLASS_FABRIC, context, &fid_operations};
    ops = &operations;
    api_version = version;
}

int Fabric::open(fi_fabric_attr* attributes, fid_fabric** fabric, void* context) {
    if (attributes == nullptr || attributes->name == nullptr) return -FI_EINVAL;
    if (strcasecmp(attributes->name, kFabricName) != 0) return -FI_ENODATA;
    auto* const made = new (std::nothrow) Fabric(attributes->api_version, context);
    if (made == nullptr) return -FI_ENOMEM;
    *fabric = made;
    return 0;
}

int Fabric::close(fid_t object) {
    Fabric* const fabric = &of(reinterpret_cast<fid_fabric*>(object));
    if (fabric->children_ != 0) return -FI_EBUSY;
    delete fabric;
    return 0;
}

int Fabric::try_wait(fid_fabric*, fid_t* objects, int count) {
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
            default: return -FI_EINVAL;
        }
    }
    return 0;
}

}  // namespace fci::libfabric
