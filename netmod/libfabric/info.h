// SPDX-License-Identifier: BSD-3-Clause
// fi_getinfo: what the program wants against what the sheet promises.
#pragma once

#include <rdma/fabric.h>

#include <cstdint>

namespace fci::libfabric {

/// One info or -FI_ENODATA. Never blocks. `version` may be anything, 0 included: no field is filled
/// that did not exist in the first version with this layout.
int get_info(std::uint32_t version, const char* node, const char* service, std::uint64_t flags,
             const fi_info* hints, fi_info** info);

/// The first hint that does not fit, for the log; nullptr when all fit.
[[nodiscard]] const char* mismatch(const fi_info& hints) noexcept;

}  // namespace fci::libfabric
