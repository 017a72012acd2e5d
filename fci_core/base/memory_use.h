// SPDX-License-Identifier: BSD-3-Clause
// MemoryUse: what a process holds, told apart by what it grows with. Bytes.
#pragma once

#include <cstdint>

namespace fci {

struct MemoryUse {
    std::uint64_t shared = 0;        // that others can map; of peers, what this process asked for
    std::uint64_t shared_peers = 0;  // of `shared`, what grows with the peers that are connected
    std::uint64_t mapped = 0;        // of its peers, that this process has mapped
    std::uint64_t fixed = 0;         // private, independent of peers
    std::uint64_t known = 0;         // private, grows with the peers that are known
    std::uint64_t connected = 0;     // private, grows with those that are connected
    std::uint64_t unexpected = 0;    // private, for messages that waited for their receive

    MemoryUse& operator+=(const MemoryUse& more) noexcept {
        shared += more.shared;
        shared_peers += more.shared_peers;
        mapped += more.mapped;
        fixed += more.fixed;
        known += more.known;
        connected += more.connected;
        unexpected += more.unexpected;
        return *this;
    }
    [[nodiscard]] std::uint64_t private_bytes() const noexcept {
        return fixed + known + connected + unexpected;
    }
};
static_assert(sizeof(MemoryUse) == 7 * sizeof(std::uint64_t), "+= and the report have all");

}  // namespace fci
