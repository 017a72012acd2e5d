#include "fci_core/base/memory_file.h"

#include <sys/mman.h>

#include <cerrno>

#ifndef MFD_NOEXEC_SEAL
#define MFD_NOEXEC_SEAL 0x0008U
#endif

namespace fci {

int open_memory_file(const char* name) noexcept {
    // Newer kernels can be set to refuse files that might be executed; older ones do not know that.
    const int fd = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING | MFD_NOEXEC_SEAL);
    return fd >= 0 || errno != EINVAL ? fd : memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING);
}

}  // namespace fci
