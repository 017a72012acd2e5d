// SPDX-License-Identifier: BSD-3-Clause
// The node driver, seen from outside: shared memory between the processes of one host, TCP to those
// of others.
#pragma once

#include <memory>
#include <string>

#include "drivers/host/mark.h"
#include "drivers/node/node_device.h"
#include "fci_core/base/status.h"
#include "fci_core/ddi/device.h"

namespace fci::node {

/// What tells this host from others.
struct Host {
    host::Mark mark = host::kNoMark;
    IsHere has_address;  // a card's: it is one of this host's own
    static Host own();
};

/// nullptr, a status and a sentence when it cannot be done.
std::unique_ptr<ddi::Device> open_node(const ddi::Settings& settings, Status* status,
                                       std::string* error);
/// As if the process were on that host.
std::unique_ptr<ddi::Device> open_node(const ddi::Settings& settings, const Host& host,
                                       Status* status, std::string* error);
/// Whether the driver works here; if not, `note` says what is missing.
bool probe_node(std::string* note);

}  // namespace fci::node
