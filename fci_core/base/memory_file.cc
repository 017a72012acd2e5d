// SPDX-License-Identifier: BSD-3-Clause
#include "fci_core/base/memory_file.h"

#include <fcntl.h>
#include <sys/mman.h>

#include <cerrno>

#ifndef MFD_NOEXEC_SEAL
#define MFD_NOEXEC_SEAL 0x0008U
#endif

#ifndef F_SEAL_FUTURE_WRITE
#define F_SEAL_FUTURE_WRITE 0x0010
#endif

namespace fci {

int open_memory_file(const char* name) noexcept {
    // Newer kernels can be set to refuse files that might be executed; older ones do not know that.
    const int fd = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING | MFD_NOEXEC_SEAL);
    return fd >= 0 || errno != EINVAL ? fd : memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING);
}

bool seal_memory_file(int file) noexcept {
    constexpr int kSize = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;
    return fcntl(file, F_ADD_SEALS, kSize | F_SEAL_FUTURE_WRITE) == 0 ||
           fcntl(file, F_ADD_SEALS, kSize) == 0;
}

}  // namespace fci
