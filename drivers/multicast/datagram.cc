// SPDX-License-Identifier: BSD-3-Clause
#include "drivers/multicast/datagram.h"

#include <cstring>

#include "fci_core/base/assert.h"

namespace fci::multicast {

Heading heading_of(std::uint32_t cookie, const nhi::Hint& hint, std::uint64_t serial,
                   std::uint32_t offset) noexcept {
    FCI_ASSERT(offset >= hint.offset && offset <= hint.total);
    return {cookie, Heading::kVersion, Heading::kMagic, hint.rank,  hint.name,
            serial, hint.number,       offset,          hint.total, {}};
}

std::optional<Datagram> read_datagram(std::uint32_t cookie, std::span<std::byte> bytes) noexcept {
    Heading heading;
    if (bytes.size() < sizeof heading || bytes.size() > kDatagramMost) return {};
    std::memcpy(&heading, bytes.data(), sizeof heading);
    const std::span<std::byte> data = bytes.subspan(sizeof heading);
    const bool is_known = heading.cookie == cookie && heading.version == Heading::kVersion &&
                          heading.magic == Heading::kMagic;
    const bool fits =
        heading.offset <= heading.total && data.size() <= heading.total - heading.offset;
    if (!is_known || !fits) return {};
    return Datagram{heading, data};
}

}  // namespace fci::multicast
