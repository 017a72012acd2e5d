// SPDX-License-Identifier: BSD-3-Clause
// Networks: the choice between the networks that this host has now.
#pragma once

#include <cstdint>
#include <string>

#include "fci_core/ddi/networks.h"

namespace fci::host {

ddi::Networks networks_here(const ddi::NetworkRequest& request);

/// Where a driver listens: at `given`, an address that the program itself names; if that is 0, as
/// networks_here() chooses. Host 0, with *error: there is no such place.
ddi::NetworkChoice place_to_listen(std::uint32_t given, const ddi::NetworkRequest& request,
                                   std::string* error);

}  // namespace fci::host
