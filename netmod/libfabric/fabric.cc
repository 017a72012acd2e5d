// SPDX-License-Identifier: BSD-3-Clause
#include "netmod/libfabric/fabric.h"

#include "netmod/libfabric/stubs.h"

namespace fci::libfabric {

Fabric::Fabric(std::uint32_t version, void* context) {
    static fi_ops fid_operations = fid_ops(close);
    fid = {FI_CLASS_FABRIC, context, &fid_operations};
    api_version = version;
}

int Fabric::close(fid_t object) {
    Fabric* const fabric = &of(reinterpret_cast<fid_fabric*>(object));
    if (fabric->children_ != 0) return -FI_EBUSY;
    delete fabric;
    return 0;
}

}  // namespace fci::libfabric
