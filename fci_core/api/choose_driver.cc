// SPDX-License-Identifier: BSD-3-Clause
#include "fci_core/api/choose_driver.h"

#include "fci_core/base/assert.h"

namespace fci::api {

Ranks Ranks::of(const Lookup& variable, std::uint32_t job) {
    Ranks ranks{job != 0 ? job : ranks_in_job(variable), ranks_on_host(variable)};
    ranks.launched = ranks.job > 1 || rank_in_job(variable) >= 0 || !job_name(variable).empty();
    ranks.may_spread = ranks.launched && (has_more_hosts(variable) || was_spawned(variable));
    return ranks;
}

Preference prefer_drivers(const Ranks& ranks) {
    // "ucx" is taken where FCI_DRIVER names it.
    constexpr std::array kHere{"shm", "tcp"}, kBetween{"node", "tcp"};
    FCI_ASSERT(ranks.launched || !ranks.may_spread);
    const std::string job = std::to_string(ranks.job) + " ranks";
    if (ranks.job == 1 || (ranks.job != 0 && ranks.here >= ranks.job)) {
        const std::string all = ranks.job == 1 ? "the only rank" : "all " + job + " on this host";
        if (ranks.may_spread) return {kBetween, all + ", others may be elsewhere"};
        return {kHere, all};
    }
    if (ranks.job != 0 && ranks.here != 0) {
        return {kBetween, std::to_string(ranks.here) + " of " + job + " on this host"};
    }
    // Nobody must be out of reach because a launcher says little. Without one, whoever is spoken to
    // was started by hand, mostly here, and a program that needs the network names it.
    if (ranks.launched) return {kBetween, "the launcher does not tell how many ranks are here"};
    FCI_ASSERT(ranks.job == 0);
    return {kHere, "no launcher"};
}

}  // namespace fci::api
