// SPDX-License-Identifier: BSD-3-Clause
#include "test/simulation/one_run.h"
#include "test/simulation/simulation.h"

namespace fci::simulation {

const char kProgram[] = "simulation";
const char kSeedsFile[] = "test/simulation/seeds.txt";
const bool kHasNetworks = true;

OneRun run_once(std::uint64_t seed, const RunOptions& options) {
    Simulation simulation(seed, options.network, options.protocol);
    std::string failure = simulation.run();
    return {std::move(failure), simulation.describe(), simulation.digest(), simulation.messages(),
            simulation.counters()};
}

}  // namespace fci::simulation
