// SPDX-License-Identifier: BSD-3-Clause
// fci_pingpong: what FCI itself takes, without an MPI library above it. The dissertation's three
// algorithms (4.1, 4.2, 4.3) give three different answers to "how long does a message take";
// besides them message rate, many senders to one, and the price of looking when nothing came.
#include <sys/resource.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include "bench/bare_ring.h"
#include "bench/icl_side.h"
#include "bench/report.h"
#include "fci_core/base/flag.h"

namespace fci::bench {
namespace {

constexpr unsigned kWindow = 64;
constexpr unsigned kBatches = 20, kQuietEnough = 3;
constexpr std::uint64_t kVerifyRounds = 3;

struct Buffers {
    std::vector<unsigned char> out, in;
    std::uint64_t lines = 0;  // of the bare rings, so far
};

/// Number 0 and number 1 as the algorithms are written; `rounds` is their count.
void normal(IclSide& side, Buffers& data, std::size_t bytes, std::uint64_t rounds) {
    const unsigned other = 1 - side.number();
    for (std::uint64_t i = 0; i < rounds; ++i) {
        if (side.number() == 0) side.send(other, data.out.data(), bytes);
        side.receive(other, data.in.data(), bytes);
        if (side.number() == 1) side.send(other, data.out.data(), bytes);
    }
}

/// As normal, but each receive is posted before the send that it answers, or that causes it.
void ahead(IclSide& side, Buffers& data, std::size_t bytes, std::uint64_t rounds) {
    const unsigned other = 1 - side.number();
    Pending next;
    if (side.number() == 1) side.start_receive(other, data.in.data(), bytes, next);
    for (std::uint64_t i = 0; i < rounds; ++i) {
        if (side.number() == 0) {
            side.start_receive(other, data.in.data(), bytes, next);
            side.send(other, data.out.data(), bytes);
            side.finish(next);
        } else {
            side.finish(next);
            if (i + 1 < rounds) side.start_receive(other, data.in.data(), bytes, next);
            side.send(other, data.out.data(), bytes);
        }
    }
}

void posted(IclSide& side, Buffers& data, std::size_t bytes, std::uint64_t rounds) {
    const unsigned other = 1 - side.number();
    for (std::uint64_t i = 0; i < rounds; ++i) {
        Pending receive;
        side.start_receive(other, data.in.data(), bytes, receive);
        side.send(other, data.out.data(), bytes);
        side.finish(receive);
    }
}

/// The answer at the end makes the time that of the receiver.
void one_way(IclSide& side, Buffers& data, std::size_t bytes, std::uint64_t rounds) {
    unsigned char answer = 0;
    for (std::uint64_t i = 0; i < rounds; ++i) {
        if (side.number() == 0)
            side.send(1, data.out.data(), bytes);
        else
            side.receive(0, data.in.data(), bytes);
    }
    if (side.number() == 0)
        side.receive(1, &answer, 1);
    else
        side.send(0, &answer, 1);
}

void window(IclSide& side, Buffers& data, std::size_t bytes, std::uint64_t rounds) {
    unsigned char answer = 0;
    for (std::uint64_t i = 0; i < rounds; ++i) {
        Pending pending;
        for (unsigned k = 0; k < kWindow; ++k) {
            if (side.number() == 0)
                side.start_send(1, data.out.data(), bytes, pending);
            else
                side.start_receive(0, data.in.data(), bytes, pending);
        }
        side.finish(pending);
        if (side.number() == 0)
            side.receive(1, &answer, 1);
        else
            side.send(0, &answer, 1);
    }
}

/// Everybody to number 0, which takes them from any source.
void fan_in(IclSide& side, Buffers& data, std::size_t bytes, std::uint64_t rounds,
            unsigned senders) {
    unsigned char answer = 0;
    for (std::uint64_t i = 0; i < rounds; ++i) {
        Pending pending;
        if (side.number() != 0) {
            for (unsigned k = 0; k < kWindow; ++k)
                side.start_send(0, data.out.data(), bytes, pending);
            side.finish(pending);
            side.receive(0, &answer, 1);
            continue;
        }
        for (unsigned k = 0; k < kWindow * senders; ++k)
            side.start_receive_any(data.in.data(), bytes, pending);
        side.finish(pending);
        for (unsigned to = 1; to <= senders; ++to) side.send(to, &answer, 1);
    }
}

/// Looks where nothing comes.
void idle(IclSide& side, Buffers&, std::size_t, std::uint64_t rounds) {
    if (side.number() != 0) return;
    for (std::uint64_t i = 0; i < rounds; ++i) fci_icl_progress(side.context());
}

enum class Shows { time, rate };
struct Test {
    const char* name;
    const char* title;
    std::function<void(IclSide&, Buffers&, std::size_t, std::uint64_t)> run;
    double per_round;  // the divisor of a round's time
    Shows shows;
    bool sized;
    std::uint32_t receivers;  // bit n: number n gets the data
};

constexpr std::uint64_t kMeasureTc = ~0ull, kVerify = 1ull << 32, kOver = ~0ull - 1;

class Bench {
public:
    Bench(IclSide& side, const std::vector<Test>& tests, std::int64_t budget_ns,
          std::size_t most_bytes, std::vector<int> cores)
        : side_(side), tests_(tests), budget_ns_(budget_ns), cores_(std::move(cores)) {
        data_.out.resize(most_bytes + 1);
        data_.in.resize(most_bytes + 1);
    }

