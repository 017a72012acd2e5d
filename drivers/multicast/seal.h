// SPDX-License-Identifier: BSD-3-Clause
// Seal: the hints of one group as this process sends and hears them, encrypted and authenticated
// with the group's key, which no process outside of the group has.
//
// A nonce is the sender's rank and the count of its datagrams in this group, over all lanes, also
// if the same bytes go out again; so no nonce comes twice. The numbers of hints would not do: a
// burst that the kernel refused is sealed again, and by then its memory may have other bytes.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "drivers/host/aead.h"
#include "drivers/multicast/datagram.h"
#include "fci_core/nhi/hints.h"

namespace fci::multicast {

class Seal {
public:
    /// `library` is borrowed. Throws bad_alloc.
    Seal(const host::Libcrypto& library, const nhi::HintMember& member)
        : rank_(member.rank),
          hosts_(member.hosts.begin(), member.hosts.end()),
          closer_(library, member.group.key, host::Aead::Direction::seals),
          opener_(library, member.group.key, host::Aead::Direction::opens) {}

    [[nodiscard]] static host::Aead::Nonce nonce_of(std::uint16_t rank,
                                                    std::uint64_t serial) noexcept;

    /// Writes the datagram of one piece, whose rank is this process's, to `out`, which has room for
    /// heading and data. False: the library failed.
    [[nodiscard]] bool close(std::uint32_t cookie, const nhi::Hint& hint, std::uint32_t offset,
                             std::span<const std::byte> data, std::byte* out) noexcept;
    /// True: a member of the group sent it, from that member's own address; the data are decrypted
    /// in their place.
    [[nodiscard]] bool open(const Datagram& datagram, std::uint32_t source) noexcept;

    [[nodiscard]] std::uint16_t rank() const noexcept { return rank_; }
    /// The greatest number of the hints that were opened; 0: none was.
    [[nodiscard]] std::uint64_t latest() const noexcept { return latest_; }

private:
    const std::uint16_t rank_;
    const std::vector<std::uint32_t> hosts_;
    std::uint64_t serial_ = 0, latest_ = 0;
    host::Aead closer_, opener_;
};

}  // namespace fci::multicast
