// SPDX-License-Identifier: BSD-3-Clause
#include "drivers/host/networks.h"

#include <arpa/inet.h>

#include <algorithm>

#include "drivers/host/interfaces.h"
#include "drivers/host/network_choice.h"
#include "drivers/host/place.h"
#include "fci_core/base/assert.h"

namespace fci::host {

namespace {

constexpr std::size_t kLauncherMost = 16;  // addresses of the launcher that are tried
// An address that is kept for examples (RFC 5737), so that only a default route leads to it.
constexpr std::uint32_t kFarAway = 0xc6336401;  // 198.51.100.1
static_assert(kFarAway >> 24 == 198 && (kFarAway >> 16 & 255) == 51);

/// Where the kernel lists no interfaces, it still says with which address packets leave.
ddi::Networks choose_unseen(const Surroundings& known, const std::string& error) {
    std::uint32_t host = 0;
    for (const Surroundings::Way& way : known.ways) {
        if (host == 0 && !is_loopback_address(way.own)) host = way.own;
    }
    std::string reason = "towards the launcher";
    if (host == 0) host = known.default_own, reason = "towards the default route";
    if (host == 0) {
        host = htonl(INADDR_LOOPBACK);
        reason = "no route leads elsewhere: only processes on this host can be reached";
    }
    ddi::Networks networks;
    networks.choice = {host, address_text(host), reason + "; " + error};
    return networks;
}

}  // namespace

ddi::Networks networks_here(const ddi::NetworkRequest& request) {
    Surroundings surroundings;
    std::string error;
    const bool listed = read_interfaces(&surroundings.interfaces, &error);
    for (std::size_t i = 0; i < std::min(request.launcher.size(), kLauncherMost); ++i) {
        surroundings.ways.push_back({request.launcher[i], address_towards(request.launcher[i])});
    }
    surroundings.default_own = address_towards(htonl(kFarAway));
    if (listed) return choose(surroundings, request.wanted);
    if (request.wanted.empty()) return choose_unseen(surroundings, error);
    ddi::Networks nothing;
    nothing.error = "FCI_NET cannot be followed: " + error +
                    ". Unset it to have the address taken "
                    "that leads to the launcher.";
    return nothing;
}

ddi::NetworkChoice place_to_listen(std::uint32_t given, const ddi::NetworkRequest& request,
                                   std::string* error) {
    if (given != 0) return {given, address_text(given), "the program names this address"};
    ddi::Networks networks = networks_here(request);
    FCI_ASSERT((networks.choice.host == 0) != networks.error.empty());
    if (networks.choice.host == 0) *error = std::move(networks.error);
    return std::move(networks.choice);
}

}  // namespace fci::host