    /// All numbers but 0: do what number 0 asks for until it is over.
    bool follow() {
        SharedPage& page = side_.page();
        auto& mine = page.member[side_.number()];
        for (std::uint64_t seen = 0;;) {
            while (flag::load_acquire(page.epoch) == seen) fci_icl_progress(side_.context());
            seen = flag::load_acquire(page.epoch);
            const std::uint64_t what = page.word[0];
            if (what == kOver) return wrong_ == 0 && side_.error() == FCI_ICL_OK;
            if (what == kMeasureTc) {
                if (side_.number() == 1) fci_handoff_pong(&page.token);
            } else {
                (void)perform(what, page.word[1], page.rounds);
            }
            flag::store_release(mine.finished, seen);
        }
    }

    /// Number 0.
    bool lead(const std::vector<std::size_t>& sizes, Report& report) {
        for (std::size_t i = 0; i < tests_.size(); ++i) {
            report.heading(tests_[i].title);
            for (const std::size_t bytes : sizes) {
                measure(i, bytes, report);
                if (side_.error() != FCI_ICL_OK || wrong_ != 0) return failed();
                if (!tests_[i].sized) break;
            }
        }
        ask(kOver, 0, 0, 0);
        return true;
    }

private:
    bool failed() {
        if (wrong_ != 0)
            std::fprintf(stderr, "fci_pingpong: %zu bytes arrived wrong\n", wrong_);
        else
            std::fprintf(stderr, "fci_pingpong: %s\n", fci_icl_strerror(side_.error()));
        return false;
    }

    /// Tells the others, does the same here and waits for them. Returns this side's ns.
    double ask(std::uint64_t what, std::size_t bytes, std::uint64_t rounds, unsigned waits) {
        SharedPage& page = side_.page();
        page.word[0] = what;
        page.word[1] = bytes;
        page.rounds = rounds;
        const std::uint64_t epoch = page.epoch + 1;
        flag::store_release(page.epoch, epoch);
        double result = 0;
        if (what == kMeasureTc) result = fci_handoff_ping(&page.token);
        else if (what != kOver) result = perform(what, bytes, rounds);
        for (unsigned i = 1; i <= waits; ++i)
            while (flag::load_acquire(page.member[i].finished) != epoch &&
                   side_.error() == FCI_ICL_OK)
                fci_icl_progress(side_.context());
        return result;
    }

    static long switches() {
        rusage usage{};
        getrusage(RUSAGE_SELF, &usage);
        return usage.ru_nivcsw;
    }

