// SPDX-License-Identifier: BSD-3-Clause
#include "drivers/multicast/seal.h"

#include <algorithm>
#include <cstring>

#include "fci_core/base/assert.h"

namespace fci::multicast {

host::Aead::Nonce Seal::nonce_of(std::uint16_t rank, std::uint64_t serial) noexcept {
    host::Aead::Nonce nonce{};
    static_assert(sizeof rank + sizeof serial <= sizeof nonce);
    std::memcpy(nonce.data(), &serial, sizeof serial);
    std::memcpy(nonce.data() + sizeof serial, &rank, sizeof rank);
    return nonce;
}

bool Seal::close(std::uint32_t cookie, const nhi::Hint& hint, std::uint32_t offset,
                 std::span<const std::byte> data, std::byte* out) noexcept {
    FCI_ASSERT(data.size() <= nhi::Hints::kPieceMost && hint.rank == rank_);
    Heading heading = heading_of(cookie, hint, ++serial_, offset);
    FCI_ASSERT(heading.serial != 0);
    if (!closer_.seal(nonce_of(rank_, heading.serial), heading.words(), data, out + sizeof heading,
                      &heading.tag)) {
        return false;
    }
    std::memcpy(out, &heading, sizeof heading);
    return true;
}

bool Seal::open(const Datagram& datagram, std::uint32_t source) noexcept {
    const Heading& heading = datagram.heading;
    if (heading.rank >= hosts_.size() || hosts_[heading.rank] != source) return false;
    const std::span<std::byte> data = datagram.data;
    if (!opener_.open(nonce_of(heading.rank, heading.serial), heading.words(), data, data.data(),
                      heading.tag)) {
        return false;
    }
    latest_ = std::max(latest_, heading.number);
    return true;
}

}  // namespace fci::multicast
