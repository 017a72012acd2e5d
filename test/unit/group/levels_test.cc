// SPDX-License-Identifier: BSD-3-Clause
#include "fci_core/group/levels.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <vector>

#include "test/unit/group/members.h"
#include "test/unit/group/results.h"

namespace fci::group::test {
namespace {

/// Five processes in three parts, {0, 2}, {1, 3} and {4}, and tables of them at one process.
class LevelsOfFive : public testing::Test {
protected:
    void SetUp() override { all.meet_all(); }
    [[nodiscard]] static Parts parts() { return Parts({7, 3, 7, 3, 9}); }
    [[nodiscard]] std::unique_ptr<TableGroup> table_at(unsigned self,
                                                       const std::vector<unsigned>& ranks) {
        Members members{{}, 0, 1, Entry::kShort};
        for (unsigned place = 0; place < ranks.size(); ++place) {
            if (ranks[place] == self) members.self = place;
            members.peers.push_back(all[self].peers[ranks[place]]);
        }
        return std::make_unique<TableGroup>(all[self].engine(), all[self].messages->meetings(),
                                            offers, members);
    }
    /// A member of that table has gone.
    void lose(TableGroup& table, unsigned rank) {
        const unsigned members = table.members().size();
        memory.assign(FlagTable::bytes(members, Entry::kShort) / sizeof(Entry), {});
        table.open({reinterpret_cast<std::byte*>(memory.data()), members, Entry::kShort});
        EXPECT_EQ(table.barrier(1), kWaits);
        all.lose(rank);
        EXPECT_EQ(table.barrier(1), FCI_ICL_EPEER);
    }

    Processes all{5, {.mapped = true}};
    Offers offers;
    std::vector<Entry> memory;
};

TEST_F(LevelsOfFive, of_each_member__its_part_and_the_first_of_each) {
    for (unsigned self = 0; self < 5; ++self) {
        const auto here = self == 4 ? nullptr
                                    : table_at(self, self % 2 == 0 ? std::vector{0u, 2u}
                                                                   : std::vector{1u, 3u});
        const Levels levels(all.members(self, 1, 8), parts(), true, here.get(), nullptr);
        EXPECT_EQ(levels.self, self);
        EXPECT_EQ(levels.part, self == 4 ? 2u : self % 2);
        EXPECT_EQ(levels.first, (std::vector{0u, 1u, 4u}));
        EXPECT_EQ(levels.is_first(), self < 2 || self == 4);
        EXPECT_EQ(levels.here, here.get());
        EXPECT_EQ(levels.between, nullptr);
        EXPECT_TRUE(levels.by_messages);
        EXPECT_EQ(levels.peers[self], nhi::kSelf);
    }
}

TEST_F(LevelsOfFive, rank_of__a_place_in_the_table_of_a_part_or_of_the_leaders) {
    const auto here = table_at(1, {1, 3});
    const auto between = table_at(1, {0, 1, 4});
    const Levels levels(all.members(1, 1, 8), parts(), false, here.get(), between.get());
    EXPECT_FALSE(levels.by_messages);
    EXPECT_EQ(levels.rank_of(*here, 0), 1u);
    EXPECT_EQ(levels.rank_of(*here, 1), 3u);
    EXPECT_EQ(levels.rank_of(*between, 0), 0u);
    EXPECT_EQ(levels.rank_of(*between, 2), 4u);
}

// Another process wrote the place.
TEST_F(LevelsOfFive, rank_of__a_place_that_no_member_has) {
    const auto here = table_at(1, {1, 3});
    const auto between = table_at(1, {0, 1, 4});
    const Levels levels(all.members(1, 1, 8), parts(), false, here.get(), between.get());
    EXPECT_EQ(levels.rank_of(*here, 2), FCI_ICL_NO_RANK);
    EXPECT_EQ(levels.rank_of(*between, 3), FCI_ICL_NO_RANK);
    EXPECT_EQ(levels.rank_of(*here, FCI_ICL_NO_RANK), FCI_ICL_NO_RANK);
}

TEST_F(LevelsOfFive, lost_in__the_rank_of_the_member_that_the_table_misses) {
    const auto here = table_at(1, {1, 3});
    const auto between = table_at(1, {0, 1, 4});
    const Levels levels(all.members(1, 1, 8), parts(), false, here.get(), between.get());
    EXPECT_EQ(levels.lost_in(*here), FCI_ICL_NO_RANK) << "none so far";
    lose(*here, 3);
    EXPECT_EQ(levels.lost_in(*here), 3u);
    lose(*between, 4);
    EXPECT_EQ(levels.lost_in(*between), 4u);
}

}  // namespace
}  // namespace fci::group::test
