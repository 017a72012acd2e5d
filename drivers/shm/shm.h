// SPDX-License-Identifier: BSD-3-Clause
// The shared memory driver, seen from outside.
#pragma once

#include <memory>
#include <string>

#include "drivers/shm/connection_manager.h"
#include "fci_core/base/status.h"
#include "fci_core/ddi/device.h"

namespace fci::shm {

/// nullptr, a status and a sentence when it cannot be done.
std::unique_ptr<ddi::Device> open_shm(const ddi::Settings& settings, Status* status,
                                      std::string* error);
std::unique_ptr<ddi::Device> open_shm(const ddi::Settings& settings, const Tuning& tuning,
                                      Status* status, std::string* error);

/// Whether the driver works here; if not, `why` says what is missing. When it does, `why` names
/// what is limited, or is empty.
bool probe_shm(std::string* why);

}  // namespace fci::shm
