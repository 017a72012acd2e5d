// SPDX-License-Identifier: BSD-3-Clause
#include "drivers/tcp/tcp.h"

#include <utility>

#include "drivers/tcp/kernel.h"
#include "drivers/tcp/tcp_device.h"

namespace fci::tcp {

std::unique_ptr<ddi::Device> open_tcp(const ddi::Settings& settings, Status* status,
                                      std::string* error) {
    return TcpDevice::open(settings, true, std::make_unique<Kernel>(settings.silence_ms),
                           status, error);
}

std::unique_ptr<ddi::Device> open_over(std::unique_ptr<Streams> streams,
                                       const ddi::Settings& settings, Status* status,
                                       std::string* error) {
    return TcpDevice::open(settings, false, std::move(streams), status, error);
}

/// Tries it: opens a device with the least memory.
bool probe_tcp(std::string* note) {
    ddi::Settings settings;
    settings.block_bytes = 4096;
    Status status;
    return open_tcp(settings, &status, note) != nullptr;
}

}  // namespace fci::tcp
