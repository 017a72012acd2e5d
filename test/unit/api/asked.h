// SPDX-License-Identifier: BSD-3-Clause
// Asked: bytes that this program has asked operator new for and not given back. malloc itself gives
// what it has, which may be a little more.
#pragma once

#include <cstddef>

namespace fci {

std::size_t asked_bytes() noexcept;

}  // namespace fci
