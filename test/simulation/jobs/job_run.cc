// SPDX-License-Identifier: BSD-3-Clause
#include "test/simulation/jobs/random_job.h"
#include "test/simulation/one_run.h"

namespace fci::simulation {

const char kProgram[] = "job_simulation";
const char kSeedsFile[] = "test/simulation/jobs/seeds.txt";
const bool kHasNetworks = false;

OneRun run_once(std::uint64_t seed, const RunOptions& options) {
    jobs::RandomJob job(seed, options.protocol);
    std::string failure = job.run();
    return {std::move(failure), job.describe(), job.digest(), job.messages(), job.counters()};
}

}  // namespace fci::simulation
