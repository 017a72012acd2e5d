// OneRun: what main.cc runs for each seed. Two programs have one, each its own: `simulation`
// message passing, `job_simulation` whole jobs.
#pragma once

#include <cstdint>
#include <string>

#include "fci_core/base/counters.h"

namespace fci::simulation {

struct OneRun {
    std::string failure;      // empty: there was none
    std::string description;  // of what the seed chose, for people
    std::uint64_t digest = 0;
    std::uint64_t messages = 0;
    Counters counters;  // of all processes together
};

/// `mixed`: half of the pairs over shared memory; such a run is not repeated bit by bit.
OneRun run_once(std::uint64_t seed, bool mixed);

extern const char kProgram[];
extern const char kSeedsFile[];  // below the root of the tree
extern const bool kMayBeMixed;

}  // namespace fci::simulation
