// SPDX-License-Identifier: BSD-3-Clause
#include "fci_core/group/hints/hint_slots.h"

#include <gtest/gtest.h>

#include <vector>

#include "test/unit/group/hints/bulk.h"

namespace fci::group {
namespace {

using test::Bytes;

constexpr std::uint64_t kName = 7;
constexpr Nanoseconds kWhile = 10'000'000'000;
const std::vector<std::uint32_t> kHosts{1, 2, 3};

struct TableGroup {
    test::HandHints hints;
    HintSlots early{hints, {{kName, {}}, 2, kHosts}};

    bool bring(std::uint64_t number, const Bytes& bytes) {
        return hints.bring({kName, number, 0, static_cast<std::uint32_t>(bytes.size()), 1}, bytes);
    }
    [[nodiscard]] Bytes here(std::uint64_t number) const {
        const auto bytes = early.bytes(number);
        return {bytes.begin(), bytes.end()};
    }
};

TEST(HintSlots, joins__as_the_member_that_it_is) {
    TableGroup it;
    ASSERT_EQ(it.hints.joined.size(), 1u);
    EXPECT_EQ(it.hints.joined[0].group.name, kName);
    EXPECT_EQ(it.hints.joined[0].rank, 2u);
}

TEST(HintSlots, hints__of_the_next_16_are_kept) {
    TableGroup it;
    EXPECT_FALSE(it.bring(17, test::pattern(8))) << "not yet";
    for (std::uint64_t number = 1; number <= 16; ++number) {
        EXPECT_FALSE(it.early.has(number));
        EXPECT_TRUE(it.bring(number, test::pattern(number * 8, 3)));
        EXPECT_TRUE(it.early.has(number));
        EXPECT_FALSE(it.early.has(number + 16)) << "which will have the same place";
    }
    for (std::uint64_t number = 1; number <= 16; ++number) {
        EXPECT_EQ(it.here(number), test::pattern(number * 8, 3));
    }
    it.early.pass(1);
    EXPECT_FALSE(it.bring(18, test::pattern(8)));
    EXPECT_TRUE(it.bring(17, test::pattern(HintSlots::kMost, 9)));
    EXPECT_EQ(it.here(17), test::pattern(HintSlots::kMost, 9));
    EXPECT_FALSE(it.early.has(1));
}

TEST(HintSlots, hint__comes_once) {
    TableGroup it;
    EXPECT_TRUE(it.bring(3, test::pattern(40, 1)));
    EXPECT_FALSE(it.bring(3, test::pattern(40, 2)));
    EXPECT_EQ(it.here(3), test::pattern(40, 1));
}

TEST(HintSlots, piece__is_none_of_this_group) {
    TableGroup it;
    EXPECT_TRUE(it.hints.bring({kName, 2, 0, 16, 1}, test::pattern(8)));
    EXPECT_FALSE(it.early.has(2));
    EXPECT_TRUE(it.bring(2, test::pattern(16, 5))) << "it is still expected";
    EXPECT_EQ(it.here(2), test::pattern(16, 5));
    EXPECT_FALSE(it.bring(4, test::pattern(HintSlots::kMost + 1)));
}

TEST(HintSlots, tells__all_in_one_hint) {
    TableGroup it;
    it.early.send(5, test::pattern(100, 4));
    ASSERT_EQ(it.hints.hinted.size(), 1u);
    const auto& [hint, bytes] = it.hints.hinted[0];
    EXPECT_EQ(hint.name, kName);
    EXPECT_EQ(hint.number, 5u);
    EXPECT_EQ(hint.offset, 0u);
    EXPECT_EQ(hint.total, 100u);
    EXPECT_EQ(bytes, test::pattern(100, 4));
}

TEST(HintSlots, hears__never_until_something_comes) {
    TableGroup it;
    EXPECT_EQ(it.early.hears(1, 5), Hears::never);
    EXPECT_EQ(it.early.hears(1000, 5 + 2 * kWhile), Hears::never);
}

TEST(HintSlots, hears__formerly_where_64_broadcasts_and_ten_seconds_brought_none) {
    TableGroup it;
    it.hints.latest = 10;
    EXPECT_EQ(it.early.hears(200, 5), Hears::lately) << "it was heard since";
    EXPECT_EQ(it.early.hears(10 + 64, 5 + kWhile - 1), Hears::lately);
    EXPECT_EQ(it.early.hears(10 + 63, 5 + kWhile), Hears::lately);
    EXPECT_EQ(it.early.hears(10 + 64, 5 + kWhile), Hears::formerly);
    it.hints.latest = 11;
    EXPECT_EQ(it.early.hears(11 + 64, 6 + kWhile), Hears::lately);
    EXPECT_EQ(it.early.hears(11 + 64, 5 + 2 * kWhile), Hears::lately);
    EXPECT_EQ(it.early.hears(11 + 64, 6 + 2 * kWhile), Hears::formerly);
}

TEST(HintSlots, leaves__and_nothing_is_written_any_more) {
    test::HandHints hints;
    const Bytes bytes = test::pattern(8);
    { const HintSlots early(hints, {{kName, {}}, 0, kHosts}); }
    EXPECT_FALSE(hints.bring({kName, 1, 0, 8, 1}, bytes));
    const HintSlots again(hints, {{kName, {}}, 0, kHosts});
    EXPECT_TRUE(hints.bring({kName, 1, 0, 8, 1}, bytes));
}

TEST(HintSlots, unheard__where_none_can_be_messages_do) {
    test::HandHints hints;
    hints.to_join = Status::unsupported;
    HintSlots early(hints, {{kName, {}}, 0, kHosts});
    early.pass(1);
    EXPECT_FALSE(hints.bring({kName, 1, 0, 8, 1}, test::pattern(8)));
    EXPECT_FALSE(early.has(1));
}

}  // namespace
}  // namespace fci::group
