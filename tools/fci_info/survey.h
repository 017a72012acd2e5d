// SPDX-License-Identifier: BSD-3-Clause
// Survey: what this installation of FCI is and can do here, asked through icl.h only.
#pragma once

#include <string>
#include <vector>

#include "fci_core/api/icl.h"

namespace fci::tools::info {

struct Driver {
    std::string name, summary, reason;
    bool usable = false;
};

struct Option {
    std::string name, env, fallback, value, help, from;
};

/// An address of a network interface, or one that has none.
struct Interface {
    std::string name, address, why;
    bool chosen = false;
};

struct Counter {
    std::string name, help;
};

/// One row of "how a message of this length travels".
struct Way {
    std::size_t from = 0, to = 0;  // bytes; to == 0: no end
    std::string text;
};

struct Survey {
    std::string version;
    std::vector<Driver> drivers;
    std::vector<Option> options;
    std::vector<Counter> counters;
    std::vector<Interface> interfaces;
    std::string network;               // where a process listens on a network and why, or an error
    bool has_network = false;
    bool network_is_refused = false;   // FCI_NET is set, and no network is what it says
    std::vector<std::string> unknown;  // FCI_* variables that are no option
    std::string error;                 // why no context could be opened; empty: one could
    std::string driver, driver_reason, protocol, wait_policy, summary;
    struct fci_icl_limits limits{};    // its names are not valid any more
    std::vector<Way> ways;
};

/// `local_ranks` 0: as the launcher says.
Survey take_survey(unsigned local_ranks);

std::vector<Way> ways_of(const struct fci_icl_limits& limits);

/// "64 KiB", "40 B".
std::string bytes_text(std::size_t bytes);

}  // namespace fci::tools::info
