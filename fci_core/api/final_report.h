// SPDX-License-Identifier: BSD-3-Clause
// FinalReport: what a process says of itself when it closes (FCI_STATS, FCI_REPORT).
#pragma once

#include <sys/types.h>
#include <unistd.h>

#include <chrono>
#include <string>

#include "fci_core/base/counters.h"

namespace fci::api {

struct FinalReport {
    bool as_line = false;    // to standard error, what is not nought
    std::string file;        // one line of JSON is put to its end, everything; empty: none
    int rank = -1;           // as the launcher says; -1: it does not
    unsigned ranks = 0;      // of its job; 0: unknown
    std::string user_agent;  // which MPI, or other program
    std::chrono::steady_clock::time_point opened = std::chrono::steady_clock::now();
    pid_t owner = getpid();  // a child of fork() has nothing to say

    [[nodiscard]] bool asked() const noexcept { return as_line || !file.empty(); }

    [[nodiscard]] double seconds() const {
        return std::chrono::duration<double>(std::chrono::steady_clock::now() - opened).count();
    }

    struct Names {
        std::string driver, protocol, wait;
    };
    void tell(const Counters& counters, const Names& names) const noexcept;
};

}  // namespace fci::api
