// SPDX-License-Identifier: BSD-3-Clause
// Nature: whether an interface is hardware, or only software of this host.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "drivers/host/interface.h"

namespace fci::host {

/// In the order of preference.
enum class Nature : std::uint8_t {
    physical,   // hardware, or a bond, bridge or VLAN over it
    container,  // a container's way out: the inner end of a pair, the outer one is elsewhere
    software,   // reaches this host's containers and virtual machines, or is a tunnel
    loopback,
};

static_assert(Nature::physical < Nature::container && Nature::container < Nature::software);
static_assert(Nature::software < Nature::loopback, "the order is the preference");

/// Judges by the kernel's description; if that says nothing, by the name.
Nature nature_of(const Interface& interface, const std::vector<Interface>& all);

/// "physical (bond)", "virtual (veth)".
std::string nature_text(Nature nature, const Interface& interface);

}  // namespace fci::host
