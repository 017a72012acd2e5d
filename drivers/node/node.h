// SPDX-License-Identifier: BSD-3-Clause
// The node driver, seen from outside: shared memory between the processes of one host, and TCP or
// UCX to those of others.
#pragma once

#include <memory>
#include <string>

#include "drivers/host/mark.h"
#include "drivers/node/node_device.h"
#include "fci_core/base/status.h"
#include "fci_core/ddi/device.h"

namespace fci::node {

/// How a process is known to be on this host.
struct Host {
    host::Mark mark = host::kNoMark;
    IsHere has_address;  // the card's address is one of this host's own
    static Host own();
};

/// nullptr, a status and a sentence when it cannot be done.
std::unique_ptr<ddi::Device> open_node(const ddi::Settings& settings, Status* status,
                                       std::string* error);
/// Opens the device as if the process were on `host`.
std::unique_ptr<ddi::Device> open_node(const ddi::Settings& settings, const Host& host,
                                       Status* status, std::string* error);
/// Whether the driver works here; if not, `note` says what is missing.
bool probe_node(std::string* note);

}  // namespace fci::node
