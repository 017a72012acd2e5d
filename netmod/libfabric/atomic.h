// SPDX-License-Identifier: BSD-3-Clause
// Which atomics a domain knows: fi_query_atomic.
#pragma once

#include <rdma/fi_atomic.h>
#include <rdma/fi_domain.h>

#include <cstdint>

namespace fci::libfabric {

int query_atomic(fid_domain* domain, fi_datatype datatype, fi_op operator_, fi_atomic_attr* answer,
                 std::uint64_t flags);

}  // namespace fci::libfabric
