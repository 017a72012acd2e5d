// SPDX-License-Identifier: BSD-3-Clause
// The ucx driver, seen from outside: peers meet and end by TCP, and their bytes go by UCX, over
// RDMA where there is a device for it.
#pragma once

#include <memory>
#include <string>

#include "fci_core/ddi/device.h"

namespace fci::ucx {

std::unique_ptr<ddi::Device> open_ucx(const ddi::Settings& settings, Status* status,
                                      std::string* error);
/// Of its peers those that have no UCX, or are not reached by it, go by TCP. Processes of this kind
/// and of the driver tcp may be of one job.
std::unique_ptr<ddi::Device> open_ucx_beside_tcp(const ddi::Settings& settings, Status* status,
                                                 std::string* error);
/// UCX is to be chosen by itself for other hosts. False: not, and *why for people, which is empty
/// where no RDMA port is up.
bool is_choice(std::string* why);
/// For people: why UCX, which was chosen by itself, is not used.
std::string unused_note(const std::string& why);
/// Tries it in a child, as UCX stays in a process that has opened it.
bool probe_ucx(std::string* note);
/// For people, of a process that goes to other hosts by UCX, or by TCP as its user wants: which UCX
/// that is, or which RDMA ports are left alone. Empty: there is nothing to say.
std::string note_of_far(bool by_ucx);

}  // namespace fci::ucx
