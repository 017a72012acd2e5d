#include "fci_core/mp/copy_path.h"

#include <gtest/gtest.h>

#include <initializer_list>

using fci::mp::CopyPath;
using Choice = CopyPath::Choice;

namespace {

/// Runs `transfers` of one length with given costs per path; how often each was chosen.
struct Tally {
    unsigned ring = 0, kernel = 0;
};
Tally run(CopyPath& path, std::uint64_t bytes, unsigned transfers, fci::Nanoseconds ring_ns,
          fci::Nanoseconds kernel_ns) {
    Tally tally;
    for (unsigned i = 0; i < transfers; ++i) {
        const Choice choice = path.choose(bytes);
        ++(choice == Choice::ring ? tally.ring : tally.kernel);
        path.learn(choice, bytes, choice == Choice::ring ? ring_ns : kernel_ns);
    }
    return tally;
}

}  // namespace

TEST(copy_path, choose__settles_on_the_cheaper_one) {
    CopyPath path;
    run(path, 1 << 20, 16, 40'000, 90'000);
    const Tally later = run(path, 1 << 20, 1000, 40'000, 90'000);
    EXPECT_GT(later.ring, 980u);
    EXPECT_GE(later.kernel, 1u);  // it still looks
}

TEST(copy_path, choose__lengths_are_learned_apart) {
    CopyPath path;
    run(path, 64 << 10, 100, 3'000, 9'000);
    run(path, 4 << 20, 100, 900'000, 300'000);
    EXPECT_GT(run(path, 64 << 10, 100, 3'000, 9'000).ring, 95u);
    EXPECT_GT(run(path, 4 << 20, 100, 900'000, 300'000).kernel, 95u);
}

TEST(copy_path, choose__follows_a_machine_that_changes) {
    CopyPath path;
    run(path, 1 << 20, 500, 40'000, 80'000);
    run(path, 1 << 20, 500, 450'000, 80'000);  // the cores moved to different L3s
    EXPECT_GT(run(path, 1 << 20, 1000, 450'000, 80'000).kernel, 900u);
    run(path, 1 << 20, 1500, 40'000, 80'000);
    EXPECT_GT(run(path, 1 << 20, 1000, 40'000, 80'000).ring, 900u);
}

TEST(copy_path, learn__one_late_transfer_changes_nothing) {
    CopyPath path;
    run(path, 1 << 20, 100, 40'000, 60'000);
    path.learn(Choice::ring, 1 << 20, 50'000'000);  // the other side was busy
    EXPECT_GT(run(path, 1 << 20, 100, 40'000, 60'000).ring, 90u);
}

TEST(copy_path, set_policy__is_obeyed) {
    CopyPath path;
    path.set_policy(CopyPath::Policy::kernel);
    EXPECT_EQ(run(path, 1 << 20, 100, 1, 100).ring, 0u);
    path.set_policy(CopyPath::Policy::ring);
    EXPECT_EQ(run(path, 1 << 20, 100, 100, 1).kernel, 0u);
}

// How often it looks at the loser: more often where that is not much worse.
TEST(copy_path, choose__retries_the_loser_now_and_then) {
    for (const bool much : {false, true}) {
        CopyPath path;
        const fci::Nanoseconds worse = much ? 900'000 : 60'000;
        const Tally first = run(path, 1 << 20, 8, worse, 40'000);
        EXPECT_EQ(first.ring, 4u);  // both in turn
        EXPECT_EQ(first.kernel, 4u);
        EXPECT_EQ(run(path, 1 << 20, 256 * 8, worse, 40'000).ring, much ? 8u : 32u);
    }
}

TEST(copy_path, choose__classes_are_powers_of_two_from_32_KiB_to_32_MiB) {
    // A length that shares its class with one that was learned is known at once.
    const auto knows = [](std::uint64_t learned, std::uint64_t asked) {
        CopyPath path;
        run(path, learned, 8, 10'000'000, 1'000'000);
        Tally tally;
        for (int i = 0; i < 4; ++i) {
            ++(path.choose(asked) == Choice::ring ? tally.ring : tally.kernel);
        }
        return tally.kernel == 4;
    };
    EXPECT_TRUE(knows(100, 32767));
    EXPECT_FALSE(knows(32767, 32768));
    EXPECT_TRUE(knows(32768, 65535));
    EXPECT_FALSE(knows(65535, 65536));
    EXPECT_FALSE(knows((16 << 20) - 1, 16 << 20));
    EXPECT_TRUE(knows(32 << 20, 1 << 30));
    EXPECT_TRUE(knows((1 << 30) + 1, 1 << 30));
}

TEST(copy_path, learn__upwards_slowly_downwards_at_once) {
    const auto ring_after = [](fci::Nanoseconds late, int times,
                               fci::Nanoseconds kernel = 60'000) {
        CopyPath path;
        run(path, 1 << 20, 9, 40'000, kernel);
        for (int i = 0; i < times; ++i) path.learn(Choice::ring, 1 << 20, late);
        return path.choose(1 << 20) == Choice::ring;
    };
    EXPECT_TRUE(ring_after(80'000, 5));       // an eighth of the difference each: 59.5
    EXPECT_FALSE(ring_after(80'000, 6));      // 62.1
    EXPECT_TRUE(ring_after(90'000'000, 1));   // of the worst, three eighths: 55
    EXPECT_FALSE(ring_after(90'000'000, 2));  // 75.6
    EXPECT_FALSE(ring_after(80'000, 5, 59'000));      // no less than an eighth
    EXPECT_TRUE(ring_after(90'000'000, 1, 57'000));   // no more than three of them,
    EXPECT_TRUE(ring_after(196'000, 1, 57'000));      // from four times as much on
    CopyPath path;
    run(path, 1 << 20, 9, 90'000, 60'000);
    EXPECT_EQ(path.choose(1 << 20), Choice::kernel);
    path.learn(Choice::ring, 1 << 20, 50'000);
    EXPECT_EQ(path.choose(1 << 20), Choice::ring);
}