    double perform(std::uint64_t what, std::size_t bytes, std::uint64_t rounds) {
        const Test& test = tests_[what & ~kVerify];
        const bool verify = (what & kVerify) != 0;
        const bool receives = (test.receivers >> side_.number() & 1) != 0;
        if (verify) {
            for (std::size_t i = 0; i < bytes; ++i) data_.out[i] = pattern(i, rounds);
            std::memset(data_.in.data(), 0xEE, bytes);
        }
        const long before = switches();
        const std::int64_t begin = fci_now_ns();
        test.run(side_, data_, bytes, rounds);
        const std::int64_t took = fci_now_ns() - begin;
        side_.page().member[side_.number()].disturbed = switches() != before;
        for (std::size_t i = 0; verify && receives && i < bytes; ++i)
            wrong_ += data_.in[i] != pattern(i, rounds);
        return static_cast<double>(took);
    }
    static unsigned char pattern(std::size_t at, std::uint64_t seed) {
        return static_cast<unsigned char>(at * 131 + (at >> 8) * 29 + seed * 71 + 3);
    }

    void measure(std::size_t index, std::size_t bytes, Report& report) {
        const Test& test = tests_[index];
        const auto others = static_cast<unsigned>(cores_.size() - 1);
        const auto verify = [&] {
            for (std::uint64_t i = 1; i <= kVerifyRounds; ++i)
                if (test.receivers != 0) ask(index | kVerify, bytes, i, others);
        };
        verify();
        const double batch_ns = static_cast<double>(budget_ns_) / kBatches;
        std::uint64_t rounds = 4;
        for (;; rounds *= 4) {
            double least = 1e18;
            for (int i = 0; i < 3; ++i) least = std::min(least, ask(index, bytes, rounds, others));
            if (least < batch_ns / 4 && rounds < 1u << 30) continue;
            rounds = std::max<std::uint64_t>(
                2, static_cast<std::uint64_t>(static_cast<double>(rounds) * batch_ns / least));
            break;
        }
        Row row{.what = test.name, .bytes = bytes, .sized = test.sized};
        row.around.before = ask(kMeasureTc, 0, 0, others);
        const double ns = sample(index, bytes, rounds, others) /
                          (static_cast<double>(rounds) * test.per_round);
        row.around.after = ask(kMeasureTc, 0, 0, others);
        verify();
        row.value = test.shows == Shows::time ? ns : 1e3 / ns;
        row.unit = test.shows == Shows::time ? "ns" : "M/s";
        report.add(row);
    }

    /// The median of the batches in which nobody else got one of our cores, while there are some.
    double sample(std::size_t index, std::size_t bytes, std::uint64_t rounds, unsigned others) {
        std::vector<double> all, quiet;
        for (unsigned i = 0; i < kBatches; ++i) {
            all.push_back(ask(index, bytes, rounds, others));
            bool disturbed = false;
            for (unsigned k = 0; k <= others; ++k)
                disturbed |= side_.page().member[k].disturbed != 0;
            if (!disturbed) quiet.push_back(all.back());
        }
        std::vector<double>& chosen = quiet.size() >= kQuietEnough ? quiet : all;
        std::nth_element(chosen.begin(), chosen.begin() + chosen.size() / 2, chosen.end());
        return chosen[chosen.size() / 2];
    }

