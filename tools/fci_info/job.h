// SPDX-License-Identifier: BSD-3-Clause
// Job: the processes on this host that work together over FCI, found by the reports that they show.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

#include "fci_core/base/report.h"

namespace fci::tools::info {

/// "connected"
const char* word_for(PeerRow::State state) noexcept;

/// "10.0.0.2"
std::string address_of(const PeerRow& peer);

/// One open context. A process may have several.
struct JobContext {
    pid_t pid = 0;
    long rank = -1;  // -1: the launcher said none
    std::string program;
    Report report{};
    std::vector<PeerRow> peers;

    [[nodiscard]] std::uint64_t sent() const noexcept;
    /// Not those whose receiver is a handler.
    [[nodiscard]] std::uint64_t received() const noexcept;
};

struct Job {
    std::string name;  // the launcher's; empty: it gave none
    pid_t launcher = 0;
    std::string launcher_program;
    std::uint64_t cookie = 0;
    std::vector<JobContext> contexts;  // by rank, then pid

    /// Of all contexts together.
    [[nodiscard]] ReportFigures sum() const noexcept;
    [[nodiscard]] std::uint64_t processes() const noexcept;
};

/// Bytes of private and of own shared memory.
struct JobMemory {
    std::uint64_t per_rank = 0;
    std::uint64_t per_connected_peer = 0;  // of it, for each peer that a rank is connected with
    std::uint64_t per_known_peer = 0;      // likewise, for each that it knows
};
JobMemory memory_of(const Job& job) noexcept;

struct JobSearch {
    bool all_users = false;  // also the jobs of others, as far as they can be seen
    pid_t pid = 0;           // the job of this process only; 0: all
};

struct Jobs {
    std::vector<Job> jobs;
    unsigned other_users = 0;    // processes that were not looked into
    unsigned other_version = 0;  // contexts of another version of FCI
    unsigned damaged = 0;        // descriptors that only look like a report
};
Jobs find_jobs(const JobSearch& search);

}  // namespace fci::tools::info
