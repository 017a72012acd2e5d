// Places: where a process listens, for people.
#pragma once

#include <arpa/inet.h>

#include <string>

#include "fci_core/ddi/card.h"

namespace fci::host {

/// "127.0.0.1:40001".
inline std::string place_text(const ddi::Card& card) {
    char host[INET_ADDRSTRLEN] = "?";
    inet_ntop(AF_INET, &card.host, host, sizeof host);
    return std::string(host) + ":" + std::to_string(ntohs(card.port));
}

}  // namespace fci::host
