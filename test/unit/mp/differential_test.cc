// SPDX-License-Identifier: BSD-3-Clause
// The same random program once with the fast paths and once without: the general engine says what
// must come of it. Two processes only, so that it does not depend on time which message a receive
// gets.
#include <algorithm>
#include <cstddef>
#include <vector>

#include "fci_core/base/prng.h"
#include "test/unit/mp/pair.h"
#include "test/unit/seed.h"

namespace fci::mp::test {
namespace {

struct Step {
    enum class What : std::uint8_t { send, receive, turns } what;
    int at;
    std::uint64_t match, ignore, immediate, bytes;
    std::uint32_t flags;
    bool any, waits;  // receives: from any source; it looks at once for what is there
    unsigned turns;
};

std::uint64_t some_length(Prng& prng) {
    if (prng.chance(70)) return prng.below(64);
    return prng.chance(80) ? prng.below(3000) : prng.below(20'000);
}

std::vector<Step> some_program(std::uint64_t seed) {
    Prng prng(seed);
    std::vector<Step> program(500);
    const std::uint64_t tags = 1 + prng.below(4);
    const unsigned sends = 20 + static_cast<unsigned>(prng.below(40));
    for (Step& step : program) {
        step = {};
        step.what = prng.chance(sends) ? Step::What::send
                    : prng.chance(60)  ? Step::What::receive
                                       : Step::What::turns;
        step.at = prng.chance(70) ? 0 : 1;
        if (step.what == Step::What::receive) step.at = 1 - step.at;
        step.match = prng.below(tags);
        step.ignore = prng.chance(10) ? 3 : 0;
        step.immediate = prng.next();
        step.bytes = some_length(prng);
        step.flags =
            (prng.chance(30) ? kSendImmediate : 0) | (prng.chance(5) ? kSendSynchronous : 0);
        step.any = prng.chance(30);
        step.waits = prng.chance(30);
        step.turns = 1 + static_cast<unsigned>(prng.below(8));
    }
    return program;
}

struct Execution {
    Execution(const std::vector<Step>& steps, const sim::WorldOptions& world, bool fast_path)
        : program(steps),
          is_fast(fast_path),
          memory(steps.size()),
          p(kEnhancedMixed, world, limits()) {
        p.attach();
        for (std::size_t i = 0; i < program.size(); ++i) {
            if (program[i].what == Step::What::send) send(static_cast<int>(i));
            if (program[i].what == Step::What::receive) receive(static_cast<int>(i));
            if (program[i].what == Step::What::turns) p.turns(program[i].at, program[i].turns);
        }
        p.settle();
    }

    [[nodiscard]] Limits limits() const {
        Limits limits = small_limits();
        limits.copy = CopyPath::Policy::ring;
        limits.fast_path = is_fast;
        limits.layout.pool_bytes = 64 * gcs::Layout::kPieceBytes;
        limits.lend_after = {500, 5000};
        return limits;
    }
    void send(int number) {
        const Step& step = program[number];
        std::vector<std::byte>& data = memory[number];
        data.resize(step.bytes);
        for (std::size_t i = 0; i < data.size(); ++i) {
            data[i] = static_cast<std::byte>(number * 31 + static_cast<int>(i) * 7);
        }
        const nhi::PeerId to = p.there[step.at];
        Engine& engine = p.ends[step.at]->engine();
        const iovec range{data.data(), data.size()};
        if (is_fast && (fast::send_line(engine, to, 0, step.flags, step.match, step.immediate,
                                        data.data(), data.size()) ||
                        fast::send_eager(engine, to, 0, step.flags, step.match, step.immediate,
                                         data.data(), data.size()) ||
                        fast::send_far(engine, to, 0, step.flags, step.match, step.immediate,
                                       data.data(), data.size()))) {
            ++ways;
            return;
        }
        EXPECT_GE(
            p.ends[step.at]->send({to, 0, step.flags, step.match, step.immediate, {&range, 1}},
                                  sends.on(number), nullptr),
            0);
    }
    void receive(int number) {
        const Step& step = program[number];
        std::vector<std::byte>& data = memory[number];
        data.assign(step.bytes, std::byte{0xA5});
        const nhi::PeerId source = step.any ? kAnySource : p.there[step.at];
        const Pattern pattern{source, 0, step.match, step.ignore};
        MessagePassing& end = *p.ends[step.at];
        const iovec range{data.data(), data.size()};
        Outcome outcome{};
        if (is_fast && take(end.engine(), step, pattern, data, &outcome)) {
            p.recorder.outcomes[number] = outcome;
            ++ways;
            return;
        }
        if (is_fast && end.engine().arrived.known_absent(pattern) &&
            fast::post(end.engine(), pattern, data.data(), data.size(), p.recorder.on(number))) {
            ++ways;
            return;
        }
        const int result =
            end.receive(pattern, {&range, 1}, p.recorder.on(number), nullptr, &outcome);
        if (result == kDone) p.recorder.outcomes[number] = outcome;
        EXPECT_GE(result, 0);
    }
    static bool take(Engine& engine, const Step& step, const Pattern& pattern,
                     std::vector<std::byte>& data, Outcome* outcome) {
        const Engine::Arrival first = engine.arrival();
        return step.waits && first.is_here &&
               fast::take_awaited(engine, first, pattern, data.data(), data.size(), outcome);
    }

    const std::vector<Step>& program;
    const bool is_fast;
    std::vector<std::vector<std::byte>> memory;  // by step
    Recorder sends;                              // receives are in p.recorder
    Pair p;
    unsigned ways = 0;  // fast ones that were taken
};

bool are_same(const Outcome& one, const Outcome& other) {
    return one.error == other.error && one.flags == other.flags && one.source == other.source &&
           one.match == other.match && one.immediate == other.immediate &&
           one.length == other.length && one.received == other.received;
}

void compare(const sim::WorldOptions& world) {
    unsigned ways = 0, expected = 0;
    for (const std::uint64_t seed : seeds(300)) {
        if (testing::Test::HasFailure()) break;
        SCOPED_TRACE("seed " + std::to_string(seed));
        const std::vector<Step> program = some_program(seed);
        Execution fast(program, world, true), general(program, world, false);
        ASSERT_EQ(general.ways, 0u);
        ways += fast.ways;
        EXPECT_EQ(fast.memory, general.memory);
        EXPECT_EQ(fast.p.recorder.outcomes.size(), general.p.recorder.outcomes.size());
        for (const auto& [number, outcome] : general.p.recorder.outcomes) {
            ASSERT_TRUE(fast.p.recorder.has(number)) << "receive " << number << " has not ended";
            EXPECT_TRUE(are_same(fast.p.recorder.outcomes.at(number), outcome)) << number;
        }
        for (int who : {0, 1}) {
            const Counters& one = fast.p.ends[who]->engine().counters;
            const Counters& other = general.p.ends[who]->engine().counters;
            EXPECT_EQ(one.bad_requests + other.bad_requests, 0u);
            EXPECT_EQ(one.received_expected + one.received_unexpected,
                      other.received_expected + other.received_unexpected);
            EXPECT_EQ(fast.p.ends[who]->engine().orders.used(),
                      general.p.ends[who]->engine().orders.used());
            expected += static_cast<unsigned>(one.received_expected);
        }
    }
    EXPECT_GT(ways, 30'000u) << "the fast paths were hardly taken";
    EXPECT_GT(expected, 10'000u);
}

TEST(differential, fast_path__as_the_general_engine) {
    compare({.mapped = true, .stores = true});
}

TEST(differential, fast_path__as_the_general_engine_by_transfers) {
    compare({.again_percent = 10});
}

}  // namespace
}  // namespace fci::mp::test
