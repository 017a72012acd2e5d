// SPDX-License-Identifier: BSD-3-Clause
#include "drivers/host/network_choice.h"

#include <algorithm>
#include <compare>
#include <map>
#include <optional>

#include "drivers/host/nature.h"
#include "drivers/host/network_pattern.h"
#include "drivers/host/place.h"
#include "fci_core/base/assert.h"

namespace fci::host {

namespace {

constexpr std::size_t kNamedMost = 4;    // interfaces of a kind in a line, then their number
constexpr std::size_t kListedMost = 64;  // in an error
constexpr std::size_t kQuotedMost = 64;  // characters of what the user wrote
constexpr const char* kOnlyIpv6 = "only IPv6 addresses";
static_assert(kNamedMost < kListedMost, "an error tells more than a line of information");

/// The user's text, cut to one short line.
std::string quoted(const std::string& text) {
    std::string shown = text.substr(0, kQuotedMost);
    std::ranges::replace_if(
        shown, [](unsigned char c) { return c < ' ' || c == 127; }, '?');
    return "'" + shown + (shown.size() < text.size() ? "..." : "") + "'";
}

/// Less is better; the first member that differs decides.
struct Rank {
    Nature nature;
    std::size_t way;  // which of the launcher's addresses it leads to, those in an own subnet first
    bool no_default;
    std::string name;
    std::size_t number;  // of the address, as the kernel lists them

    auto operator<=>(const Rank&) const = default;
};

class Chooser {
public:
    Chooser(const Surroundings& surroundings, const std::string& wanted);
    ddi::Networks take() {
        FCI_ASSERT((networks_.choice.host != 0) == networks_.error.empty());
        return std::move(networks_);
    }

private:
    struct Candidate {
        Rank rank;
        std::size_t row;
        std::uint32_t host;
        const Interface* interface;
    };

    void sort_ways();
    void add(const Interface& interface, const Interface::Address& address);
    [[nodiscard]] std::string flaw(const Interface& interface,
                                   const Interface::Address& address) const;
    void choose();
    void choose_loopback();
    void explain(const Candidate& winner);
    [[nodiscard]] std::string merits(const Candidate& winner) const;
    [[nodiscard]] std::string against(const Candidate& loser, const Candidate& winner) const;
    [[nodiscard]] std::string others() const;
    [[nodiscard]] std::string list() const;
    void fail(const std::string& what);
    [[nodiscard]] bool leads_to_launcher(const Candidate& candidate) const {
        return candidate.rank.way < ways_.size();
    }

