// SPDX-License-Identifier: BSD-3-Clause
// The networks that a run may be on, and their time.
#include <arpa/inet.h>

#include <algorithm>
#include <stdexcept>

#include "drivers/tcp/tcp.h"
#include "test/conformance/mixed.h"
#include "test/simulation/simulation.h"

namespace fci::simulation {

namespace {

constexpr Nanoseconds kPatience = 5'000'000;  // with who has closed

/// Of the seed, for a process over shared memory.
shm::Barrier barrier_of(std::uint64_t seed) {
    static constexpr shm::Barrier kBarriers[] = {shm::Barrier::system, shm::Barrier::system,
                                                 shm::Barrier::others, shm::Barrier::none};
    Prng prng(seed ^ 0x62617272696572);
    return one_of(prng, kBarriers);
}

}  // namespace

bool Simulation::shares_memory() const {
    return network_ == Network::shared || network_ == Network::mixed;
}

void Simulation::find_places() {
    if (!shares_memory()) return;
    faults_.first_port = places_.emplace().first();
    Prng clocks(seed_ ^ 0x636c6f636b);
    read_most_ = clocks.between(10, 2'000);
    for (unsigned at = 0; at < processes_; ++at) {
        bells_.emplace_back([this] { return read_clock(); });
    }
}

/// In a few of the seeds.
void Simulation::let_strangers_call(const ddi::Settings& settings) {
    if (knock_percent_ != 0) knocker_.emplace(streams_.add_process(), seed_, settings);
}

std::unique_ptr<ddi::Device> Simulation::open(unsigned process, const ddi::Settings& settings) {
    if (network_ == Network::simulated) return world_.open(settings);
    std::string error;
    if (network_ == Network::streams) {
        ddi::Settings here = settings;
        here.wanted.host = htonl(INADDR_LOOPBACK);
        here.incarnation = 1000 + process;
        here.answers_typed = true;
        Status status;
        auto device = tcp::open_over(streams_.add_process(), here, &status, &error);
        if (device == nullptr) throw std::runtime_error(error);
        return device;
    }
    const shm::Tuning tuning{.patience_typed = kPatience,
                             .patience_given = kPatience,
                             .barrier = barrier_of(seed_),
                             .clock = &bells_[process]};
    ddi::Settings here = settings;
    here.wanted.host = htonl(INADDR_LOOPBACK);
    here.wanted.port = places_->of(process);
    here.incarnation = Prng(seed_ ^ process << 8).between(1, 0xffff'ffff);
    Status status;
    auto device = network_ == Network::shared
                      ? shm::open_shm(here, tuning, &status, &error)
                      : conformance::open_mixed(world_, here, tuning, process & 1, &error);
    if (device == nullptr) throw std::runtime_error(error);
    return device;
}

// --- time ---

Nanoseconds Simulation::now() const {
    return network_ == Network::streams ? streams_.now() : world_.now();
}

/// Where all share memory nothing else makes time go on.
Nanoseconds Simulation::read_clock() {
    if (network_ == Network::shared) {
        world_.run_until(world_.now() + static_cast<Nanoseconds>(clock_.below(read_most_)));
    }
    return world_.now();
}

void Simulation::run_until(Nanoseconds when) {
    network_ == Network::streams ? streams_.run_until(when) : world_.run_until(when);
}

/// When the first of those that live has something to do.
Nanoseconds Simulation::next_ring() const {
    Nanoseconds first = streams_.next_ring();
    for (unsigned at = 0; at < bells_.size(); ++at) {
        if (!dead(at)) first = std::min(first, bells_[at].rings_at());
    }
    return first;
}

}  // namespace fci::simulation