    IclSide& side_;
    const std::vector<Test>& tests_;
    std::int64_t budget_ns_;
    std::vector<int> cores_;
    Buffers data_;
    std::size_t wrong_ = 0;
};

struct Options {
    bool json = false, posted_only = false;
    std::vector<std::string> sizes{"8", "64", "1K", "8K", "64K", "1M"}, tests;
    std::string driver, protocol;
    int milliseconds = 20;
    unsigned senders = 3;
};

std::vector<Test> tests_of(const Options& options, bool crowd) {
    const unsigned senders = options.senders;
    const std::vector<Test> pairs{
        {"line", "A line in a ring, without FCI; one way",
         [](IclSide& side, Buffers& data, std::size_t, std::uint64_t rounds) {
             data.lines = pass_lines(side.page().rings, side.number(), data.lines, rounds);
         },
         2, Shows::time, false, 0},
        {"normal", "Algorithm 4.1: send, then receive; one way", normal, 2, Shows::time, true, 3},
        {"ahead", "The same, each receive posted ahead; one way", ahead, 2, Shows::time, true, 3},
        {"posted", "Algorithm 4.2: both post, both send, both wait", posted, 1, Shows::time, true,
         3},
        {"one-way", "Algorithm 4.3: one way only; time between messages", one_way, 1, Shows::time,
         true, 2},
        {"rate", "Window of 64 messages, then an answer", window, kWindow, Shows::rate, true, 2},
        {"idle", "Progress when nothing comes", idle, 1, Shows::time, false, 0}};
    const std::vector<Test> crowds{
        {"fan-in", "Many senders to one receiver, any source",
         [senders](IclSide& side, Buffers& data, std::size_t bytes, std::uint64_t rounds) {
             fan_in(side, data, bytes, rounds, senders);
         },
         static_cast<double>(kWindow) * senders, Shows::rate, true, 1}};
    std::vector<Test> wanted;
    for (const Test& test : crowd ? crowds : pairs)
        if (options.tests.empty() ||
            std::find(options.tests.begin(), options.tests.end(), test.name) != options.tests.end())
            wanted.push_back(test);
    return wanted;
}

bool run_members(const Options& options, const std::vector<std::size_t>& sizes,
                 const std::vector<int>& cores, bool crowd, Report& report) {
    const std::vector<Test> tests = tests_of(options, crowd);
    if (tests.empty()) return true;
    const std::uint64_t job =
        static_cast<std::uint64_t>(fci_now_ns()) ^ static_cast<std::uint64_t>(getpid()) << 40;
    const std::size_t most = *std::max_element(sizes.begin(), sizes.end());
    return run_processes(cores, [&](unsigned number, SharedPage& page) {
        IclSide side(number, static_cast<unsigned>(cores.size()), page);
        if (!side.open(job, options.driver.empty() ? nullptr : options.driver.c_str(),
                       options.protocol.empty() ? nullptr : options.protocol.c_str()))
            return false;
        Bench bench(side, tests, std::int64_t{options.milliseconds} * 1000000, most, cores);
        if (number != 0) return bench.follow();
        report.fact(crowd ? "FCI, many" : "FCI", fci_icl_summary(side.context()));
        return bench.lead(sizes, report);
    });
}

int run(const Options& options) {
    std::vector<std::size_t> sizes;
    for (const std::string& text : options.sizes) {
        std::size_t bytes = 0;
        if (!parse_size(text, &bytes) || bytes > std::size_t{1} << 30) {
            std::fprintf(stderr, "fci_pingpong: '%s' is not a size, or more than 1G\n",
                         text.c_str());
            return 2;
        }
        sizes.push_back(bytes);
    }
    std::vector<int> cores = usable_cores(2);
    if (cores.empty()) cores.push_back(-1);
    const int core = cores.front(), other = cores.back();
    Report report("Messages through FCI's own interface", options.json);
    report.fact("cores used", std::to_string(core) + " and " + std::to_string(other));

    bool fine = run_members(options, sizes, {core, other}, false, report);
    if (fine && options.senders > 0) {
        std::vector<int> crowd{core};
        while (crowd.size() < options.senders + 1) crowd.push_back(other);
        fine = run_members(options, sizes, crowd, true, report);
    }
    report.finish();
    return fine ? 0 : 1;
}

}  // namespace
}  // namespace fci::bench

int main(int argc, char** argv) {
    fci::bench::Options options;
    CLI::App app{"fci_pingpong: messages between processes through FCI's own interface"};
    app.add_flag("--json", options.json, "for programs: one JSON object");
    app.add_option("--size", options.sizes, "message sizes, by commas: 8,1K,1M")->delimiter(',');
    app.add_option("--test", options.tests,
                   "line, normal (4.1), ahead, posted (4.2), one-way (4.3), rate, idle,\nfan-in")
        ->delimiter(',')
        ->check(CLI::IsMember(
            {"line", "normal", "ahead", "posted", "one-way", "rate", "idle", "fan-in"}));
    app.add_option("--driver", options.driver, "instead of FCI_DRIVER");
    app.add_option("--protocol", options.protocol, "instead of FCI_PROTOCOL");
    app.add_option("--senders", options.senders, "of fan-in; 0: without it")
        ->check(CLI::Range(0u, fci::bench::kCrewMost - 1));
    app.add_option("--ms", options.milliseconds, "milliseconds for each figure")
        ->check(CLI::Range(1, 10000))
        ->capture_default_str();
    CLI11_PARSE(app, argc, argv);
    return fci::bench::run(options);
}
