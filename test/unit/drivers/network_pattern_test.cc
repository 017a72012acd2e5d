// SPDX-License-Identifier: BSD-3-Clause
// What FCI_NET may say, what it must not, and what it then means on invented hosts.
#include "drivers/host/network_pattern.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "drivers/host/networks.h"
#include "test/unit/drivers/invented_interfaces.h"

namespace fci::host {
namespace {

struct Network : testing::Test {
    Network() {
        host.add("docker0", "bridge", "172.17.0.1/16");
        host.physical("eth0", "192.168.1.5/24");
        host.physical("eth1", "10.1.0.5/16");
        host.physical("eth2", "10.2.0.5/16").is_up = false;
        host.physical("eth3", "").has_ipv6 = true;
        host.physical("eth4", "169.254.7.7/16");
    }
    void expect_error(const std::string& wanted, const std::string& part) const {
        const ddi::Networks networks = host.choose(wanted);
        EXPECT_EQ(networks.choice.host, 0u) << wanted;
        EXPECT_NE(networks.error.find(part), std::string::npos) << networks.error;
        for (const char* listed : {"lo 127.0.0.1/8", "docker0 172.17.0.1/16", "eth3", "unset it"}) {
            EXPECT_NE(networks.error.find(listed), std::string::npos) << networks.error;
        }
        EXPECT_EQ(networks.error.find('\n'), std::string::npos);
    }

