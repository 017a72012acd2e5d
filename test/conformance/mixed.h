// SPDX-License-Identifier: BSD-3-Clause
// The node driver's device over shared memory and a simulated network, which repeats by its seed.
// Processes whose ports are both even or both odd share a host.
#pragma once

#include <arpa/inet.h>

#include <memory>
#include <string>
#include <utility>

#include "drivers/node/node_device.h"
#include "drivers/shm/shm.h"
#include "drivers/sim/ideal/world.h"

namespace fci::conformance {

/// `host`: 0 or 1, where the settings leave the port open. The world outlives it.
inline std::unique_ptr<ddi::Device> open_mixed(sim::World& world, const ddi::Settings& settings,
                                               const shm::Tuning& tuning, unsigned host,
                                               std::string* error) {
    constexpr unsigned kTries = 64;
    std::unique_ptr<ddi::Device> near;
    Status status = Status::ok;
    for (unsigned i = 0; i < kTries; ++i) {
        near = shm::open_shm(settings, tuning, &status, error);
        if (near == nullptr) return nullptr;
        if (settings.wanted.port != 0 || (ntohs(near->card().port) & 1) == host) break;
    }
    ddi::Settings far_settings = settings;
    far_settings.communication = near->communication_memory();
    far_settings.incarnation = near->card().incarnation;
    far_settings.wanted = near->card();
    auto far = world.open(far_settings, error);
    if (far == nullptr) return nullptr;
    const auto is_here = [own = near->card().port](const ddi::Card& card) {
        return ((ntohs(card.port) ^ ntohs(own)) & 1) == 0;
    };
    return std::make_unique<node::NodeDevice>(std::move(near), std::move(far), is_here,
                                              node::Pace::always());
}

}  // namespace fci::conformance
