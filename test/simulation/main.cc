// SPDX-License-Identifier: BSD-3-Clause
// Runs random programs: first every seed that ever failed (seeds.txt), then a range.
//   simulation [--mixed|--shared|--streams] [--protocol NAME] [--seeds N] [--from N] [--seed N]
//       [--file PATH]
//   job_simulation [--protocol NAME] [--seeds N] [--from N] [--seed N] [--file PATH]
// --mixed: half of the pairs over shared memory; --shared: all, with cells and longer messages.
// --streams: the tcp driver, over simulated streams.
// --protocol: this one in every run, where the seed would choose; all other choices stay.
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <map>
#include <optional>
#include <string>
#include <sys/resource.h>
#include <sys/time.h>
#include <unistd.h>
#include <vector>

#include "test/simulation/one_run.h"
#include "test/simulation/second_run.h"

namespace {

using fci::simulation::kProgram;
using fci::simulation::Network;
using fci::simulation::OneRun;
using fci::simulation::SecondRun;

const std::map<std::string, Network> kNetworks = {
    {"--mixed", Network::mixed},
    {"--shared", Network::shared},
    {"--streams", Network::streams}};
constexpr time_t kSecondsPerSeed = 120;  // of processor time; some take 20 under sanitizers
constexpr rlim_t kDescriptors = 64;
constexpr unsigned kReplayEvery = 20;  // such seeds run twice, and must run alike
constexpr char kAgain[] =
    "    again, here or on another commit: ./%s %s --seed %llu; it belongs into seeds.txt\n";
const char* network_option = "";
volatile std::sig_atomic_t stopped_by = 0;
unsigned long long present_seed = 0;

/// A core that aborts, crashes or hangs must still name its seed.
void name_the_seed(int signal) {
    if (stopped_by != 0) _exit(2);
    stopped_by = signal;
    char text[200];
    int length = std::snprintf(text, sizeof text, "%s: signal %d in seed %llu\n", kProgram, signal,
                               present_seed);
    length += std::snprintf(text + length, sizeof text - static_cast<std::size_t>(length), kAgain,
                            kProgram, network_option, present_seed);
    if (write(STDERR_FILENO, text, static_cast<std::size_t>(length)) < 0) _exit(2);
    _exit(1);
}

/// 0: no more.
void limit_time(time_t seconds) {
    const itimerval when{{0, 0}, {seconds, 0}};
    (void)setitimer(ITIMER_PROF, &when, nullptr);
}

/// Of these a door gives an eighth to those who call: so few that strangers fill it.
void limit_descriptors() {
    rlimit limit{};
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
    limit.rlim_cur = kDescriptors;
    (void)setrlimit(RLIMIT_NOFILE, &limit);
}

struct Totals {
    std::uint64_t messages = 0;
    fci::Counters counters;
};

fci::simulation::RunOptions options;

bool run(std::uint64_t seed, bool verbose, Totals* totals) {
    present_seed = seed;
    limit_time(kSecondsPerSeed);
    std::optional<SecondRun> second;
    if (verbose || seed % kReplayEvery == 0) {
        second.emplace([seed] {
            limit_time(kSecondsPerSeed);
            return fci::simulation::run_once(seed, options).digest;
        });
    }
    OneRun first = fci::simulation::run_once(seed, options);
    std::string& failure = first.failure;
    if (failure.empty() && second && !second->ends_with(first.digest)) {
        failure = "a second run took another course";
    }
    limit_time(0);
    totals->messages += first.messages;
    for (unsigned i = 0; i < fci::kCounters; ++i) {
        reinterpret_cast<std::uint64_t*>(&totals->counters)[i] +=
            fci::counter_value(first.counters, i);
    }
    const auto number = static_cast<unsigned long long>(seed);
    if (verbose || !failure.empty()) {
        std::printf("seed %llu: %s\n    %s\n", number, failure.empty() ? "ok" : failure.c_str(),
                    first.description.c_str());
    }
    if (!verbose && !failure.empty()) std::printf(kAgain, kProgram, network_option, number);
    return failure.empty();
}

std::vector<std::uint64_t> seeds_in(const std::string& path) {
    std::vector<std::uint64_t> seeds;
    std::ifstream file(path);
    for (std::string line; std::getline(file, line);) {
        if (line.empty() || line[0] == '#') continue;
        seeds.push_back(std::strtoull(line.c_str(), nullptr, 10));
    }
    return seeds;
}

}  // namespace

int main(int argc, char** argv) {
    std::uint64_t count = 1000, from = 1, single = 0;
    const char* const source = std::getenv("srcdir");
    std::string file = std::string(source != nullptr ? source : ".") + "/" +
                       fci::simulation::kSeedsFile;
    for (int i = 1; i < argc; ++i) {
        const std::string option = argv[i];
        const auto network = kNetworks.find(option);
        if (network != kNetworks.end() && fci::simulation::kHasNetworks) {
            options.network = network->second;
            network_option = network->first.c_str();
            continue;
        }
        if (i + 1 == argc) {
            std::fprintf(stderr,
                         "usage: %s%s [--protocol NAME] [--seeds N] [--from N] [--seed N] "
                         "[--file PATH]\n",
                         kProgram,
                         fci::simulation::kHasNetworks ? " [--mixed|--shared|--streams]" : "");
            return 2;
        }
        const char* const value = argv[++i];
        if (option == "--seeds") count = std::strtoull(value, nullptr, 10);
        if (option == "--from") from = std::strtoull(value, nullptr, 10);
        if (option == "--seed") single = std::strtoull(value, nullptr, 10);
        if (option == "--file") file = value;
        if (option != "--protocol") continue;
        options.protocol = fci::mp::find_protocol(value);
        if (options.protocol == nullptr) {
            std::fprintf(stderr, "%s: there is no protocol '%s'\n", kProgram, value);
            return 2;
        }
    }
    for (const int signal : {SIGABRT, SIGSEGV, SIGBUS, SIGFPE, SIGPROF}) {
        std::signal(signal, name_the_seed);
    }
    if (options.network == Network::streams) limit_descriptors();
    Totals totals;
    if (single != 0) return run(single, true, &totals) ? 0 : 1;
    std::vector<std::uint64_t> seeds = seeds_in(file);
    std::printf("%zu seeds from %s\n", seeds.size(), file.c_str());
    for (std::uint64_t i = 0; i < count; ++i) seeds.push_back(from + i);
    unsigned failed = 0;
    for (const std::uint64_t seed : seeds) {
        failed += !run(seed, false, &totals);
        if (failed == 10) break;
    }
    std::printf("%zu seeds, %u failed; %llu messages\n", seeds.size(), failed,
                static_cast<unsigned long long>(totals.messages));
    if (failed != 0) return 1;  // which failed stays what is read last
    for (unsigned i = 0; i < fci::kCounters; ++i) {
        std::printf("    %-20s %llu\n", fci::kCounterTexts[i].name,
                    static_cast<unsigned long long>(fci::counter_value(totals.counters, i)));
    }
    return 0;
}
