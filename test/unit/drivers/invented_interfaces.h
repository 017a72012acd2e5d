// SPDX-License-Identifier: BSD-3-Clause
// Hosts that do not exist, for tests of which network is chosen.
#pragma once

#include <arpa/inet.h>

#include <initializer_list>
#include <string>
#include <utility>

#include "drivers/host/network_choice.h"

namespace fci::host {

inline std::uint32_t ip(const char* text) {
    return inet_addr(text);
}

/// A host's interfaces, put together one after the other. All are up unless it is said.
class Invented {
public:
    Invented() { loopback(); }

    /// `address` as "10.0.0.1/24", or empty.
    Interface& add(const std::string& name, const std::string& kind, const std::string& address) {
        Interface& added = host_.interfaces.emplace_back();
        added.index = static_cast<int>(host_.interfaces.size());
        added.name = name;
        added.kind = kind;
        added.is_up = added.has_link = added.is_hardware_type = added.has_multicast = true;
        give(added, address);
        return added;
    }
    static void give(Interface& interface, const std::string& address) {
        if (address.empty()) return;
        const std::size_t slash = address.find('/');
        const unsigned long bits = std::stoul(address.substr(slash + 1));
        interface.addresses.push_back(
            {ip(address.substr(0, slash).c_str()), static_cast<unsigned>(bits)});
    }
    Interface& physical(const std::string& name, const std::string& address) {
        return add(name, "", address);
    }
    Interface& loopback() {
        Interface& lo = add("lo", "", "127.0.0.1/8");
        lo.is_loopback = true;
        lo.is_hardware_type = false;
        return lo;
    }
    /// The launcher at this address is reached with that own one.
    Invented& launcher(const char* address, const char* own) {
        host_.ways.push_back({ip(address), ip(own)});
        return *this;
    }
    Invented& default_route(const char* own) {
        host_.default_own = ip(own);
        return *this;
    }
    Invented& no_loopback() {
        host_.interfaces.erase(host_.interfaces.begin());
        return *this;
    }

    [[nodiscard]] ddi::Networks choose(const std::string& wanted = "") const {
        return host::choose(host_, wanted);
    }
    /// "10.0.0.1 (eth0)", or the error.
    [[nodiscard]] std::string chosen(const std::string& wanted = "") const {
        const ddi::Networks networks = choose(wanted);
        return networks.choice.host != 0 ? networks.choice.place : networks.error;
    }
    /// What is said of an address.
    [[nodiscard]] std::string why(const std::string& name, const std::string& wanted = "") const {
        for (const ddi::NetworkRow& row : choose(wanted).rows) {
            if (row.interface == name) return row.why;
        }
        return "no such interface";
    }

private:
    Surroundings host_;
};

}  // namespace fci::host
