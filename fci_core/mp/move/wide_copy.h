// SPDX-License-Identifier: BSD-3-Clause
// Copies of long ranges by wide registers of this processor. Where it has none that are known here,
// both are memcpy.
#pragma once

#include <cstddef>

namespace fci::mp {

/// Into the cache. The C library's memcpy moves long ranges by `rep movsb`, which is slower between
/// two caches, and on some processors ten times as slow to places like those that malloc() gives,
/// 16 bytes behind a page.
void copy_wide(std::byte* to, const std::byte* from, std::size_t bytes) noexcept;

/// Past the cache: memory at `to` is not fetched first, and nothing else leaves the cache. For
/// memory that is in no cache and will not be read soon. Ordered like other stores on return.
void copy_past_cache(std::byte* to, const std::byte* from, std::size_t bytes) noexcept;

}  // namespace fci::mp
