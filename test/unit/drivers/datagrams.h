// SPDX-License-Identifier: BSD-3-Clause
// Datagrams to be sent, or not to be believed (drivers/multicast/datagram.h).
#pragma once

#include <cstdlib>
#include <cstring>
#include <memory>
#include <span>
#include <vector>

#include "drivers/host/libcrypto.h"
#include "drivers/multicast/datagram.h"
#include "drivers/multicast/seal.h"
#include "fci_core/base/prng.h"

namespace fci::multicast {

inline std::vector<std::byte> random_bytes(Prng& prng, std::size_t count) {
    std::vector<std::byte> bytes(count);
    for (std::byte& byte : bytes) byte = static_cast<std::byte>(prng.next());
    return bytes;
}

inline const host::Libcrypto& libcrypto() {
    static std::string why;
    static const std::unique_ptr<host::Libcrypto> library = host::Libcrypto::open(&why);
    if (!library) std::abort();
    return *library;
}

/// Of a hint as a whole.
inline std::vector<std::byte> datagram_of(Seal& seal, std::uint32_t cookie, const nhi::Hint& hint,
                                          std::span<const std::byte> data) {
    std::vector<std::byte> bytes(sizeof(Heading) + data.size());
    if (!seal.close(cookie, hint, hint.offset, data, bytes.data())) std::abort();
    return bytes;
}

}  // namespace fci::multicast
