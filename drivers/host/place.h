// SPDX-License-Identifier: BSD-3-Clause
// Places: where a process listens, for people.
#pragma once

#include <arpa/inet.h>

#include <string>

#include "fci_core/ddi/card.h"

namespace fci::host {

inline bool is_loopback(std::uint32_t host) noexcept {
    return ntohl(host) >> 24 == IN_LOOPBACKNET;
}

/// "127.0.0.1".
inline std::string address_text(std::uint32_t host) {
    char text[INET_ADDRSTRLEN] = "?";
    inet_ntop(AF_INET, &host, text, sizeof text);
    return text;
}

/// "127.0.0.1:40001".
inline std::string place_text(const ddi::Card& card) {
    return address_text(card.host) + ":" + std::to_string(ntohs(card.port));
}

}  // namespace fci::host
