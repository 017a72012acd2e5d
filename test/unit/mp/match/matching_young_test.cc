// SPDX-License-Identifier: BSD-3-Clause
// What comes and goes on top of a long list.
#include <gtest/gtest.h>

#include <vector>

#include "fci_core/mp/match/matching.h"

namespace fci::mp {
namespace {

constexpr std::uint64_t kDepth = 10'000;
constexpr std::uint64_t kVisitsPerSearch = 12;

// Behind a long list, what comes and goes on top of it costs a step or two, and is never missed
// because a question was remembered as one that nothing answers.

TEST(posted_list, visits__on_top_of_10000_others_one_each) {
    PostedList list;
    std::vector<PostedNode> others(kDepth);
    for (std::uint64_t i = 0; i < kDepth; ++i) {
        others[i].pattern = {1, 0, 100 + i, 0};
        list.append(others[i]);
    }
    EXPECT_EQ(list.find({1, 0, 5}), nullptr);
    PostedNode nodes[kYoungMost];
    const std::uint64_t before = list.visits();
    for (int i = 0; i < 1000; ++i) {
        for (auto& node : nodes) {
            node.pattern = {1, 0, 5, 0};
            list.append(node);
        }
        for (auto& node : nodes) {
            ASSERT_EQ(list.find_head(1, 0, 5), &node);
            ASSERT_EQ(list.take({1, 0, 5}), &node);
        }
        ASSERT_EQ(list.find_head(1, 0, 5), nullptr);
    }
    EXPECT_LE(list.visits() - before, 1000 * std::size(nodes));
}

TEST(posted_list, find__the_oldest_of_old_and_young) {
    PostedList list;
    std::vector<PostedNode> others(kHashFrom + 1), young(3 * kYoungMost);
    for (auto& other : others) {
        other.pattern = {1, 0, 100, 0};
        list.append(other);
    }
    EXPECT_EQ(list.find({1, 0, 5}), nullptr);  // there is an index now, and 5 is not in it
    for (auto& node : young) {
        node.pattern = {kAnySource, 0, 5, 0};
        list.append(node);
        EXPECT_EQ(list.find({1, 0, 5}), &young[0]);
        EXPECT_EQ(list.find({2, 0, 6}), nullptr);
        EXPECT_EQ(list.find({1, 0, 100}), &others[0]);
    }
    list.remove(young[1]);
    EXPECT_EQ(list.take({1, 0, 5}), &young[0]);
    EXPECT_EQ(list.take({1, 0, 5}), &young[2]);
    list.remove(young.back());
    for (std::size_t i = 3; i + 1 < young.size(); ++i) {
        EXPECT_EQ(list.take({1, 0, 5}), &young[i]);
    }
    EXPECT_EQ(list.take({1, 0, 5}), nullptr);
}

TEST(arrived_list, find__sees_what_arrives_after_it_was_asked_for) {
    ArrivedList list;
    std::vector<ArrivedNode> others(kDepth);
    for (std::uint64_t i = 0; i < kDepth; ++i) {
        others[i].envelope = {1, 0, 100 + i};
        list.append(others[i]);
    }
    ArrivedNode node;
    EXPECT_EQ(list.find({1, 0, 5, 0}), nullptr);
    const std::uint64_t before = list.visits();
    for (int i = 0; i < 1000; ++i) {
        ASSERT_EQ(list.find({1, 0, 5, 0}), nullptr);
        ASSERT_EQ(list.find({kAnySource, 0, 5, 0xf}), nullptr);
        node.envelope = {1, 0, i % 2 == 0 ? 5u : 6u};
        list.append(node);
        ASSERT_EQ(list.find({1, 0, 5, 0}), i % 2 == 0 ? &node : nullptr);
        ASSERT_EQ(list.find({kAnySource, 0, 5, 0xf}), &node);
        list.remove(node);
    }
    EXPECT_LT(list.visits() - before, kDepth + 1000 * 4 * kVisitsPerSearch);
}

}  // namespace
}  // namespace fci::mp
