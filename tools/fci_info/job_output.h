// SPDX-License-Identifier: BSD-3-Clause
// Output of jobs, for people and for programs.
#pragma once

#include <string>

#include "tools/fci_info/job.h"

namespace fci::tools::info {

struct JobDetails {
    bool counters = false, peers = false;  // every one
};

/// `search`: what was asked for, so that finding nothing can be said in its words.
std::string jobs_text(const Jobs& jobs, const JobSearch& search, JobDetails details);
std::string jobs_json(const Jobs& jobs);

}  // namespace fci::tools::info
