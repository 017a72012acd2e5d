// SPDX-License-Identifier: BSD-3-Clause
#include "test/simulation/jobs/plan.h"

#include <algorithm>

#include "test/simulation/jobs/draw.h"

namespace fci::jobs {

namespace {

constexpr std::uint64_t kApart = 10;  // places between two sends

}  // namespace

Plan::Plan(std::uint64_t seed, const mp::Protocol* protocol) {
    Prng prng(seed ^ 0x6a6f6273);
    job.world.seed = prng.next();
    job.host.seed = prng.next();
    job.faults.seed = prng.next();
    choose_host(prng);
    choose_network(prng);
    choose_limits(prng);
    choose_groups(Prng(seed ^ 0x67726f7570));
    choose_many(Prng(seed ^ 0x6d616e79));
    choose_hints(Prng(seed ^ 0x68696e74));
    if (protocol != nullptr) job.protocol = protocol;
    choose_messages(prng);
    choose_collectives(Prng(seed ^ 0x636f6c6c));
    choose_programs(prng);
}

void Plan::choose_host(Prng& prng) {
    static constexpr const char* kWaits[] = {"auto", "auto", "auto", "auto", "spin",
                                             "yield", "sleep", "sleep"};
    CoreOptions& host = job.host;
    job.wait = one_of(prng, kWaits);
    job.processes = prng.chance(50) ? drawn(prng, 2, 4) : drawn(prng, 2, 12);
    host.cores = drawn(prng, 1, 4);
    job.told_ranks = prng.chance(60) ? job.processes : 0;
    if (prng.chance(10)) {
        job.told_cores = drawn(prng, 1, 8);
    }
    told_truth = job.told_ranks == job.processes &&
                 (job.told_cores == 0 || job.told_cores == host.cores);
    host.call = scaled(prng, 50, 1000);
    host.yield = scaled(prng, 400, 4000);
    host.change = scaled(prng, 500, 10'000);
    host.slice = scaled(prng, 100'000, 4'000'000);
    host.apart = static_cast<Nanoseconds>(prng.below(8) * 1000);
    look = scaled(prng, 50, 1000);
    // Those that spin on where cores are short cost this test much time for little.
    if (oversubscribed() && (job.wait == "spin" || !told_truth)) {
        job.processes = std::min(job.processes, host.cores + 2);
        if (job.told_ranks != 0) job.told_ranks = job.processes;
        host.slice = scaled(prng, 50'000, 200'000);
        host.call = scaled(prng, 500, 2000);
        look = scaled(prng, 500, 2000);
    }
    for (unsigned i = 0; i < job.processes; ++i) shared.push_back(prng.chance(15));
    if (must_be_calm() && prng.chance(15)) {
        // Longer than what is judged, but each look of all of it is simulated.
        long_wait = static_cast<Nanoseconds>(prng.between(16, 20)) * 100'000'000;
        // As a usual processor has it: who takes long from one look to the next seems to compute.
        host.call = scaled(prng, 15, 40);
        host.yield = scaled(prng, 200, 800);
        host.change = scaled(prng, 500, 2500);
        look = scaled(prng, 60, 200);
    } else if (prng.chance(20)) {
        victim = drawn(prng, 0, job.processes - 1);
        forks = prng.chance(50);
        death = static_cast<Nanoseconds>(prng.below(prng.chance(50) ? 200'000 : 5'000'000));
    }
}

void Plan::choose_network(Prng& prng) {
    sim::WorldOptions& world = job.world;
    world.delay_min = static_cast<Nanoseconds>(prng.below(3) * 50);
    world.delay_max = world.delay_min + static_cast<Nanoseconds>(prng.below(5000));
    world.long_delay_percent = prng.chance(50) ? 0 : drawn(prng, 0, 20);
    world.split_percent = prng.chance(30) ? 0 : drawn(prng, 0, 100);
    world.again_percent = prng.chance(70) ? 0 : drawn(prng, 0, 40);
    world.mapped = prng.chance(70);
    world.stores = world.mapped && prng.chance(80);
    world.kernel_copy = prng.chance(60);
    world.per_host = prng.chance(70) ? 0 : drawn(prng, 1, 3);
    world.refused_percent = prng.chance(70) ? 0 : drawn(prng, 0, 60);
    tap::FaultOptions& faults = job.faults;
    if (prng.chance(75)) return;
    faults.delay_percent = drawn(prng, 0, 100);
    faults.delay_max = static_cast<Nanoseconds>(prng.below(20'000));
    faults.stall_per_mille = drawn(prng, 0, 50);
    faults.stall_max = static_cast<Nanoseconds>(prng.below(500'000));
    faults.again_percent = prng.chance(50) ? 0 : drawn(prng, 0, 40);
}

void Plan::choose_limits(Prng& prng) {
    static constexpr std::uint32_t kSlots[] = {4, 8, 16, 64};
    static constexpr std::uint64_t kRings[] = {16384, 32768};
    static constexpr std::uint64_t kPoolPieces[] = {0, 1, 2, 3, 8};
    static constexpr std::uint64_t kOffer[] = {1, 64, 4096, 16384};
    static constexpr std::uint64_t kUnexpected[] = {64, 1024, 16384, 262144};
    using Policy = mp::CopyPath::Policy;
    static constexpr Policy kPolicies[] = {Policy::measure, Policy::ring, Policy::pull,
                                           Policy::shared};
    mp::Limits& limits = job.limits;
    job.protocol = mp::kProtocols[prng.chance(60) ? 0 : prng.below(std::size(mp::kProtocols))];
    limits.layout.slots = one_of(prng, kSlots);
    limits.layout.ring_bytes = one_of(prng, kRings);
    limits.layout.pool_bytes = one_of(prng, kPoolPieces) * gcs::Layout::kPieceBytes;
    limits.eager_bytes = prng.chance(20) ? 0 : prng.between(1, limits.layout.ring_bytes / 8);
    limits.offer_bytes = one_of(prng, kOffer);
    limits.unexpected_bytes = one_of(prng, kUnexpected);
    limits.copy = one_of(prng, kPolicies);
    limits.fast_path = prng.chance(80);
}

void Plan::choose_messages(Prng& prng) {
    const unsigned any_percent = prng.chance(40) ? 0 : drawn(prng, 0, 50);
    const unsigned long_percent = drawn(prng, 0, 40);
    const std::uint64_t edges[] = {48, 4096, job.limits.eager_bytes, job.limits.offer_bytes};
    const unsigned most = has_groups_ ? 20 : 50;
    for (unsigned left = drawn(prng, 1, most); left != 0; --left) {
        Message message;
        message.from = drawn(prng, 0, job.processes - 1);
        message.to = drawn(prng, 0, job.processes - 1);
        if (message.from == message.to && prng.chance(80)) {
            message.to = (message.to + 1) % job.processes;
        }
        if (prng.chance(long_percent)) {
            message.bytes = prng.below(100'000);
        } else {
            const std::uint64_t edge = prng.chance(50) ? one_of(prng, edges) : prng.below(100);
            message.bytes = edge + prng.below(3);
        }
        message.any = prng.chance(any_percent);
        message.synchronous = prng.chance(15);
        messages.push_back(message);
    }
}

/// Seldom, since each is simulated: so many that have a core each that their group has levels.
void Plan::choose_many(Prng prng) {
    if (!prng.chance(2)) return;
    has_groups_ = true;
    job.processes = job.told_ranks = drawn(prng, 17, 26);
    job.host.cores = prng.chance(70) ? job.processes : drawn(prng, 4, 16);
    job.told_cores = 0;
    job.wait = "auto";
    told_truth = true;
    job.world.mapped = job.world.stores = true;
    job.world.per_host = 0;
    long_wait = 0;
    // With a core each they look on for a second before they meet who is missing: too many looks.
    victim = kNobody;
    forks = false;
    shared.assign(job.processes, false);
}

void Plan::add_receive(Prng& prng, std::size_t number, std::uint64_t sent) {
    const Message& message = messages[number];
    std::vector<Event>& receiver = programs[message.to];
    if (!message.any && prng.chance(20)) {
        // It looks for the message first, which is on its way by then.
        const std::uint64_t place = sent + 1 + prng.below(6 * kApart);
        receiver.push_back({place, Event::Kind::probe_and_receive, number});
        receiver.push_back({place + prng.below(8 * kApart), Event::Kind::wait_for_receive, number});
        programs[message.from].push_back(
            {place + 1 + prng.below(8 * kApart), Event::Kind::wait_for_send, number});
        return;
    }
    std::uint64_t posted = sent - std::min(sent, 6 * kApart) + prng.below(12 * kApart);
    // As many messages as receives before this one and itself have been sent before its wait.
    if (message.any) posted = any_posted_[message.to] = std::max(posted, any_posted_[message.to]);
    const std::uint64_t both = std::max(sent, posted) + 1;
    receiver.push_back({posted, Event::Kind::post, number});
    receiver.push_back({both + prng.below(8 * kApart), Event::Kind::wait_for_receive, number});
    // Which receive takes it is open, so its sender waits at the end only.
    if (message.any) return;
    programs[message.from].push_back(
        {both + prng.below(8 * kApart), Event::Kind::wait_for_send, number});
}

void Plan::choose_programs(Prng& prng) {
    programs.resize(job.processes);
    any_posted_.resize(job.processes);
    for (std::size_t i = 0; i < messages.size(); ++i) {
        const std::uint64_t sent = (i + 1) * kApart;
        programs[messages[i].from].push_back({sent, Event::Kind::send, i});
        add_receive(prng, i, sent);
    }
    const std::uint64_t end = messages.size() * kApart;
    const Nanoseconds most = scaled(prng, 1'000, 2'000'000);
    for (auto& program : programs) {
        for (unsigned left = drawn(prng, 0, 6); left != 0; --left) {
            const std::uint64_t span = prng.below(static_cast<std::uint64_t>(most));
            program.push_back(
                {prng.below(end), Event::Kind::compute, 0, static_cast<Nanoseconds>(span)});
        }
        for (unsigned left = drawn(prng, 0, 6); left != 0; --left) {
            program.push_back({prng.below(end), Event::Kind::look});
        }
    }
    std::vector<std::uint64_t> places(collectives.size());
    for (std::uint64_t& place : places) place = prng.below(end);
    std::sort(places.begin(), places.end());
    for (std::size_t i = 0; i < collectives.size(); ++i) {
        for (auto& program : programs) {
            program.push_back({places[i], Event::Kind::collective, i});
        }
    }
    if (long_wait != 0) {
        programs[prng.below(programs.size())].push_back(
            {prng.below(end), Event::Kind::compute, 0, long_wait});
    }
    for (auto& program : programs) {
        std::stable_sort(program.begin(), program.end(), [](const Event& one, const Event& other) {
            return one.place < other.place;
        });
    }
}

std::string Plan::describe() const {
    const auto number = [](auto value) { return std::to_string(value); };
    const mp::Limits& limits = job.limits;
    return number(job.processes) + " processes on " + number(job.host.cores) + " cores, wait " +
           job.wait + ", told " + number(job.told_ranks) + " on " + number(job.told_cores) +
           ", call " + number(job.host.call) + ", yield " + number(job.host.yield) + ", change " +
           number(job.host.change) + ", slice " + number(job.host.slice) + ", apart " +
           number(job.host.apart) + ", look " + number(look) + "; " + number(messages.size()) +
           " messages, " + number(collectives.size()) + " collectives, " + job.protocol->name +
           ", slots " + number(limits.layout.slots) +
           ", ring " + number(limits.layout.ring_bytes) + ", pool " +
           number(limits.layout.pool_bytes) + ", eager " + number(limits.eager_bytes) +
           ", offer " + number(limits.offer_bytes) + ", unexpected " +
           number(limits.unexpected_bytes) + ", mapped " +
           number(job.world.mapped + job.world.stores) + ", on a host " +
           number(job.world.per_host) + ", hints " +
           (job.world.hints.work ? "lost " + number(job.world.hints.lost_percent) + "%" : "none") +
           ", late " + number(job.faults.delay_percent) + "%" +
           (long_wait != 0 ? ", one computes for " + number(long_wait) : "") +
           (victim == kNobody
                ? ""
                : ", process " + number(victim) + (forks ? " forks " : " dies ") +
                      (death_in == kNoCollective ? "at " + number(death)
                                                 : "in collective " + number(death_in) +
                                                       " after look " + number(death_looks)));
}

}  // namespace fci::jobs
