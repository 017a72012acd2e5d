// SPDX-License-Identifier: BSD-3-Clause
#include "fci_core/mp/move/copy_path.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <deque>

using fci::Nanoseconds;
using fci::mp::CopyPath;
using fci::mp::Path;

namespace {

/// The cost of a message on each path, and how often each was chosen.
struct Costs {
    Nanoseconds ring, pull, shared;
    Nanoseconds operator[](Path path) const {
        return path == Path::ring ? ring : path == Path::pull ? pull : shared;
    }
};
struct Tally {
    unsigned ring = 0, pull = 0, shared = 0;
    void count(Path path) { ++(path == Path::ring ? ring : path == Path::pull ? pull : shared); }
};

/// A peer whose messages end one after the other, up to `window` under way at once.
class Traffic {
public:
    explicit Traffic(CopyPath::Policy policy = CopyPath::Policy::measure) {
        path_.set_policy(policy);
    }
    Tally run(std::uint64_t bytes, unsigned messages, const Costs& costs, unsigned window = 1) {
        Tally tally;
        for (unsigned left = messages; left != 0;) {
            const unsigned now = std::min(left, window);
            left -= now;
            for (unsigned i = 0; i < now; ++i) {
                const Path chosen = path_.choose(bytes, bytes > 32768);
                tally.count(chosen);
                under_way_.push_back({chosen, path_.begin(chosen), clock_});
            }
            while (!under_way_.empty()) end_first(bytes, costs);
            clock_ += 1000;  // the user's own work
        }
        return tally;
    }
    /// Where one ends the next one begins, so that `window` are always under way.
    Tally stream(std::uint64_t bytes, unsigned messages, const Costs& costs, unsigned window) {
        Tally tally;
        for (unsigned i = 0; i < messages + window; ++i) {
            if (i >= window) end_first(bytes, costs);
            if (i >= messages) continue;
            const Path chosen = path_.choose(bytes, true);
            tally.count(chosen);
            under_way_.push_back({chosen, path_.begin(chosen), clock_});
        }
        return tally;
    }
    Path next(std::uint64_t bytes) { return path_.choose(bytes, bytes > 32768); }

private:
    struct Message {
        Path path;
        std::uint32_t number;
        Nanoseconds started;
    };
    void end_first(std::uint64_t bytes, const Costs& costs) {
        const Message message = under_way_.front();
        under_way_.pop_front();
        clock_ += costs[message.path];
        path_.end({message.path, bytes, bytes, message.number, message.started, clock_, true});
    }

