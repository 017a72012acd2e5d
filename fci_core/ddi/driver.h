// SPDX-License-Identifier: BSD-3-Clause
// Driver: one entry of the table of networks in this library (drivers/registry.cc).
#pragma once

#include <memory>
#include <string>

#include "fci_core/ddi/device.h"

namespace fci::ddi {

struct Driver {
    const char* name;     // as FCI_DRIVER and fci_info say it
    const char* summary;  // one line for people
    /// Tries to open. *note: why the driver is not usable, or a limitation of it; may stay empty.
    bool (*probe)(std::string* note);
    /// nullptr with *status and *error: the failure, its place, the likely cause, the remedy.
    std::unique_ptr<Device> (*open)(const Settings& settings, Status* status, std::string* error);
};

/// Best first; nullptr past the end.
const Driver* driver(unsigned i) noexcept;

}  // namespace fci::ddi
