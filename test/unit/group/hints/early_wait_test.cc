// SPDX-License-Identifier: BSD-3-Clause
#include "fci_core/group/hints/early_wait.h"

#include <gtest/gtest.h>

#include <cstring>
#include <vector>

#include "test/unit/group/hints/bulk.h"

namespace fci::group {
namespace {

constexpr std::uint64_t kName = 7, kNumber = 5;
constexpr Nanoseconds kMilli = 1'000'000, kNow = 1234;
constexpr nhi::PeerId kBefore = 3;
const std::vector<std::uint32_t> kHosts{1, 2, 3};

struct Waiting {
    test::HandHints hints;
    Early early{hints, {{kName, {}}, 0, kHosts}};
    EarlyWait wait{early, kNumber, true};

    void bring(std::uint64_t number) {
        const test::Bytes bytes = test::pattern(24, static_cast<unsigned>(number));
        EXPECT_TRUE(hints.bring({kName, number, 0, 24, 1}, bytes));
    }
    Trailer noted(Trailer trailer) {
        std::byte bytes[sizeof trailer];
        std::memcpy(bytes, &trailer, sizeof trailer);
        wait.note_in(bytes, kNow);
        std::memcpy(&trailer, bytes, sizeof trailer);
        return trailer;
    }
};

TEST(EarlyWait, nothing__may_come_early) {
    const EarlyWait wait;
    EXPECT_FALSE(wait);
    EXPECT_FALSE(wait.lingers());
    EXPECT_FALSE(wait.waits());
}

TEST(EarlyWait, hint__of_its_own_number) {
    Waiting it;
    EXPECT_TRUE(it.wait);
    EXPECT_TRUE(it.wait.lingers());
    EXPECT_FALSE(EarlyWait(it.early, kNumber, false).lingers());
    it.bring(kNumber - 1);
    it.bring(kNumber + 1);
    EXPECT_FALSE(it.wait.has_hint());
    it.bring(kNumber);
    EXPECT_TRUE(it.wait.has_hint());
    const auto bytes = it.wait.hint();
    EXPECT_EQ(test::Bytes(bytes.begin(), bytes.end()), test::pattern(24, kNumber));
}

TEST(EarlyWait, trailer__says_whether_anybody_so_far_hears) {
    Waiting it;
    Trailer said = it.noted({0, Hears::never, 9});
    EXPECT_EQ(said.is_heard, 0u);
    EXPECT_EQ(said.hears, Hears::never);
    EXPECT_EQ(said.by_tree, 9u) << "the root's own";
    said = it.noted({1, Hears::lately, 0});
    EXPECT_EQ(said.is_heard, 1u) << "by another one";
    EXPECT_EQ(said.hears, Hears::lately);
    it.hints.latest = 1;
    said = it.noted({0, Hears::formerly, 0});
    EXPECT_EQ(said.is_heard, 0u);
    EXPECT_EQ(said.hears, Hears::lately);
    it.bring(kNumber);
    EXPECT_EQ(it.noted({0, Hears::never, 0}).is_heard, 1u);
}

TEST(EarlyWait, lingers__not_where_it_is_lacked) {
    Waiting it;
    it.early.be_plain(kNumber - 1);
    EXPECT_TRUE(it.wait.lingers());
    it.early.be_plain(kNumber);
    EXPECT_FALSE(it.wait.lingers()) << "though it is waited for";
}

TEST(EarlyWait, asks__after_2_ms_and_twice_as_long_each_time) {
    Waiting it;
    it.wait.wait(kBefore, kNow);
    EXPECT_TRUE(it.wait.waits());
    EXPECT_EQ(it.wait.from(), kBefore);
    for (const Nanoseconds after : {2, 4, 8, 16, 32, 64, 128, 256, 512}) {
        EXPECT_FALSE(it.wait.must_ask(kNow + after * kMilli - 1)) << after;
        it.wait.wait(kBefore, kNow + after * kMilli - 1);  // it waits on
        EXPECT_TRUE(it.wait.must_ask(kNow + after * kMilli)) << after;
    }
}

TEST(EarlyWait, end__and_another_wait) {
    Waiting it;
    it.wait.wait(kBefore, kNow);
    EXPECT_TRUE(it.wait.must_ask(kNow + 2 * kMilli));
    it.wait.end();
    EXPECT_FALSE(it.wait.waits());
    it.wait.wait(kBefore + 1, kNow + 3 * kMilli);
    EXPECT_EQ(it.wait.from(), kBefore + 1);
    EXPECT_FALSE(it.wait.must_ask(kNow + 5 * kMilli - 1));
    EXPECT_TRUE(it.wait.must_ask(kNow + 5 * kMilli));
}

TEST(EarlyWait, overtaken__by_the_next_one_it_asks_at_once) {
    Waiting it;
    it.bring(kNumber - 1);
    it.bring(kNumber + 2);
    it.wait.wait(kBefore, kNow);
    EXPECT_FALSE(it.wait.must_ask(kNow + 1));
    it.bring(kNumber + 1);
    EXPECT_TRUE(it.wait.must_ask(kNow + 1));
    EXPECT_FALSE(it.wait.must_ask(kNow + 2)) << "once";
    EXPECT_FALSE(it.wait.must_ask(kNow + 4 * kMilli - 1));
    EXPECT_TRUE(it.wait.must_ask(kNow + 4 * kMilli));
}

}  // namespace
}  // namespace fci::group
