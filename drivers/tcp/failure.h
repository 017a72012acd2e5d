// SPDX-License-Identifier: BSD-3-Clause
// Failure: what a user hears of a call that did not get through, and what to do.
#pragma once

#include <string>

#include "fci_core/ddi/card.h"

namespace fci::tcp {

/// Where a firewall may be in the way of a call to that place.
std::string remedy(const ddi::Card& to);
/// `error`: as Streams::call() and outcome() say it.
std::string failure_of(const ddi::Card& from, const ddi::Card& to, int error);

}  // namespace fci::tcp