    const Surroundings& surroundings_;
    const std::string& wanted_;
    std::optional<NetworkPattern> pattern_;
    std::vector<std::uint32_t> ways_;  // own addresses, the best first
    std::vector<Candidate> candidates_;
    std::optional<Candidate> loopback_;
    ddi::Networks networks_;
};

/// An address in a subnet of this host is more to be trusted than one that some router may know.
void Chooser::sort_ways() {
    std::vector<std::uint32_t> far;
    for (const Surroundings::Way& way : surroundings_.ways) {
        if (way.own == 0) continue;
        const bool near = std::ranges::any_of(surroundings_.interfaces, [&](const Interface& one) {
            return std::ranges::any_of(one.addresses, [&](const Interface::Address& address) {
                const std::uint32_t mask = network_mask(address.prefix_bits);
                return address.host == way.own && ((address.host ^ way.launcher) & mask) == 0;
            });
        });
        (near ? ways_ : far).push_back(way.own);
    }
    ways_.insert(ways_.end(), far.begin(), far.end());
}

std::string Chooser::flaw(const Interface& interface, const Interface::Address& address) const {
    const bool has_address = address.host != 0;
    if (pattern_ && (has_address || !pattern_->is_subnet())) {
        if (std::string why = pattern_->mismatch(interface, address); !why.empty()) return why;
    }
    if (!interface.is_up) return "down";
    if (!has_address) return interface.has_ipv6 ? kOnlyIpv6 : "no address";
    if (!interface.has_link) return "no link";
    const bool by_interface = !(pattern_ && pattern_->is_subnet());
    const bool is_loopback =
        is_loopback_address(address.host) || (interface.is_loopback && by_interface);
    if (is_loopback && !(pattern_ && pattern_->admits_loopback())) return "loopback";
    if (is_link_local(address.host) && !(pattern_ && pattern_->admits_link_local())) {
        return "link-local address";
    }
    return "";
}

void Chooser::add(const Interface& interface, const Interface::Address& address) {
    ddi::NetworkRow row{interface.name, "", flaw(interface, address)};
    if (address.host != 0) {
        row.address = address_text(address.host) + "/" + std::to_string(address.prefix_bits);
    }
    const auto way = std::ranges::find(ways_, address.host);
    const Candidate candidate{
        {nature_of(interface, surroundings_.interfaces),
         static_cast<std::size_t>(way - ways_.begin()), address.host != surroundings_.default_own,
         interface.name, networks_.rows.size()},
        networks_.rows.size(),
        address.host,
        &interface};
    if (row.why.empty()) {
        candidates_.push_back(candidate);
    } else if (!loopback_ && interface.is_loopback && interface.is_up &&
               is_loopback_address(address.host)) {
        loopback_ = candidate;
    }
    networks_.rows.push_back(std::move(row));
}

Chooser::Chooser(const Surroundings& surroundings, const std::string& wanted)
    : surroundings_(surroundings), wanted_(wanted) {
    std::string complaint;
    if (!wanted.empty()) pattern_ = NetworkPattern::parse(wanted, &complaint);
    sort_ways();
    for (const Interface& interface : surroundings.interfaces) {
        for (const Interface::Address& address : interface.addresses) add(interface, address);
        if (interface.addresses.empty()) add(interface, {});
    }
    if (!complaint.empty()) {
        fail(complaint);
    } else if (!candidates_.empty()) {
        choose();
    } else if (pattern_) {
        fail(pattern_->is_subnet() ? "has no usable address of this host"
                                   : "fits no usable network interface of this host");
    } else {
        choose_loopback();
    }
}

void Chooser::choose() {
    std::ranges::sort(candidates_, {}, &Candidate::rank);
    const Candidate& winner = candidates_.front();
    FCI_ASSERT(winner.host != 0);
    for (const Candidate& loser : candidates_) {
        networks_.rows[loser.row].why = against(loser, winner);
    }
    networks_.rows[winner.row].why = merits(winner);
    explain(winner);
}

void Chooser::choose_loopback() {
    if (!loopback_) {
        fail("");
        return;
    }
    networks_.rows[loopback_->row].why =
        "no other interface can be used: only processes on this host can be reached";
    explain(*loopback_);
}

void Chooser::explain(const Candidate& winner) {
    FCI_ASSERT(winner.row < networks_.rows.size());
    ddi::NetworkRow& row = networks_.rows[winner.row];
    row.chosen = true;
    networks_.choice = {winner.host, address_text(winner.host) + " (" + row.interface + ")",
                        row.why + others()};
}

std::string Chooser::merits(const Candidate& winner) const {
    std::string text = nature_text(winner.rank.nature, *winner.interface);
    if (leads_to_launcher(winner)) text += ", towards the launcher";
    if (!winner.rank.no_default) text += ", has the default route";
    if (!winner.interface->has_multicast && !winner.interface->is_loopback) {
        text += ", without multicast (ip link set " + winner.interface->name + " multicast on)";
    }
    if (pattern_) text += ", as FCI_NET=" + wanted_ + " says";
    if (is_loopback_address(winner.host)) {
        text += ": only processes on this host can be reached";
    }
    return text;
}

std::string Chooser::against(const Candidate& loser, const Candidate& winner) const {
    if (loser.rank.nature != winner.rank.nature) {
        return nature_text(loser.rank.nature, *loser.interface);
    }
    if (loser.rank.way != winner.rank.way) {
        return leads_to_launcher(loser) ? "towards an address of the launcher that counts less"
                                        : "not towards the launcher";
    }
    if (loser.rank.no_default != winner.rank.no_default) return "not the default route";
    return loser.interface == winner.interface ? "a further address" : "later by name";
}

/// "; not docker0 172.17.0.1/16, virbr0 192.168.122.1/24: virtual (bridge)". Loopback, and
/// interfaces without an address, are not named.
std::string Chooser::others() const {
    std::map<std::string, std::vector<const ddi::NetworkRow*>> by_reason;
    for (const ddi::NetworkRow& row : networks_.rows) {
        const bool plain = row.why == "loopback" || (row.address.empty() && row.why != kOnlyIpv6);
        if (!row.chosen && !plain) by_reason[row.why].push_back(&row);
    }
    std::string text;
    for (const auto& [why, rows] : by_reason) {
        for (std::size_t i = 0; i < std::min(rows.size(), kNamedMost); ++i) {
            text += i == 0 ? "; not " : ", ";
            text += rows[i]->interface;
            if (!rows[i]->address.empty()) text += " " + rows[i]->address;
        }
        if (rows.size() > kNamedMost) {
            text += " and " + std::to_string(rows.size() - kNamedMost) + " more";
        }
        text += ": " + why;
    }
    return text;
}

std::string Chooser::list() const {
    const std::vector<ddi::NetworkRow>& rows = networks_.rows;
    std::string text;
    for (std::size_t i = 0; i < std::min(rows.size(), kListedMost); ++i) {
        text += (i == 0 ? "" : ", ") + rows[i].interface;
        if (!rows[i].address.empty()) text += " " + rows[i].address;
        // If FCI_NET can mean no network, none of them is to blame.
        if (!rows[i].why.empty() && (pattern_ || wanted_.empty())) text += " (" + rows[i].why + ")";
    }
    if (rows.size() > kListedMost) {
        text += " and " + std::to_string(rows.size() - kListedMost) + " more";
    }
    return rows.empty() ? "none" : text;
}

void Chooser::fail(const std::string& what) {
    networks_.error =
        wanted_.empty()
            ? "no network interface of this host can be used, not even loopback. There are: " +
                  list() + ". FCI needs one that is up and has an IPv4 address: ip link set lo up."
            : "FCI_NET=" + quoted(wanted_) + " " + what + ". There are: " + list() +
                  ". FCI_NET takes the name of one (eth0), a pattern (eth*), an IPv4 subnet or "
                  "address (10.1.0.0/16); names may differ from host to host, where a subnet does "
                  "not. Correct it, or unset it to have one chosen.";
}

}  // namespace

ddi::Networks choose(const Surroundings& surroundings, const std::string& wanted) {
    return Chooser(surroundings, wanted).take();
}

}  // namespace fci::host
