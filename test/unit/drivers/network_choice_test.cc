// SPDX-License-Identifier: BSD-3-Clause
// Which address is taken where nothing is asked for, on hosts that are invented.
#include "drivers/host/network_choice.h"

#include <gtest/gtest.h>

#include "test/unit/drivers/invented_interfaces.h"

namespace fci::host {
namespace {

TEST(NetworkChoice, choose__physical_before_what_containers_use) {
    Invented host;
    host.add("docker0", "bridge", "172.17.0.1/16");  // the same on every host
    host.physical("enp3s0", "10.0.0.1/24");
    host.add("virbr0", "bridge", "192.168.122.1/24");
    host.add("wg0", "wireguard", "10.8.0.1/24").is_hardware_type = false;
    host.default_route("10.8.0.1");
    EXPECT_EQ(host.chosen(), "10.0.0.1 (enp3s0)");
    EXPECT_EQ(host.choose().choice.reason,
              "physical; not docker0 172.17.0.1/16, virbr0 192.168.122.1/24: virtual (bridge); "
              "not wg0 10.8.0.1/24: virtual (wireguard)");
}

TEST(NetworkChoice, choose__equal_addresses_of_docker_mislead_no_launcher) {
    Invented host;
    host.add("docker0", "bridge", "172.17.0.1/16");
    host.physical("eth0", "10.0.0.2/24");
    host.launcher("172.17.0.1", "172.17.0.1").launcher("10.0.0.1", "10.0.0.2");
    EXPECT_EQ(host.chosen(), "10.0.0.2 (eth0)");
}

TEST(NetworkChoice, choose__virtual_ones_where_there_are_no_others) {
    Invented host;
    host.add("docker0", "dummy", "172.17.0.1/16");
    EXPECT_EQ(host.chosen(), "172.17.0.1 (docker0)");
    host.add("eth0", "veth", "10.0.0.1/24");  // a container's, or a laboratory's
    EXPECT_EQ(host.chosen(), "10.0.0.1 (eth0)");
    EXPECT_EQ(host.why("docker0"), "virtual (dummy)");
    host.add("veth12ab", "veth", "10.0.9.1/24");  // the outer end of another one
    EXPECT_EQ(host.chosen(), "10.0.0.1 (eth0)");
}

TEST(NetworkChoice, choose__says_that_broadcasts_cannot_go_by_multicast) {
    Invented host;
    host.physical("eth0", "10.0.0.1/24").has_multicast = false;
    EXPECT_EQ(host.why("eth0"), "physical, without multicast (ip link set eth0 multicast on)");
}

TEST(NetworkChoice, choose__names_count_where_the_kernel_tells_no_kind) {
    Invented host;
    host.physical("docker0", "172.17.0.1/16");
    host.physical("tun0", "10.9.0.1/24").is_hardware_type = false;
    host.physical("ens1", "10.0.0.1/24");
    EXPECT_EQ(host.chosen(), "10.0.0.1 (ens1)");
    EXPECT_EQ(host.why("docker0"), "virtual");
    EXPECT_EQ(host.why("tun0"), "virtual");
}

TEST(NetworkChoice, choose__what_is_made_of_hardware_is_physical) {
    constexpr int kBond = 4, kBridge = 6;  // indices: loopback has 1
    Invented host;
    host.physical("eth0", "").master = kBond;
    host.physical("eth1", "").master = kBond;
    EXPECT_EQ(host.add("bond0", "bond", "").index, kBond);
    Interface& tagged = host.add("bond0.7", "vlan", "10.0.7.2/24");
    tagged.parent = kBond;
    tagged.master = kBridge;
    EXPECT_EQ(host.add("bridge7", "bridge", "10.0.8.1/24").index, kBridge);
    host.add("bond1", "bond", "10.0.1.1/24");  // without members
    EXPECT_EQ(host.why("bridge7"), "later by name");
    EXPECT_EQ(host.why("bond0.7"), "physical (vlan)");
    EXPECT_EQ(host.chosen("10.0.8.0/24"), "10.0.8.1 (bridge7)");
    EXPECT_EQ(host.why("bridge7", "bridge7"), "physical (bridge), as FCI_NET=bridge7 says");
    EXPECT_EQ(host.why("bond1"), "virtual (bond)");
}

TEST(NetworkChoice, choose__what_lies_on_software_is_software) {
    Invented host;
    const int veth = host.add("veth1", "veth", "").index;
    host.add("veth1.7", "vlan", "10.0.7.1/24").parent = veth;
    host.physical("eth0", "10.0.0.1/24");
    EXPECT_EQ(host.chosen(), "10.0.0.1 (eth0)");
    EXPECT_EQ(host.why("veth1.7"), "virtual (vlan)");
}

TEST(NetworkChoice, choose__a_device_that_the_host_lent_to_a_container) {
    Invented host;
    host.add("eth0", "veth", "10.244.0.7/24");
    host.add("net1", "macvlan", "192.168.5.7/24").has_parent_elsewhere = true;
    host.default_route("10.244.0.7");
    EXPECT_EQ(host.chosen(), "192.168.5.7 (net1)");
}

TEST(NetworkChoice, choose__layers_in_a_circle_end) {
    Invented host;
    host.add("a", "vlan", "10.0.0.1/24").parent = 3;
    host.add("b", "vlan", "10.0.1.1/24").parent = 2;
    EXPECT_EQ(host.chosen(), "10.0.0.1 (a)");
}

TEST(NetworkChoice, choose__towards_the_launcher_among_equals) {
    Invented host;
    host.physical("eth0", "192.168.1.5/24");
    host.physical("eth1", "10.0.0.5/24");
    host.default_route("192.168.1.5");
    EXPECT_EQ(host.chosen(), "192.168.1.5 (eth0)");
    EXPECT_EQ(host.why("eth1"), "not the default route");
    host.launcher("10.0.0.1", "10.0.0.5");
    EXPECT_EQ(host.chosen(), "10.0.0.5 (eth1)");
    EXPECT_EQ(host.why("eth1"), "physical, towards the launcher");
    EXPECT_EQ(host.why("eth0"), "not towards the launcher");
}

TEST(NetworkChoice, choose__the_launchers_addresses_in_own_subnets_count_first) {
    Invented host;
    host.physical("eth0", "192.168.1.5/24");
    host.physical("eth1", "10.0.0.5/24");
    // The first one is behind some router, if there is such a host at all.
    host.launcher("192.168.77.1", "192.168.1.5").launcher("10.0.0.1", "10.0.0.5");
    host.launcher("203.0.113.1", "0.0.0.0");
    EXPECT_EQ(host.chosen(), "10.0.0.5 (eth1)");
    EXPECT_EQ(host.why("eth0"), "towards an address of the launcher that counts less");
}

TEST(NetworkChoice, choose__names_decide_at_last) {
    Invented host;
    host.physical("eth1", "10.0.1.1/24");
    Invented::give(host.physical("eth0", "10.0.0.1/24"), "10.0.0.2/24");
    EXPECT_EQ(host.chosen(), "10.0.0.1 (eth0)");
    EXPECT_EQ(host.why("eth1"), "later by name");
    EXPECT_EQ(host.choose().rows.back().why, "a further address");
}

TEST(NetworkChoice, choose__neither_what_is_down_nor_what_has_no_link) {
    Invented host;
    host.physical("eth0", "10.0.0.1/24").is_up = false;
    host.physical("eth1", "10.0.1.1/24").has_link = false;
    host.add("tap0", "tun", "10.0.2.100/24");
    EXPECT_EQ(host.chosen(), "10.0.2.100 (tap0)");
    EXPECT_EQ(host.why("eth0"), "down");
    EXPECT_EQ(host.why("eth1"), "no link");
    EXPECT_EQ(host.choose().choice.reason,
              "virtual (tun); not eth0 10.0.0.1/24: down; not eth1 10.0.1.1/24: no link");
}

TEST(NetworkChoice, choose__nobody_but_this_host_where_there_is_only_loopback) {
    for (const char* other : {"", "169.254.3.4/16"}) {
        Invented host;
        host.physical("eth0", other).has_ipv6 = true;
        EXPECT_EQ(host.chosen(), "127.0.0.1 (lo)") << other;
        EXPECT_NE(host.choose().choice.reason.find("only processes on this host can be reached"),
                  std::string::npos);
        EXPECT_EQ(host.why("eth0"), *other != '\0' ? "link-local address" : "only IPv6 addresses");
        EXPECT_NE(host.choose().choice.reason.find("not eth0"), std::string::npos);
    }
}

TEST(NetworkChoice, choose__an_address_at_the_loopback_interface_is_no_network) {
    Invented host;
    Invented::give(host.loopback(), "10.255.255.254/32");
    EXPECT_EQ(host.chosen(), "127.0.0.1 (lo)");
}

TEST(NetworkChoice, choose__an_error_where_there_is_nothing) {
    Invented host;
    host.no_loopback().physical("eth0", "").has_ipv6 = true;
    EXPECT_EQ(host.chosen(),
              "no network interface of this host can be used, not even loopback. There are: eth0 "
              "(only IPv6 addresses). FCI needs one that is up and has an IPv4 address: ip link "
              "set lo up.");
    EXPECT_FALSE(choose({}, "").error.empty());
}

TEST(NetworkChoice, choose__a_line_stays_a_line_on_hosts_of_many_containers) {
    Invented host;
    host.physical("eth0", "10.0.0.1/24");
    for (int i = 0; i < 500; ++i) {
        host.add("veth" + std::to_string(i), "veth",
                 "172.17." + std::to_string(i / 250) + "." + std::to_string(i % 250 + 1) + "/32");
    }
    const ddi::Networks networks = host.choose();
    EXPECT_EQ(networks.choice.place, "10.0.0.1 (eth0)");
    EXPECT_NE(networks.choice.reason.find(" and 496 more: virtual (veth)"), std::string::npos);
    EXPECT_LT(networks.choice.reason.size(), 200u);
    EXPECT_LT(host.chosen("nosuch").size(), 4000u);
}

}  // namespace
}  // namespace fci::host
