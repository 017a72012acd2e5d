// SPDX-License-Identifier: BSD-3-Clause
// What the seed chooses for a run.
#include <algorithm>
#include <bit>
#include <cstdint>

#include "test/simulation/simulation.h"

namespace fci::simulation {

/// The n-th choice of the seed: the same for the world's options and for everything else.
sim::WorldOptions world_options(std::uint64_t seed, Network network) {
    Prng prng(seed ^ 0x776f726c64);
    sim::WorldOptions options;
    options.seed = seed;
    options.delay_min = static_cast<Nanoseconds>(prng.below(3) * 50);
    options.delay_max = options.delay_min + static_cast<Nanoseconds>(prng.below(5000));
    options.long_delay_percent = prng.chance(50) ? 0 : static_cast<unsigned>(prng.below(20));
    options.split_percent = prng.chance(30) ? 0 : static_cast<unsigned>(prng.below(101));
    options.again_percent = prng.chance(50) ? 0 : static_cast<unsigned>(prng.below(40));
    options.mapped = prng.chance(50);
    options.kernel_copy = prng.chance(60);
    options.stores = options.mapped && prng.chance(60);
    options.per_host = prng.chance(50) ? 0 : static_cast<unsigned>(prng.between(1, 3));
    options.refused_percent = prng.chance(50) ? 0 : static_cast<unsigned>(prng.below(60));
    options.direct = prng.chance(50);
    if (network == Network::mixed) options.per_host = 1;  // who shares a host shares real memory
    return options;
}

sim::StreamOptions stream_options(std::uint64_t seed) {
    Prng prng(seed ^ 0x73747265616d);
    sim::StreamOptions options;
    options.seed = seed;
    options.call_most = static_cast<Nanoseconds>(prng.between(10, 2'000));
    options.delay_most = static_cast<Nanoseconds>(prng.below(prng.chance(50) ? 5'000 : 100'000));
    options.stall_per_mille = prng.chance(50) ? 0 : static_cast<unsigned>(prng.below(50));
    options.stall_most = static_cast<Nanoseconds>(prng.below(5'000'000));
    options.piece_bits = static_cast<unsigned>(prng.between(8, 20));
    options.room_most = 1ull << prng.between(8, 20);
    options.short_percent = prng.chance(30) ? 0 : static_cast<unsigned>(prng.below(60));
    options.hang_up_percent = prng.chance(70) ? 0 : static_cast<unsigned>(prng.below(60));
    options.shortage_percent = prng.chance(70) ? 0 : static_cast<unsigned>(prng.below(30));
    return options;
}

/// Two thirds of the seeds have none.
tap::FaultOptions faults(std::uint64_t seed) {
    Prng prng(seed ^ 0x6661756c74);
    tap::FaultOptions options;
    options.seed = seed;
    if (prng.chance(66)) return options;
    options.delay_percent = static_cast<unsigned>(prng.below(101));
    options.delay_max = static_cast<Nanoseconds>(prng.below(20'000));
    options.stall_per_mille = static_cast<unsigned>(prng.below(50));
    options.stall_max = static_cast<Nanoseconds>(prng.below(500'000));
    options.again_percent = prng.chance(50) ? 0 : static_cast<unsigned>(prng.below(40));
    options.refuse_percent = prng.chance(70) ? 0 : static_cast<unsigned>(prng.below(60));
    return options;
}

void Simulation::choose() {
    protocol_ = mp::kProtocols[prng_.chance(60) ? 0 : prng_.below(std::size(mp::kProtocols))];
    processes_ = static_cast<unsigned>(prng_.between(2, 5));
    operations_ = static_cast<unsigned>(prng_.chance(15) ? prng_.between(80, 500)
                                                         : prng_.between(20, 80));
    burst_percent_ = prng_.chance(60) ? 0 : static_cast<unsigned>(prng_.below(30));
    for (auto& weight : weights_) weight = prng_.below(20);
    weights_[0] += 10 + prng_.below(30);
    weights_[2] += 10 + prng_.below(30);
    tags_ = static_cast<unsigned>(prng_.between(1, 6));
    any_percent_ = prng_.chance(30) ? 0 : static_cast<unsigned>(prng_.below(60));
    long_percent_ = static_cast<unsigned>(prng_.below(40));
    act_percent_ = static_cast<unsigned>(prng_.between(5, 70));
    warm_ = prng_.chance(50);
    choose_limits();
    if (prng_.chance(25)) {
        // Named receives that are posted before their messages come: one-sided transfers.
        any_percent_ = 0;
        weights_[2] = 60;
        limits_.offer_bytes = prng_.between(1, 64);
    } else if (prng_.chance(10)) {
        // Floods of sends that the receiver sees late: offers that come too late for the notes.
        any_percent_ = 0;
        act_percent_ = 50;
        warm_ = true;
        burst_percent_ = 40;
        operations_ = 1000;
        processes_ = 2;
        weights_[2] = weights_[0];
        limits_.layout.slots = 256;
        limits_.layout.ring_bytes = 262144;
        limits_.eager_bytes = 128;
        long_percent_ = 5;
        limits_.offer_bytes = 1;
        limits_.unexpected_bytes = 262144;
    }
    if (prng_.chance(8)) {
        // Messages of which many are pushed, where the network takes data.
        long_percent_ = 50;
        limits_.unexpected_bytes = 1 << 20;
    }
    if (prng_.chance(15)) {
        victim_ = static_cast<unsigned>(prng_.below(processes_));
        death_ = static_cast<Nanoseconds>(prng_.below(100'000));
        // A part of a process that is not simulated cannot be killed.
        leaves_ = prng_.chance(40) || network_ == Network::mixed || network_ == Network::shared;
    } else if (network_ == Network::streams && prng_.chance(15)) {
        victim_ = static_cast<unsigned>(prng_.below(processes_));
        parted_from_ = (victim_ + 1) % processes_;
        silently_ = prng_.chance(40);
        death_ = static_cast<Nanoseconds>(prng_.below(1'000'000));
    }
    if (network_ == Network::streams) choose_meeting();
}

/// How the processes find each other over streams, and who else is there.
void Simulation::choose_meeting() {
    calls_cross_ = prng_.chance(50);
    // While it calls, or is called.
    if (victim_ != Reference::kNobody && prng_.chance(30)) {
        death_ = static_cast<Nanoseconds>(prng_.below(20'000));
        warm_ = false;
    }
    falls_silent_ = victim_ == Reference::kNobody && prng_.chance(4);
    knock_percent_ = prng_.chance(10) ? static_cast<unsigned>(prng_.between(1, 10)) : 0;
}

namespace {
constexpr std::uint64_t kLongest = 200 * 1024;
constexpr std::uint64_t kLongestShared = 8 << 20;
constexpr std::uint32_t kSlots[] = {4, 8, 16, 64, 256};
constexpr std::uint64_t kRings[] = {16384, 32768, 65536, 262144};
// Pools of which a peer may hold one piece at a time up to such that hold all there is.
constexpr std::uint64_t kPoolPieces[] = {0, 1, 2, 3, 16, 64, 256, 512};
}  // namespace

void Simulation::choose_limits() {
    static constexpr std::uint64_t kAnnounce[] = {1, 64, 4096, 16384, 65536};
    static constexpr std::uint64_t kUnexpected[] = {64, 1024, 16384, 262144};
    using Policy = mp::CopyPath::Policy;
    static constexpr Policy kPolicies[] = {Policy::measure, Policy::ring, Policy::pull,
                                           Policy::shared};
    limits_.layout.slots = one_of(prng_, kSlots);
    limits_.layout.ring_bytes = one_of(prng_, kRings);
    const std::uint64_t eager_most =
        std::min(mp::kEagerMost, limits_.layout.ring_bytes / 8);
    limits_.eager_bytes = prng_.chance(20) ? 0 : prng_.between(1, eager_most);
    limits_.offer_bytes = one_of(prng_, kAnnounce);
    limits_.unexpected_bytes = one_of(prng_, kUnexpected);
    limits_.copy = one_of(prng_, kPolicies);
    limits_.layout.pool_bytes = one_of(prng_, kPoolPieces) * gcs::Layout::kPieceBytes;
    limits_.lend_after.fill(prng_.chance(60) ? 0 : 16384);
    if (network_ != Network::shared) return;
    limits_.layout.pool_bytes = (prng_.chance(50) ? 256 : 512) * gcs::Layout::kPieceBytes;
    limits_.lend_after = {};
    if (prng_.chance(50)) limits_.copy = Policy::ring;
    long_percent_ += 30;
}

std::uint64_t Simulation::some_length() {
    const std::uint64_t limits[] = {0,
                                    8,
                                    mp::kInlineBytes,
                                    mp::kInlineBytes + 8,
                                    limits_.eager_bytes,
                                    limits_.offer_bytes,
                                    limits_.layout.ring_bytes / 8,
                                    16384};
    if (prng_.chance(long_percent_)) {
        const bool longer = network_ == Network::shared && prng_.chance(10);
        return prng_.below((longer ? kLongestShared : kLongest) + 1);
    }
    if (prng_.chance(40)) return prng_.below(128);
    const std::uint64_t limit = one_of(prng_, limits);
    const std::uint64_t length = limit + prng_.below(5);
    return length < 2 ? length : length - 2;
}

/// In a third of the seeds they differ.
mp::Limits Simulation::limits_of(unsigned process) const {
    mp::Limits limits = limits_;
    Prng whether(seed_ ^ 0x73697a6573), prng(seed_ + (std::uint64_t{process} << 48));
    if (!whether.chance(34)) return limits;
    limits.layout.slots = one_of(prng, kSlots);
    limits.layout.ring_bytes =
        std::max(one_of(prng, kRings), std::bit_ceil(8 * limits.eager_bytes));
    limits.layout.pool_bytes = one_of(prng, kPoolPieces) * gcs::Layout::kPieceBytes;
    return limits;
}

std::string Simulation::describe() const {
    const auto number = [](std::uint64_t value) { return std::to_string(value); };
    return std::string(protocol_->name) + ", " + number(processes_) + " processes, " +
           number(operations_) + " operations each, " + number(tags_) + " tags, slots " +
           number(limits_.layout.slots) + ", ring " + number(limits_.layout.ring_bytes) +
           ", pool " + number(limits_.layout.pool_bytes) + ", eager " +
           number(limits_.eager_bytes) + ", announce " + number(limits_.offer_bytes) +
           ", unexpected " + number(limits_.unexpected_bytes) + ", copy policy " +
           number(static_cast<unsigned>(limits_.copy)) + ", mapped " +
           number(world_options_.mapped + world_options_.stores) + ", on a host " +
           number(world_options_.per_host) + ", kernel_copy " + number(world_options_.kernel_copy) +
           ", refused " + number(world_options_.refused_percent) + "%, again " +
           number(world_options_.again_percent) + "%, late " +
           number(faults_.delay_percent) + "%, stalled " + number(faults_.stall_per_mille) +
           " of 1000, never attached " + number(faults_.refuse_percent) + "%" +
           (victim_ == Reference::kNobody
                ? ""
                : ", process " + number(victim_) +
                      (parted_from_ != Reference::kNobody
                           ? (silently_ ? " is parted silently from " : " is parted from ") +
                                 number(parted_from_) + " at "
                       : leaves_ ? " closes at "
                                 : " dies at ") +
                      number(static_cast<std::uint64_t>(death_)));
}

}  // namespace fci::simulation
