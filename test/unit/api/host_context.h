// SPDX-License-Identifier: BSD-3-Clause
// Contexts of one process that see each other on different hosts: 127.0.0.2, 127.0.0.3 and so on.
#pragma once

#include <arpa/inet.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <string>

#include "drivers/node/node.h"
#include "fci_core/api/process.h"
#include "test/unit/api/context.h"

namespace fci {

inline Context open_on(unsigned host, int rank = -1) {
    const std::uint32_t address = htonl(0x7f000002 + host);
    const mp::Protocol& protocol = *mp::find_protocol("enhanced-mixed");
    const mp::Limits limits = api::limits_for({}, protocol, 2, {2, {}});
    ddi::Settings settings;
    settings.block_bytes = limits.layout.block_bytes();
    settings.block_first_bytes = limits.layout.block_first_bytes();
    settings.communication_bytes = limits.layout.pool_bytes + gcs::Layout::kBoardLeast;
    settings.communication_later = true;
    settings.sizes = limits.layout.sizes();
    settings.wanted.host = address;
    settings.rank = rank;
    const node::Host own{static_cast<host::Mark>(host + 1),
                         [address](const ddi::Card& card) { return card.host == address; }};
    Status status;
    std::string error;
    auto device = node::open_node(settings, own, &status, &error);
    EXPECT_NE(device, nullptr) << error;
    auto process = api::Process::make(std::move(device), "node", protocol, limits,
                                      progress::CoreShare("spin", 2, 2), progress::own_host());
    return Context(reinterpret_cast<fci_icl_context*>(process.release()));
}

}  // namespace fci
