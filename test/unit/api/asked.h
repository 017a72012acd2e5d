// SPDX-License-Identifier: BSD-3-Clause
// Asked: bytes that this program has asked operator new for and not given back. malloc itself gives
// what it has, which may be a little more.
#pragma once

#include <cstddef>
#include <optional>

namespace fci {

/// Nothing where operator new is a sanitizer's.
std::optional<std::size_t> asked_bytes() noexcept;

}  // namespace fci
