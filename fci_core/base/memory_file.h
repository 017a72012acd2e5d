// Memory files: anonymous, so that nothing is left over, and to be sealed.
#pragma once

namespace fci {

/// A new one, empty, not inherited by what is executed; < 0 with errno.
int open_memory_file(const char* name) noexcept;

}  // namespace fci
