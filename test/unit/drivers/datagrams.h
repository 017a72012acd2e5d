// Datagrams to be sent, or not to be believed (drivers/multicast/datagram.h).
#pragma once

#include <cstring>
#include <span>
#include <vector>

#include "drivers/multicast/datagram.h"
#include "fci_core/base/prng.h"

namespace fci::multicast {

inline std::vector<std::byte> random_bytes(Prng& prng, std::size_t count) {
    std::vector<std::byte> bytes(count);
    for (std::byte& byte : bytes) byte = static_cast<std::byte>(prng.next());
    return bytes;
}

inline std::vector<std::byte> datagram_of(std::uint32_t cookie, const nhi::Hint& hint,
                                   std::span<const std::byte> data) {
    const Heading heading = heading_of(cookie, hint, hint.offset, data);
    std::vector<std::byte> bytes(sizeof heading + data.size());
    std::memcpy(bytes.data(), &heading, sizeof heading);
    if (!data.empty()) std::memcpy(bytes.data() + sizeof heading, data.data(), data.size());
    return bytes;
}

}  // namespace fci::multicast
