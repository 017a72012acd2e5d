// SPDX-License-Identifier: BSD-3-Clause
// The tcp driver: one connection for each pair of processes that talk, over any network that has
// TCP. It works everywhere.
#pragma once

#include <memory>
#include <string>

#include "drivers/tcp/streams.h"
#include "fci_core/ddi/device.h"

namespace fci::tcp {

std::unique_ptr<ddi::Device> open_tcp(const ddi::Settings& settings, Status* status,
                                      std::string* error);
/// Over streams that are not the kernel's, and without hints.
std::unique_ptr<ddi::Device> open_over(std::unique_ptr<Streams> streams,
                                       const ddi::Settings& settings, Status* status,
                                       std::string* error);
bool probe_tcp(std::string* note);

}  // namespace fci::tcp
