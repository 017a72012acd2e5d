// SPDX-License-Identifier: BSD-3-Clause
// Calls: system calls of the driver that go through the test: counted, or failing where it wants.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <set>

namespace fci {

struct Calls {
    unsigned accepted = 0;     // connections
    long files_sent = 0;       // descriptors, by records that were sent
    long files_received = 0;
    std::set<int> corked;      // TCP sockets that wait for more
    std::map<int, int> ip_options;  // of IPPROTO_IP that were set last, where they are a word
    // Asked before a record with descriptors is sent: 0, or the error with which that fails.
    std::function<int()> fail;
    // Asked before a datagram is sent, or several in one call: likewise.
    std::function<int(bool several)> fail_datagram;
    // Asked before a connection is accepted: likewise.
    std::function<int()> fail_accept;
    // Asked before a descriptor is watched by an epoll: likewise.
    std::function<int()> fail_watch;
    // Asked before a call to another process: likewise.
    std::function<int()> fail_connect;
    unsigned waits = 0;             // by epoll, those that failed too
    std::int64_t wait_limit = 0;    // of the last one, in nanoseconds; below 0: none
    // Asked before a wait whose limit is in nanoseconds: likewise.
    std::function<int()> fail_exact_wait;
    // Called, once, when a connection was made and nothing was said on it yet.
    std::function<void()> connected;
};
extern Calls calls;

}  // namespace fci
