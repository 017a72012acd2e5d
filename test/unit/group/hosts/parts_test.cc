// SPDX-License-Identifier: BSD-3-Clause
#include "fci_core/group/hosts/parts.h"

#include <gtest/gtest.h>

namespace fci::group {
namespace {

TEST(Parts, ranks__are_together_whose_number_is_the_same) {
    const Parts parts({7, 3, 7, 9, 3, 7});
    ASSERT_EQ(parts.count(), 3u);
    EXPECT_EQ(parts.ranks, (std::vector<std::vector<unsigned>>{{0, 2, 5}, {1, 4}, {3}}));
    EXPECT_EQ(parts.of, (std::vector<unsigned>{0, 1, 0, 2, 1, 0}));
    EXPECT_EQ(parts.place, (std::vector<unsigned>{0, 0, 1, 0, 1, 2}));
}

TEST(Parts, of_nobody__are_none) {
    EXPECT_EQ(Parts({}).count(), 0u);
}

}  // namespace
}  // namespace fci::group
