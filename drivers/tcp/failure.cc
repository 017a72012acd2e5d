// SPDX-License-Identifier: BSD-3-Clause
#include "drivers/tcp/failure.h"

#include <arpa/inet.h>

#include <cerrno>

#include "drivers/host/descriptor.h"
#include "drivers/host/place.h"

namespace fci::tcp {

std::string remedy(const ddi::Card& to) {
    return "`nc -vz " + host::address_text(to.host) + " " + std::to_string(ntohs(to.port)) +
           "` tries it while the process is there, and FCI_PORTS names the ports to be let through";
}

std::string failure_of(const ddi::Card& from, const ddi::Card& to, int error) {
    const std::string place = host::place_text(to);
    const std::string failure = host::system_text("cannot connect to " + place, error);
    switch (error) {
        case ECONNREFUSED:
            return "nobody listens at " + place +
                   "; has the process ended, or never started, or does a firewall refuse TCP?";
        case EADDRNOTAVAIL:
            return "cannot call " + place + ": this host has the address " +
                   host::address_text(from.host) + " no more; has its interface gone down, or got "
                   "another address? FCI_NET names the network to be used";
        case EAGAIN:
            return "cannot connect to " + place + ": no port of this host is free for that; other "
                   "programs have them, or net.ipv4.ip_local_port_range (sysctl) is too small";
        case ENOBUFS:
        case ENOMEM: return failure + "; this host needs more memory, or fewer processes";
        case EMFILE:
        case ENFILE:
            return failure +
                   "; raise the limit of open files (ulimit -n), or start fewer processes";
        default:
            return failure + "; is it the right address (FCI_NET), and does a firewall let TCP "
                             "through? " + remedy(to);
    }
}

}  // namespace fci::tcp
