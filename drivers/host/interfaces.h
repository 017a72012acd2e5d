// SPDX-License-Identifier: BSD-3-Clause
// Interfaces: those of this process's network namespace, asked of the kernel.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "drivers/host/interface.h"

namespace fci::host {

/// False, with *error: the kernel does not tell. /sys is not asked: it may show another namespace.
bool read_interfaces(std::vector<Interface>* interfaces, std::string* error);

/// The own address with which packets to `host` leave; 0: no route leads there. Sends nothing.
std::uint32_t address_towards(std::uint32_t host) noexcept;

}  // namespace fci::host
