#include "netmod/libfabric/provider.h"

#include "netmod/libfabric/fabric.h"
#include "netmod/libfabric/info.h"

namespace fci::libfabric {

// Nothing to clean up: no thread, nothing allocated; contexts are closed with their endpoints.
fi_provider provider{
    .version = FI_VERSION(0, 1),
    .fi_version = FI_VERSION(FI_MAJOR_VERSION, FI_MINOR_VERSION),
    .context = {},
    .name = kProviderName,
    .getinfo = get_info,
    .fabric = Fabric::open,
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
