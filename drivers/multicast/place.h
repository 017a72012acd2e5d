// SPDX-License-Identifier: BSD-3-Clause
// Place: where the hints of a job go: one address of the local scope (RFC 2365), and UDP ports
// there, a lane each. All processes of the job compute the same.
#pragma once

#include <arpa/inet.h>

#include <cstdint>

#include "fci_core/base/assert.h"
#include "fci_core/base/port_range.h"

namespace fci::multicast {

inline constexpr unsigned kLanes = 4;

struct Place {
    std::uint32_t host = 0;   // in network byte order
    std::uint16_t port = 0;   // the first of the ports, as the processor has it
    std::uint32_t cookie = 0; // in every datagram

    /// `ports`: those that a firewall lets through; fewer than kLanes are ignored.
    static Place of(std::uint64_t job, const PortRange& ports) noexcept {
        std::uint64_t mixed = job + 0x9e37'79b9'7f4a'7c15;  // splitmix64
        mixed = (mixed ^ mixed >> 30) * 0xbf58'476d'1ce4'e5b9;
        mixed = (mixed ^ mixed >> 27) * 0x94d0'49bb'1331'11eb;
        mixed ^= mixed >> 31;
        // Below the ports that the kernel gives to sockets that ask for none.
        PortRange range{20'000, 31'999};
        if (!ports.is_any() && ports.size() >= kLanes) range = ports;
        const auto choices = range.size() / kLanes;
        const auto step = static_cast<unsigned>(mixed >> 48) % choices;
        FCI_ASSERT(range.first + kLanes * (step + 1) - 1 <= range.last);
        return {htonl(0xefff'0000 | static_cast<std::uint16_t>(mixed >> 32)),
                static_cast<std::uint16_t>(range.first + kLanes * step),
                static_cast<std::uint32_t>(mixed)};
    }
};

}  // namespace fci::multicast
