// SPDX-License-Identifier: BSD-3-Clause
#include "fci_core/mp/match/key_index.h"

#include <gtest/gtest.h>

#include <vector>

namespace fci::mp {
namespace {

std::vector<void*> nodes_of(const KeyIndex& index, const MatchKey& key) {
    std::vector<void*> nodes;
    std::uint64_t visits = 0;
    for (auto entry = index.first(key, &visits); entry != KeyIndex::kNone;) {
        nodes.push_back(index.node(entry));
        entry = index.next(entry);
    }
    return nodes;
}

TEST(key_index, erase__first_middle_last_and_only_one) {
    const MatchKey key{1, 0, 7}, other{1, 0, 8};
    int a, b, c, d, e;
    KeyIndex index;
    EXPECT_TRUE(index.empty());
    const auto first = index.insert(key, &a);
    const auto middle = index.insert(key, &b);
    index.insert(key, &c);
    const auto last = index.insert(key, &d);
    const auto only = index.insert(other, &e);
    EXPECT_EQ(index.size(), 5u);
    EXPECT_EQ(nodes_of(index, key), (std::vector<void*>{&a, &b, &c, &d}));
    index.erase(middle);
    EXPECT_EQ(nodes_of(index, key), (std::vector<void*>{&a, &c, &d}));
    index.erase(first);
    EXPECT_EQ(nodes_of(index, key), (std::vector<void*>{&c, &d}));
    index.erase(last);
    EXPECT_EQ(nodes_of(index, key), (std::vector<void*>{&c}));
    index.erase(only);
    EXPECT_EQ(nodes_of(index, other), std::vector<void*>{});
    EXPECT_EQ(index.size(), 1u);
    index.clear();
    EXPECT_TRUE(index.empty());
    EXPECT_EQ(nodes_of(index, key), std::vector<void*>{});
    index.insert(key, &b);
    EXPECT_EQ(nodes_of(index, key), std::vector<void*>{&b});
    EXPECT_EQ(index.size(), 1u);
}

}  // namespace
}  // namespace fci::mp
