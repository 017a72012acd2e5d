// SPDX-License-Identifier: BSD-3-Clause
// Card: the address that a process hands out so that others can reach it (the DDI's node
// description, §3.2.3).
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

namespace fci::ddi {

/// Sixteen bytes in the shape of a sockaddr_in, so that a host and a port that a user types are a
/// card as well. All fields but `incarnation` are in network byte order.
struct Card {
    std::uint16_t family = 2;       // AF_INET
    std::uint16_t port = 0;         // unique among the processes of one host
    std::uint32_t host = 0;         // IPv4 address
    std::uint64_t incarnation = 0;  // drawn at start; 0 in a typed card: any process at that place

    [[nodiscard]] bool same_place(const Card& other) const noexcept {
        return port == other.port && host == other.host;
    }
    /// The same process, as far as the two cards can tell.
    [[nodiscard]] bool names(const Card& other) const noexcept {
        return same_place(other) &&
               (incarnation == other.incarnation || incarnation == 0 || other.incarnation == 0);
    }
};
static_assert(sizeof(Card) == 16);
static_assert(offsetof(Card, port) == 2 && offsetof(Card, host) == 4, "as in a sockaddr_in");
static_assert(offsetof(Card, incarnation) == 8, "in its sin_zero");
static_assert(std::has_unique_object_representations_v<Card>, "it travels as bytes");

}  // namespace fci::ddi
