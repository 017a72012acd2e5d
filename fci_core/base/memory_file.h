// SPDX-License-Identifier: BSD-3-Clause
// Memory files: anonymous, so that nothing is left over, and to be sealed.
#pragma once

namespace fci {

/// A new one, empty, not inherited by what is executed; < 0 with errno.
int open_memory_file(const char* name) noexcept;

/// Seals the size, and writing by all but the processes that map it already; before Linux 5.1 other
/// processes of the same user can write.
bool seal_memory_file(int file) noexcept;

}  // namespace fci
