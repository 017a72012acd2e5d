// SPDX-License-Identifier: BSD-3-Clause
#include "netmod/libfabric/address.h"

#include <arpa/inet.h>
#include <strings.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace fci::libfabric {

namespace {

bool is_this_host(const char* node) noexcept {
    if (strcasecmp(node, "localhost") == 0) return true;
    char name[256];
    if (gethostname(name, sizeof name) != 0) return false;
    name[sizeof name - 1] = '\0';
    return strcasecmp(node, name) == 0;
}

}  // namespace

Card any_card() noexcept {
    Card card{};
    card.sin_family = AF_INET;
    card.sin_addr.s_addr = htonl(INADDR_ANY);
    return card;
}

std::optional<Card> parse_card(const char* node, const char* service) noexcept {
    Card card = any_card();
    const bool named = node != nullptr && *node != '\0';
    if (named && is_this_host(node)) {
        card.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    } else if (named && inet_pton(AF_INET, node, &card.sin_addr) != 1) {
        return std::nullopt;
    }
    if (service != nullptr && *service != '\0') {
        char* end = nullptr;
        const unsigned long port = std::strtoul(service, &end, 10);
        if (*service < '0' || *service > '9' || *end != '\0' || port > 65535) return std::nullopt;
        card.sin_port = htons(static_cast<std::uint16_t>(port));
    }
    return card;
}

int format_card(const Card& card, char* text, std::size_t bytes) noexcept {
    char host[INET_ADDRSTRLEN] = "?";
    inet_ntop(AF_INET, &card.sin_addr, host, sizeof host);
    return std::snprintf(text, bytes, "fi_sockaddr_in://%s:%u", host, ntohs(card.sin_port));
}

}  // namespace fci::libfabric
