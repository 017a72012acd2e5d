// SPDX-License-Identifier: BSD-3-Clause
#include "fci_core/api/shown.h"

#include "fci_core/api/process.h"
#include "fci_core/base/assert.h"

namespace fci::api {

void Shown::update(const ddi::Device& device, const mp::MessagePassing& messages) noexcept {
    const mp::Peers& peers = messages.engine().peers;
    FCI_ASSERT(device.peers() != 0);  // the process itself
    ReportFigures figures{device.peers() - 1, peers.connected(), peers.rows().file(),
                          device.memory()};
    figures.memory += messages.memory();
    figures.memory.fixed += sizeof(Process);
    page_.update(figures);
}

}  // namespace fci::api
