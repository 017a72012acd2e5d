// SPDX-License-Identifier: BSD-3-Clause
// Places: where the processes of one run listen over shared memory. Runs at the same time have
// other places, so what a seed does must not depend on them (tap::FaultOptions::first_port).
#pragma once

#include <arpa/inet.h>

#include <cstdint>
#include <stdexcept>

#include "drivers/shm/socket.h"

namespace fci::simulation {

class Places {
public:
    /// Ports that no driver draws, and that nobody has before this is gone.
    Places() {
        for (unsigned first = kEach; first < kEnd; first += kEach) {
            first_ = static_cast<std::uint16_t>(first);
            ddi::Card sign;
            sign.host = htonl(INADDR_LOOPBACK);
            sign.port = of(kEach - 1);
            sign_ = shm::listen_at(sign);
            if (sign_) return;
        }
        throw std::runtime_error("too many simulations run at the same time");
    }
    /// Even. In the order of the network, as of().
    [[nodiscard]] std::uint16_t first() const noexcept { return htons(first_); }
    [[nodiscard]] std::uint16_t of(unsigned process) const noexcept {
        return htons(static_cast<std::uint16_t>(first_ + process));
    }

private:
    static constexpr unsigned kEach = 8, kEnd = 1024;
    std::uint16_t first_ = 0;
    host::Descriptor sign_;  // that they are taken
};

}  // namespace fci::simulation
