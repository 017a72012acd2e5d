// SPDX-License-Identifier: BSD-3-Clause
#include "drivers/shm/shm.h"

#include "drivers/shm/shm_device.h"

namespace fci::shm {

std::unique_ptr<ddi::Device> open_shm(const ddi::Settings& settings, Status* status,
                                      std::string* error) {
    const Tuning tuning{.patience_typed = Nanoseconds{settings.connect_ms} * 1'000'000};
    return open_shm(settings, tuning, status, error);
}

std::unique_ptr<ddi::Device> open_shm(const ddi::Settings& settings, const Tuning& tuning,
                                      Status* status, std::string* error) {
    return ShmDevice::open(settings, tuning, status, error);
}

/// Tries it: opens a device with the least memory.
bool probe_shm(std::string* why) {
    ddi::Settings settings;
    settings.block_bytes = 4096;
    Status status;
    if (!open_shm(settings, &status, why)) return false;
    (void)ShmInterface::kernel_copies(why);
    return true;
}

}  // namespace fci::shm
