// SPDX-License-Identifier: BSD-3-Clause
// Operations that are not offered. libfabric's inline wrappers do not check for null, so every slot
// of every table is filled.
#pragma once

#include <rdma/fi_atomic.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_collective.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_rma.h>
#include <rdma/fi_tagged.h>

namespace fci::libfabric {

/// Takes the type of whatever slot it is put into.
template <typename Result, typename... Arguments>
Result not_offered(Arguments...) noexcept {
    return -FI_ENOSYS;
}
template <typename Result, typename... Arguments>
Result not_supported(Arguments...) noexcept {
    return -FI_EOPNOTSUPP;
}
template <typename Result, typename... Arguments>
Result not_enabled(Arguments...) noexcept {
    return -FI_EOPBADSTATE;
}

extern fi_ops_rma no_rma;
extern fi_ops_atomic no_atomic;
extern fi_ops_collective no_collective;
/// Of an endpoint before fi_enable.
extern fi_ops_msg early_message;
extern fi_ops_tagged early_tagged;

inline int no_bind(fid_t, fid_t, uint64_t) { return -FI_ENOSYS; }
inline int no_control(fid_t, int, void*) { return -FI_ENOSYS; }

/// The fi_ops of a fid, with the slots that nobody offers.
constexpr fi_ops fid_ops(int (*close)(fid_t), int (*bind)(fid_t, fid_t, uint64_t) = no_bind,
                         int (*control)(fid_t, int, void*) = no_control) {
    return {sizeof(fi_ops), close, bind, control, not_offered, not_offered, not_offered};
}

}  // namespace fci::libfabric
