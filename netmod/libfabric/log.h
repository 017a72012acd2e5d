// SPDX-License-Identifier: BSD-3-Clause
// The provider's name and its log, as libfabric has them.
#pragma once

#include <rdma/fabric.h>
#include <rdma/fi_errno.h>
#include <rdma/providers/fi_log.h>
#include <rdma/providers/fi_prov.h>

#include <cerrno>

namespace fci::libfabric {

/// Of the provider, its fabric and its domain.
inline constexpr char kName[] = "fci";

/// Writable: libfabric keeps notes of its own in `context`.
extern fi_provider provider;

}  // namespace fci::libfabric

#define FCI_WARN(subsystem, ...) FI_WARN(&::fci::libfabric::provider, subsystem, __VA_ARGS__)
#define FCI_INFO(subsystem, ...) FI_INFO(&::fci::libfabric::provider, subsystem, __VA_ARGS__)
