// SPDX-License-Identifier: BSD-3-Clause
#include "drivers/host/nature.h"

#include <algorithm>
#include <initializer_list>
#include <string_view>

namespace fci::host {

namespace {

constexpr unsigned kLayersMost = 8;  // of a VLAN over a bond over ...

bool is_one_of(const std::string& word, std::initializer_list<std::string_view> words) {
    return std::ranges::find(words, word) != words.end();
}

/// True: programs that make networks inside a host give their interfaces such names.
bool is_named_as_software(const std::string& name) {
    const auto prefixes = {"docker", "br-",  "virbr", "veth",  "vnet",   "tun",     "tap",  "wg",
                           "cni",    "cali", "lxc",   "lxdbr", "podman", "flannel", "dummy"};
    return std::ranges::any_of(prefixes,
                               [&](const char* prefix) { return name.starts_with(prefix); });
}

Nature find_nature(const Interface& interface, const std::vector<Interface>& all, unsigned layers) {
    if (interface.is_loopback) return Nature::loopback;
    if (layers == 0) return Nature::software;
    const auto is_physical = [&](const Interface& lower) {
        return find_nature(lower, all, layers - 1) == Nature::physical;
    };
    if (interface.kind.empty()) {
        return interface.is_hardware_type && !is_named_as_software(interface.name)
                   ? Nature::physical
                   : Nature::software;
    }
    if (is_one_of(interface.kind, {"veth", "netkit"})) {
        return is_named_as_software(interface.name) ? Nature::software : Nature::container;
    }
    bool physical = false;
    if (is_one_of(interface.kind, {"bond", "team", "bridge"})) {
        physical = std::ranges::any_of(all, [&](const Interface& other) {
            return other.master == interface.index && is_physical(other);
        });
    } else if (is_one_of(interface.kind,
                         {"vlan", "macvlan", "macvtap", "ipvlan", "ipvtap", "ipoib", "dsa"})) {
        // If the parent is in another namespace, the host lent the interface to this container.
        physical =
            interface.has_parent_elsewhere || std::ranges::any_of(all, [&](const Interface& other) {
                return other.index == interface.parent && is_physical(other);
            });
    }
    return physical ? Nature::physical : Nature::software;
}

}  // namespace

Nature nature_of(const Interface& interface, const std::vector<Interface>& all) {
    return find_nature(interface, all, kLayersMost);
}

std::string nature_text(Nature nature, const Interface& interface) {
    if (nature == Nature::loopback) return "loopback";
    return (nature == Nature::physical ? "physical" : "virtual") +
           (interface.kind.empty() ? "" : " (" + interface.kind + ")");
}

}  // namespace fci::host
