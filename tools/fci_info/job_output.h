// Output of jobs, for people and for programs.
#pragma once

#include <string>

#include "tools/fci_info/job.h"

namespace fci::info {

/// `search`: what was asked for, so that finding nothing can be said in its words.
std::string jobs_text(const Jobs& jobs, const JobSearch& search, bool counters);
std::string jobs_json(const Jobs& jobs);

}  // namespace fci::info
