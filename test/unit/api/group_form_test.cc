// SPDX-License-Identifier: BSD-3-Clause
// How groups come about, and what becomes of their tables.
#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <utility>
#include <vector>

#include "fci_core/api/icl.h"
#include "test/unit/api/group_job.h"
#include "test/unit/limit.h"

namespace fci {
namespace {

std::uint64_t place_of(const group::TableGroup& group) {
    return reinterpret_cast<std::uintptr_t>(&group.table().head());
}

// The memory of a table is used again when all members have left it.
TEST(group, form__in_memory_that_was_left) {
    Job job(2);
    ASSERT_EQ(job.form_all(0), FCI_ICL_DONE);
    const std::array<fci_icl_group*, 2> groups{job.members[0].group, job.members[1].group};
    const std::uint64_t first = place_of(job.group_of(0));
    fci_icl_group_leave(job.members[0].context.get(), groups[0]);
    ASSERT_EQ(job.form_all(2), FCI_ICL_DONE);
    EXPECT_NE(place_of(job.group_of(0)), first) << "one member is still there";
    fci_icl_group_leave(job.members[1].context.get(), groups[1]);
    ASSERT_EQ(job.form_all(0), FCI_ICL_DONE);
    EXPECT_EQ(place_of(job.group_of(0)), first);
    EXPECT_TRUE(is_waiting(job.barrier(0)));
    EXPECT_EQ(job.barrier(1), FCI_ICL_DONE);
}

TEST(group, form__nobody_is_through_before_the_last_one_has_come) {
    Job job(3);
    for (int i = 0; i < 200; ++i) {
        ASSERT_TRUE(is_waiting(job.form(0, 0)));
        ASSERT_TRUE(is_waiting(job.form(1, 0)));
        job.turn();
    }
    for (Limit limit("the last one"); is_waiting(job.form(2, 0)) && limit.holds();) job.turn();
    EXPECT_EQ(job.form(0, 0), FCI_ICL_DONE);
    EXPECT_EQ(job.form(1, 0), FCI_ICL_DONE);
}

// Where memory is used up tables take short data only, and in the end there are none, for nobody.
TEST(group, form__as_often_as_there_is_memory) {
    Job job(2);
    std::vector<std::array<fci_icl_group*, 2>> groups;
    unsigned shorts = 0;
    for (Limit limit("the end of the board"); limit.holds();) {
        const int answer = job.form_all(2 * groups.size());
        groups.push_back({job.members[0].group, job.members[1].group});
        if (answer == FCI_ICL_EUNREACHABLE) break;
        ASSERT_EQ(answer, FCI_ICL_DONE);
        shorts += longest_of(groups.back()[0]) == group::Entry::kShort;
        EXPECT_EQ(longest_of(groups.back()[0]), longest_of(groups.back()[1]));
    }
    EXPECT_GT(groups.size(), 150u);
    EXPECT_GT(shorts, 0u);
    for (unsigned rank = 0; rank < 2; ++rank) {
        for (const auto& group : groups) {
            fci_icl_group_leave(job.members[rank].context.get(), group[rank]);
        }
    }
    ASSERT_EQ(job.form_all(0), FCI_ICL_DONE);
    EXPECT_EQ(longest_of(job.members[0].group), group::Entry::kLong);
}

// The others hear of it, and where the table lay there may be another one.
TEST(group, form__of_a_table_that_one_cannot_find) {
    Job job(3);
    for (int round = 0; round < 3; ++round) {
        for (Job::Member& one : job.members) one.group = nullptr;
        ASSERT_TRUE(is_waiting(job.form(0, 0)));
        ASSERT_TRUE(is_waiting(job.form(1, 0)));
        group::TableHead& head = job.group_of(0).table().head();
        const std::uint64_t name = std::exchange(head.name, 0);
        int answer = FCI_ICL_OK;
        for (Limit limit("an answer"); is_waiting(answer = job.form(2, 0)) && limit.holds();) {
            job.turn();
        }
        EXPECT_EQ(answer, FCI_ICL_EUNREACHABLE);
        head.name = name;
        for (const unsigned rank : {0u, 1u}) {
            for (Limit limit("the same"); limit.holds(); job.turn()) {
                if (!is_waiting(answer = job.form(rank, 0))) break;
            }
            EXPECT_EQ(answer, FCI_ICL_EUNREACHABLE);
        }
        job.leave();
    }
    ASSERT_EQ(job.form_all(0), FCI_ICL_DONE);
    EXPECT_EQ(job.group_of(0).table().head().outcome, group::FlagTable::formed);
}

TEST(group, form__fails_where_the_owner_has_gone) {
    Job job(3);
    job.members[1].context.reset();
    int answer = FCI_ICL_OK;
    for (Limit limit("an error"); is_waiting(answer = job.form(0, 1)) && limit.holds();) job.turn();
    EXPECT_EQ(answer, FCI_ICL_EUNREACHABLE);
    answer = fci_icl_group_form(job.members[2].context.get(), job.members[2].peers.data(), 3, 0, 1,
                                group::Entry::kLong, &job.members[2].group);
    EXPECT_EQ(answer, FCI_ICL_EINVAL) << "another one's rank";
}

}  // namespace
}  // namespace fci
