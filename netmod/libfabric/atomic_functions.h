// SPDX-License-Identifier: BSD-3-Clause
// The functions behind fi_atomic and its relatives: one for each operator and type.
#pragma once

#include <rdma/fi_atomic.h>

#include <cstddef>
#include <cstdint>

#include "netmod/libfabric/remote_request.h"

namespace fci::libfabric {

/// target[i] becomes what the operator makes of it and operand[i]; what it was goes to result[i],
/// where that is asked for. Nothing need be aligned. Operators with a comparison use compare[i].
using AtomicFunction = void (*)(char* target, const char* operand, const char* compare,
                                char* result, std::size_t count);

/// nullptr where libfabric knows no such operator for this type, or not for this kind of access.
/// Takes any number.
AtomicFunction atomic_function(Access access, unsigned operator_, unsigned datatype) noexcept;

/// 0: no type of ours.
std::size_t bytes_of_type(unsigned datatype) noexcept;

}  // namespace fci::libfabric
