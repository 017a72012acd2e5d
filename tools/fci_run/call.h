// SPDX-License-Identifier: BSD-3-Clause
// Call: the command line of fci-run.
#pragma once

#include <string>
#include <vector>

#include "tools/launch/hosts.h"

namespace fci::tools {

struct Call {
    unsigned ranks = 0;  // 0: as many as there are slots, or cores
    Hosts hosts;
    std::string hosts_by;  // the option that named them
    std::string way;       // --mpi; empty: it is found out
    bool plain = false, verbose = false;
    std::vector<std::string> assignments;  // FCI_NAME=VALUE
    std::vector<std::string> handed_on;    // names of variables, by -x
    std::vector<std::string> words;        // the program, or a launcher, and what follows
    bool has_launcher = false;             // the first of them is one

    [[nodiscard]] std::string subject() const { return words.front(); }
};

/// Prints what --help and --version want, and ends. Throws Refusal.
Call read_call(int argc, char** argv);

}  // namespace fci::tools
