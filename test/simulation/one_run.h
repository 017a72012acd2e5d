// SPDX-License-Identifier: BSD-3-Clause
// OneRun: what main.cc runs for each seed. Two programs have one, each its own: `simulation`
// message passing, `job_simulation` whole jobs.
#pragma once

#include <cstdint>
#include <string>

#include "fci_core/base/counters.h"
#include "fci_core/mp/protocol.h"

namespace fci::simulation {

struct OneRun {
    std::string failure;      // empty: there was none
    std::string description;  // of what the seed chose, for people
    std::uint64_t digest = 0;
    std::uint64_t messages = 0;
    Counters counters;  // of all processes together
};

/// What the processes of a run are on.
enum class Network {
    simulated,
    mixed,    // half of the pairs over shared memory
    shared,   // all of them, with cells and longer messages
    streams,  // the tcp driver, over simulated streams
};

struct RunOptions {
    Network network = Network::simulated;
    const mp::Protocol* protocol = nullptr;  // instead of the one that the seed chooses
};

OneRun run_once(std::uint64_t seed, const RunOptions& options);

extern const char kProgram[];
extern const char kSeedsFile[];  // below the root of the tree
extern const bool kHasNetworks;

}  // namespace fci::simulation
