// SPDX-License-Identifier: BSD-3-Clause
// icl.h's codes in libfabric's words.
#pragma once

#include <rdma/fi_errno.h>

#include "fci_core/api/icl.h"

namespace fci::libfabric {

/// Positive, as completion entries want it; calls return it negated.
constexpr int error_of(int icl_code) noexcept {
    switch (icl_code) {
        case FCI_ICL_OK:
        case FCI_ICL_DONE: return 0;
        case FCI_ICL_EAGAIN: return FI_EAGAIN;
        case FCI_ICL_EINVAL: return FI_EINVAL;
        case FCI_ICL_ENOMEM: return FI_ENOMEM;
        case FCI_ICL_EPEER: return FI_ECONNRESET;
        case FCI_ICL_ETRUNC: return FI_ETRUNC;
        case FCI_ICL_ECANCELED: return FI_ECANCELED;
        case FCI_ICL_ENOMSG: return FI_ENOMSG;
        case FCI_ICL_ENOENT: return FI_ENOENT;
        case FCI_ICL_EUNSUPPORTED: return FI_ENOSYS;
        case FCI_ICL_EMISMATCH:
        case FCI_ICL_EUNREACHABLE: return FI_EHOSTUNREACH;
        case FCI_ICL_EFAULT: return FI_EFAULT;
        default: return FI_EOTHER;
    }
}

/// The core has a sentence about the peer (fci_icl_peer_reason).
constexpr bool concerns_peer(int icl_code) noexcept {
    return icl_code == FCI_ICL_EPEER || icl_code == FCI_ICL_EMISMATCH ||
           icl_code == FCI_ICL_EUNREACHABLE;
}

}  // namespace fci::libfabric
