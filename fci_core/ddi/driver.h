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
    /// Tries what opening needs. *note: why it is not usable, or what is limited; may stay empty.
    bool (*probe)(std::string* note);
    /// nullptr with *status and *error: what failed, where, likely cause, what to do.
    std::unique_ptr<Device> (*open)(const Settings& settings, Status* status, std::string* error);
};

/// Best first; nullptr past the end.
const Driver* driver(unsigned i) noexcept;

}  // namespace fci::ddi
