// SPDX-License-Identifier: BSD-3-Clause
// Addresses: a card of icl.h is a sockaddr_in whose sin_zero holds the incarnation.
#pragma once

#include <netinet/in.h>

#include <cstddef>
#include <cstdint>
#include <optional>

#include "fci_core/api/icl.h"

namespace fci::libfabric {

using Card = sockaddr_in;
static_assert(sizeof(Card) == FCI_ICL_CARD_BYTES);

/// To open an endpoint: any port, at the address that the driver chooses. The endpoint's own name
/// then says which these are.
[[nodiscard]] Card any_card() noexcept;

/// Numeric only, plus "localhost" and the name of this host: a name server would block the start of
/// the program when it cannot be reached. nullptr stands for any address, or for any port.
[[nodiscard]] std::optional<Card> parse_card(const char* node, const char* service) noexcept;

/// "fi_sockaddr_in://127.0.0.1:40001", as libfabric writes it. Like snprintf.
int format_card(const Card& card, char* text, std::size_t bytes) noexcept;

}  // namespace fci::libfabric
