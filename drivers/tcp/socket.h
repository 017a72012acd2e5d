// Sockets of the driver: how they are made and set.
#pragma once

#include "drivers/host/descriptor.h"
#include "fci_core/ddi/card.h"

namespace fci::tcp {

/// A call from the address of `from` to the place of `to`, which is under way. A host that does not
/// answer ends it after 10 s. Empty, and errno: it failed.
host::Descriptor call(const ddi::Card& from, const ddi::Card& to) noexcept;

/// For one over which two have met: small things leave at once, a host that falls silent while
/// nothing is under way is noticed after 10 s, and one that has no room is asked often enough for
/// Pulse to see that it answers.
void tune(int socket) noexcept;

/// It will pass: what failed with this error can be tried again.
bool is_shortage(int error) noexcept;

}  // namespace fci::tcp
