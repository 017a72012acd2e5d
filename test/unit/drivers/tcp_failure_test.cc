// SPDX-License-Identifier: BSD-3-Clause
// The words that a user hears of a call that did not get through.
#include "drivers/tcp/failure.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>

#include <cerrno>
#include <utility>

namespace fci::tcp {
namespace {

const ddi::Card kFrom{2, 0, htonl(0x0a4d0002), 1}, kTo{2, htons(4711), htonl(0x0a4d0003), 2};

TEST(tcp_failure, failure_of__says_where_why_and_what_to_do) {
    const char* const open =
        "; is it the right address (FCI_NET), and does a firewall let TCP "
        "through? `nc -vz 10.77.0.3 4711` tries it while the process is there, "
        "and FCI_PORTS names the ports to be let through";
    const std::string cannot = "cannot connect to 10.77.0.3:4711: ";
    const std::pair<int, std::string> all[] = {
        {ECONNREFUSED,
         "nobody listens at 10.77.0.3:4711; has the process ended, or never started, "
         "or does a firewall refuse TCP?"},
        {EADDRNOTAVAIL,
         "cannot call 10.77.0.3:4711: this host has the address 10.77.0.2 no more; "
         "has its interface gone down, or got another address? FCI_NET names the "
         "network to be used"},
        {EAGAIN, cannot + "no port of this host is free for that; other programs have them, or "
                          "net.ipv4.ip_local_port_range (sysctl) is too small"},
        {ENOBUFS, cannot + "No buffer space available; this host needs more memory, or fewer "
                           "processes"},
        {ENOMEM,
         cannot + "Cannot allocate memory; this host needs more memory, or fewer processes"},
        {EMFILE, cannot +
                     "Too many open files; raise the limit of open files (ulimit -n), or start "
                     "fewer processes"},
        {ENFILE, cannot + "Too many open files in system; raise the limit of open files (ulimit -n)"
                          ", or start fewer processes"},
        {EHOSTUNREACH, cannot + "No route to host" + open},
        {ETIMEDOUT, cannot + "Connection timed out" + open},
        {ENETUNREACH, cannot + "Network is unreachable" + open},
    };
    for (const auto& [error, said] : all) EXPECT_EQ(failure_of(kFrom, kTo, error), said);
}

}  // namespace
}  // namespace fci::tcp