    Invented host;
};

TEST_F(Network, choose__the_interface_that_is_named) {
    EXPECT_EQ(host.chosen("eth1"), "10.1.0.5 (eth1)");
    EXPECT_EQ(host.chosen("docker0"), "172.17.0.1 (docker0)");
    EXPECT_EQ(host.chosen("lo"), "127.0.0.1 (lo)");
    EXPECT_EQ(host.chosen("eth4"), "169.254.7.7 (eth4)");
    EXPECT_EQ(host.why("eth1", "eth1"), "physical, as FCI_NET=eth1 says");
    EXPECT_EQ(host.why("eth0", "eth1"), "another name");
    EXPECT_EQ(host.choose("eth1").choice.reason,
              "physical, as FCI_NET=eth1 says; not lo 127.0.0.1/8, docker0 172.17.0.1/16, eth0 "
              "192.168.1.5/24, eth2 10.2.0.5/16 and 1 more: another name");
    EXPECT_EQ(host.why("lo", "lo"),
              "loopback, as FCI_NET=lo says: only processes on this host can be reached");
    expect_error("eth", "fits no usable network interface");
    expect_error("eth2", "eth2 10.2.0.5/16 (down)");
    expect_error("eth3", "eth3 (only IPv6 addresses)");
    expect_error("ETH1", "(another name)");
}

TEST_F(Network, choose__the_best_that_fits_a_pattern) {
    EXPECT_EQ(host.chosen("eth*"), "192.168.1.5 (eth0)");
    EXPECT_EQ(host.chosen("*"), "192.168.1.5 (eth0)");
    EXPECT_EQ(host.chosen("*1"), "10.1.0.5 (eth1)");
    EXPECT_EQ(host.chosen("d*r?"), "172.17.0.1 (docker0)");
    host.launcher("10.1.0.1", "10.1.0.5");
    EXPECT_EQ(host.chosen("eth?"), "10.1.0.5 (eth1)");
    EXPECT_EQ(host.why("docker0", "eth?"), "does not fit eth?");
    expect_error("en*", "(does not fit en*)");
    expect_error("l*", "lo 127.0.0.1/8 (loopback)");
}

TEST_F(Network, choose__the_address_in_a_subnet) {
    EXPECT_EQ(host.chosen("10.1.0.0/16"), "10.1.0.5 (eth1)");
    EXPECT_EQ(host.chosen("10.1.77.7/16"), "10.1.0.5 (eth1)") << "also named by one of its hosts";
    EXPECT_EQ(host.chosen("10.1.0.5"), "10.1.0.5 (eth1)");
    EXPECT_EQ(host.chosen("0.0.0.0/0"), "192.168.1.5 (eth0)");
    EXPECT_EQ(host.chosen("127.0.0.1"), "127.0.0.1 (lo)");
    EXPECT_EQ(host.chosen("127.0.0.0/8"), "127.0.0.1 (lo)");
    EXPECT_EQ(host.chosen("169.254.0.0/16"), "169.254.7.7 (eth4)");
    EXPECT_EQ(host.why("eth0", "10.1.0.0/16"), "outside of 10.1.0.0/16");
    expect_error("10.3.0.0/16", "has no usable address of this host");
    expect_error("10.2.0.0/16", "eth2 10.2.0.5/16 (down)");
    expect_error("10.1.0.6", "(another address than 10.1.0.6)");
    expect_error("127.0.0.2", "has no usable address");
    expect_error("168.0.0.0/7", "(link-local address)");
    Invented::give(host.loopback(), "10.9.0.1/32");  // routers know it
    EXPECT_EQ(host.chosen("10.9.0.0/16"), "10.9.0.1 (lo)");
}

TEST_F(Network, choose__what_can_mean_no_network_is_an_error) {
    for (const char* bad : {"10.0.0.0/33", "10.0.0.0/", "10.0.0.0/-1", "10.0.0.0/1x", "10.0.0/8",
                            "10.0.0.0/99999999999999999999", "/", "/8", "eth0/8", "10.0.0.256",
                            "1.2.3.4.5", "10.0.0.0/8/8", "0x0a.0.0.1/8", "....", "é/8"}) {
        expect_error(bad, "is no IPv4 subnet");
    }
    expect_error("eth0,eth1", "is a list, where one network is named");
    expect_error("eth0 ", "is a list");
    expect_error("fe80::1", "is an IPv6 address, and FCI uses IPv4 only");
    expect_error("::/0", "is an IPv6 address");
    expect_error("a_name_of_16_byt", "is longer than the name of an interface can be");
    expect_error("läpp-göteborg", "fits no usable");
    expect_error("\xff\xfe", "fits no usable");
    expect_error("eth0\033[2J", "'eth0?[2J'");
    expect_error("eth[0]", "fits no usable");
    const std::string endless(100'000, 'e');
    expect_error(endless, "eee...' is longer than");
    expect_error(endless + "*", "is longer than");
    expect_error(endless + "/8", "is no IPv4 subnet");
    EXPECT_LT(host.choose(endless).error.size(), 1000u);
    EXPECT_EQ(host.chosen(""), "192.168.1.5 (eth0)");
}

TEST(FitsGlob, fits_glob__what_stars_and_marks_stand_for) {
    for (const char* pattern : {"eth0", "*", "**", "eth*", "*0", "e*h*0", "?th0", "eth0*"}) {
        EXPECT_TRUE(fits_glob(pattern, "eth0")) << pattern;
    }
    for (const char* pattern : {"", "eth", "eth00", "*1", "???", "?????", "e*t", "Eth0", "eth0?"}) {
        EXPECT_FALSE(fits_glob(pattern, "eth0")) << pattern;
    }
    EXPECT_TRUE(fits_glob("", ""));
    EXPECT_FALSE(fits_glob("*a*a*a*a*a*a*a*a*a*a*a*a*b", std::string(10'000, 'a')));
}

TEST(NetworksHere, networks_here__this_host_has_at_least_loopback) {
    const ddi::Networks networks = networks_here({"lo", {}});
    EXPECT_EQ(networks.choice.host, htonl(INADDR_LOOPBACK)) << networks.error;
    const ddi::Networks any = networks_here({"", {ip("203.0.113.7"), htonl(INADDR_LOOPBACK)}});
    EXPECT_NE(any.choice.host, 0u) << any.error;
    EXPECT_EQ(std::ranges::count(any.rows, true, &ddi::NetworkRow::chosen), 1);
}

TEST(NetworksHere, place_to_listen__what_a_program_names_comes_first) {
    std::string error;
    const auto choice = place_to_listen(htonl(INADDR_LOOPBACK), {"nosuch", {}}, &error);
    EXPECT_EQ(choice.place, "127.0.0.1");
    EXPECT_EQ(error, "");
    EXPECT_EQ(place_to_listen(0, {"nosuch", {}}, &error).host, 0u);
    EXPECT_NE(error.find("FCI_NET='nosuch'"), std::string::npos);
}

}  // namespace
}  // namespace fci::host