    CopyPath path_;
    std::deque<Message> under_way_;
    Nanoseconds clock_ = 1'000'000;
};

constexpr std::uint64_t kMiB = 1 << 20;
constexpr Costs kRingBest{40'000, 90'000, 80'000};
constexpr Costs kPullBest{90'000, 40'000, 80'000};
constexpr Costs kSharedBest{90'000, 80'000, 40'000};

}  // namespace

TEST(copy_path, choose__settles_on_the_cheapest) {
    for (const unsigned window : {1u, 2u, 16u, 64u}) {
        Traffic ring, pull, shared;
        const unsigned first = 12 + 24 * 2 * window;
        ring.run(kMiB, first, kRingBest, window);
        pull.run(kMiB, first, kPullBest, window);
        shared.run(kMiB, first, kSharedBest, window);
        EXPECT_GT(ring.run(kMiB, 4096, kRingBest, window).ring, 3900u) << window;
        EXPECT_GT(pull.run(kMiB, 4096, kPullBest, window).pull, 3900u) << window;
        EXPECT_GT(shared.run(kMiB, 4096, kSharedBest, window).shared, 3900u) << window;
    }
}

TEST(copy_path, choose__looks_at_the_others_now_and_then) {
    for (const unsigned window : {1u, 64u}) {
        Traffic traffic;
        traffic.run(kMiB, 3072, kRingBest, window);
        const Tally later = traffic.run(kMiB, 65536, kRingBest, window);
        EXPECT_GE(later.pull, 8u);
        EXPECT_GE(later.shared, 8u);
        EXPECT_LT(later.pull + later.shared, 65536u / 20);
    }
}

TEST(copy_path, choose__the_worse_the_rarer) {
    Traffic bad, worse;
    bad.run(kMiB, 64, {40'000, 79'000, 79'000});
    worse.run(kMiB, 64, {40'000, 81'000, 81'000});
    EXPECT_EQ(bad.run(kMiB, 64 * 65, {40'000, 79'000, 79'000}).pull, 64u);
    EXPECT_EQ(worse.run(kMiB, 64 * 65, {40'000, 81'000, 81'000}).pull, 16u);
}

TEST(copy_path, choose__the_first_message_of_a_path_finds_its_memory_cold) {
    CopyPath path;
    Nanoseconds clock = 1'000'000;
    Path last = Path::pull;
    Tally tally;
    for (int i = 0; i < 600; ++i) {
        const Path chosen = path.choose(kMiB, true);
        const std::uint32_t number = path.begin(chosen);
        const Nanoseconds began = clock += 1'000;
        clock += chosen != last ? 90'000 : chosen == Path::ring ? 40'000 : 60'000;
        path.end({chosen, kMiB, kMiB, number, began, clock, true});
        tally.count(last = chosen);
    }
    EXPECT_GT(tally.ring, 570u);
}

TEST(copy_path, choose__a_stream_does_not_spend_itself_on_trials) {
    // 128 messages of each were 12 GiB of trials before 8 MiB long ones knew their way.
    Traffic windows, stream;
    EXPECT_GT(windows.run(8 * kMiB, 512, kRingBest, 64).ring, 512u - 3 * 64u);
    EXPECT_GT(stream.stream(8 * kMiB, 512, kRingBest, 8).ring, 512u - 5 * 24u);
}

TEST(copy_path, end__what_paid_for_new_memory_says_nothing) {
    CopyPath path;
    Nanoseconds clock = 1'000'000;
    bool is_new = true;
    for (int i = 0; i < 13; ++i) {
        const Path chosen = path.choose(kMiB, true);
        const bool pays = chosen == Path::ring && is_new;
        const std::uint32_t number = path.begin(chosen);
        const Nanoseconds began = clock += 1'000;
        clock += pays ? 900'000 : chosen == Path::ring ? 40'000 : 70'000;
        path.end({chosen, kMiB, kMiB, number, began, clock, !pays});
        is_new &= !pays;
    }
    EXPECT_FALSE(is_new);
    EXPECT_EQ(path.choose(kMiB, true), Path::ring);
}

TEST(copy_path, choose__lengths_are_learned_apart) {
    Traffic traffic;
    traffic.run(64 << 10, 100, {3'000, 9'000, 9'000});
    traffic.run(4 << 20, 100, {900'000, 800'000, 300'000});
    EXPECT_GT(traffic.run(64 << 10, 100, {3'000, 9'000, 9'000}).ring, 90u);
    EXPECT_GT(traffic.run(4 << 20, 100, {900'000, 800'000, 300'000}).shared, 90u);
}

TEST(copy_path, choose__what_is_too_short_is_not_shared) {
    Traffic traffic;
    const Tally tally = traffic.run(20'000, 1000, {9'000, 2'000, 1});
    EXPECT_EQ(tally.shared, 0u);
    EXPECT_GT(tally.pull, 950u);
}

TEST(copy_path, choose__follows_a_machine_that_changes) {
    for (const unsigned window : {1u, 16u}) {
        Traffic traffic;
        traffic.run(kMiB, 1000, kRingBest, window);
        // Dearer than the others were: known from its own messages.
        const Costs slow{450'000, 90'000, 80'000};
        EXPECT_LT(traffic.run(kMiB, 600, slow, window).ring, 64u + 16 * window);
        EXPECT_GT(traffic.run(kMiB, 1000, slow, window).shared, 880u);
        // Cheap again: known when it is tried.
        traffic.run(kMiB, 20 * 64 * window, kRingBest, window);
        EXPECT_GT(traffic.run(kMiB, 1000, kRingBest, window).ring, 880u);
    }
}

TEST(copy_path, end__one_late_message_changes_nothing) {
    Traffic traffic;
    traffic.run(kMiB, 100, {40'000, 70'000, 60'000});
    traffic.run(kMiB, 1, {50'000'000, 50'000'000, 50'000'000});  // the other side was busy
    EXPECT_GT(traffic.run(kMiB, 100, {40'000, 70'000, 60'000}).ring, 85u);
}

// The stream that waits for room, or for the other side, is judged by what it gets through.
TEST(copy_path, end__waiting_for_others_is_no_cost) {
    CopyPath path;
    const auto run = [&](Path with, Nanoseconds from, Nanoseconds each) {
        std::uint32_t numbers[64];
        for (std::uint32_t& number : numbers) number = path.begin(with);
        for (unsigned i = 0; i < 64; ++i) {
            path.end({with, kMiB, kMiB, numbers[i], from, from + (i + 1) * each, true});
        }
    };
    for (int i = 0; i < 12; ++i) {  // one after the other: each is alone
        const Path chosen = path.choose(kMiB, true);
        const auto began = static_cast<Nanoseconds>(1'000'000 * (i + 1));
        path.end({chosen, kMiB, kMiB, path.begin(chosen), began,
                 began + (chosen == Path::ring ? 40'000 : 60'000), true});
    }
    // 64 at once wait 1.3 ms on average, and are as dear as they were.
    for (int i = 0; i < 20; ++i) run(Path::ring, 100'000'000 + 10'000'000 * i, 40'000);
    EXPECT_EQ(path.choose(kMiB, true), Path::ring);
    for (int i = 20; i < 40; ++i) run(Path::ring, 100'000'000 + 10'000'000 * i, 70'000);
    EXPECT_NE(path.choose(kMiB, true), Path::ring);
}

TEST(copy_path, end__one_window_is_enough_to_know) {
    Traffic traffic;
    traffic.run(kMiB, 100, {40'000, 70'000, 60'000});
    // All 64 take the path that was best; then it is known to be the worst.
    traffic.run(kMiB, 64, {4'000'000, 70'000, 60'000}, 64);
    EXPECT_NE(traffic.next(kMiB), Path::ring);
}

// What shares its time with another path tells nothing about either.
TEST(copy_path, end__mixed_messages_are_not_learned_from) {
    const auto best_after = [](unsigned rounds) {
        CopyPath path;
        Nanoseconds clock = 1'000'000;
        for (int i = 0; i < 12; ++i) {
            const Path chosen = path.choose(kMiB, true);
            const std::uint32_t number = path.begin(chosen);
            const Nanoseconds began = clock += 1'000;
            clock += chosen == Path::ring ? 40'000 : 60'000;
            path.end({chosen, kMiB, kMiB, number, began, clock, true});
        }
        for (unsigned i = 0; i < rounds; ++i) {  // the pull is nearly done when the ring is
            const std::uint32_t ring = path.begin(Path::ring), pull = path.begin(Path::pull);
            const Nanoseconds began = clock;
            path.end({Path::ring, kMiB, kMiB, ring, began, clock += 60'000, true});
            path.end({Path::pull, kMiB, kMiB, pull, began, clock += 1'000, true});
        }
        return path.choose(kMiB, true);
    };
    EXPECT_EQ(best_after(32), Path::ring);
    EXPECT_EQ(best_after(4096), Path::pull);  // where nothing else is ever seen, that must do
}

TEST(copy_path, end__one_that_overtakes_another_was_not_alone) {
    CopyPath path;
    Nanoseconds clock = 1'000'000;
    const auto one = [&](Nanoseconds ring, Nanoseconds others) {
        const Path chosen = path.choose(kMiB, true);
        const std::uint32_t number = path.begin(chosen);
        const Nanoseconds began = clock += 1'000;
        clock += chosen == Path::ring ? ring : others;
        path.end({chosen, kMiB, kMiB, number, began, clock, true});
    };
    for (int i = 0; i < 12; ++i) one(40'000, 60'000);
    const std::uint32_t slow = path.begin(Path::ring), quick = path.begin(Path::pull);
    path.end({Path::pull, kMiB, kMiB, quick, clock, clock + 1'000, true});
    path.end({Path::ring, kMiB, kMiB, slow, clock, clock + 80'000, true});
    EXPECT_EQ(path.choose(kMiB, true), Path::ring);
}

TEST(copy_path, set_policy__is_obeyed) {
    using Policy = CopyPath::Policy;
    Traffic ring(Policy::ring), pull(Policy::pull), shared(Policy::shared);
    EXPECT_EQ(ring.run(kMiB, 1000, {100, 1, 1}).ring, 1000u);
    EXPECT_EQ(pull.run(kMiB, 1000, {1, 100, 1}).pull, 1000u);
    EXPECT_EQ(shared.run(kMiB, 1000, {1, 1, 100}).shared, 1000u);
    EXPECT_EQ(shared.run(20'000, 1000, {1, 1, 100}).pull, 1000u);
}

TEST(copy_path, choose__classes_are_powers_of_two_from_32_KiB_to_32_MiB) {
    // A length that shares its class with one that was learned is known at once.
    const auto knows = [](std::uint64_t learned, std::uint64_t asked) {
        Traffic traffic;
        traffic.run(learned, 12, {1'000'000, 10'000'000, 9'000'000});
        Tally tally;
        for (int i = 0; i < 4; ++i) tally.count(traffic.next(asked));
        return tally.ring == 4;
    };
    EXPECT_TRUE(knows(100, 32767));
    EXPECT_FALSE(knows(32767, 32769));
    EXPECT_TRUE(knows(32769, 65535));
    EXPECT_FALSE(knows(65535, 65536));
    EXPECT_FALSE(knows((16 << 20) - 1, 16 << 20));
    EXPECT_TRUE(knows(32 << 20, 1 << 30));
    EXPECT_TRUE(knows((1 << 30) + 1, 1 << 30));
}

// Four messages alone make a trial, and after 64 times as many the path is tried again; where it
// was far worse than the best, after 256 times as many.
TEST(copy_path, choose__each_trial_takes_four_messages_and_comes_again_in_time) {
    for (const Nanoseconds worse : {190'000, 210'000}) {
        Traffic traffic;
        const Costs costs{100'000, worse, worse};
        const auto all_are = [&](unsigned messages, Path path) {
            const Tally tally = traffic.run(100'000, messages, costs);
            EXPECT_EQ(path == Path::ring ? tally.ring : path == Path::pull ? tally.pull
                                                                          : tally.shared,
                      messages);
        };
        all_are(4, Path::pull);
        all_are(4, Path::shared);
        all_are(4 + 248, Path::ring);
        all_are(4, Path::pull);
        all_are(4, Path::shared);
        const unsigned pause = worse > 200'000 ? 4 * 256 : 256;
        all_are(pause - 4, Path::ring);
        all_are(4, Path::pull);
        all_are(4, Path::shared);
    }
}

namespace {

/// How many messages of a trial go before the next one begins, of which the first `ended` end and
/// say nothing.
unsigned length_of_trial(std::uint64_t bytes, unsigned ended) {
    CopyPath path;
    const Path first = path.choose(bytes, true);
    Nanoseconds now = 1;
    unsigned messages = 0;
    for (Path next = first; next == first && messages < 10'000; next = path.choose(bytes, true)) {
        const std::uint32_t number = path.begin(next);
        if (messages++ < ended) {
            path.end({next, bytes, bytes, number, now, now + 10, false});
            now += 20;
        }
    }
    return messages;
}

}  // namespace

TEST(copy_path, choose__a_trial_that_says_nothing_has_an_end) {
    EXPECT_EQ(length_of_trial(100'000, 0), 128u);
    EXPECT_EQ(length_of_trial(100'000, 10'000), 128u);
    EXPECT_EQ(length_of_trial(1 << 20, 1), 1u + 64) << "so much follows the first that ended";
    EXPECT_EQ(length_of_trial(1 << 20, 10'000), 1u + 64);
    EXPECT_EQ(length_of_trial(64 << 20, 1), 1u + 16) << "some, however long";
    EXPECT_EQ(length_of_trial(64 << 20, 10'000), 1u + 16);
}
