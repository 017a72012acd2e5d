// SPDX-License-Identifier: BSD-3-Clause
// Groups of many on one host, in parts of neighbours.
#include "fci_core/group/run.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "test/unit/group/members.h"

namespace fci::group::test {
namespace {

// --- neighbours: 17 on one host are eight, eight and one ---

class Neighbours : public testing::Test {
protected:
    static constexpr unsigned kMembers = 17;
    void SetUp() override {
        all.meet_all();
        ASSERT_EQ(group.form_all(), Answers(kMembers, kDone));
        ASSERT_TRUE(group[0].run);
        ASSERT_EQ(group.run_of(0).levels().parts.count(), 3u);
    }
    void TearDown() override { group.leave(); }

    Processes all{kMembers};
    Formed group{all};
};

TEST_F(Neighbours, reduce__in_the_order_of_ranks) {
    for (std::uint64_t round = 0; round < 3; ++round) {
        Affine expected{1, 0};
        std::vector<Affine> own, results(kMembers);
        for (unsigned rank = 0; rank < kMembers; ++rank) {
            own.push_back({rank + 2 + round, rank + 1});
            expected = then(expected, own.back());
        }
        const Answers answers = group.run([&](unsigned rank) {
            std::size_t bytes = sizeof(Affine);
            return group.levels(rank).reduce(kAll, &own[rank], &results[rank], &bytes, kThen, 1);
        });
        EXPECT_EQ(answers, Answers(kMembers, kDone));
        for (const Affine& one : results) EXPECT_TRUE(one == expected);
    }
    EXPECT_EQ(all[0].counters().host_collectives, 0u) << "no message went";
}

TEST_F(Neighbours, reduce__of_a_length_unlike_the_others) {
    for (const unsigned other : {0u, 3u, 8u, 16u}) {
        Lengths bytes(kMembers, 8);
        bytes[other] = 16;
        Words data(2 * kMembers);
        const Answers answers = group.run([&](unsigned rank) {
            return group.levels(rank).reduce(kAll, &data[2 * rank], &data[2 * rank], &bytes[rank],
                                             kSum, 1);
        });
        EXPECT_EQ(answers, Answers(kMembers, FCI_ICL_ETRUNC)) << other;
        EXPECT_EQ(data, Words(2 * kMembers));
    }
    EXPECT_EQ(group.run([&](unsigned rank) { return group.levels(rank).barrier(1); }),
              Answers(kMembers, kDone));
}

TEST_F(Neighbours, barrier__waits_where_it_has_come_to) {
    EXPECT_EQ(group.levels(0).barrier(1), kWaits);
    EXPECT_EQ(group.run_of(0).waiting(), wait_of(group.levels(0).here()));
    EXPECT_EQ(group.run_of(0).ended(), 0u);
    EXPECT_EQ(group.levels(16).barrier(1), kWaits);
    EXPECT_EQ(group.levels(16).here(), nullptr);
    EXPECT_EQ(group.run_of(16).waiting(), wait_of(group.levels(16).between()));
    for (unsigned rank = 1; rank < 8; ++rank) EXPECT_EQ(group.levels(rank).barrier(1), kWaits);
    EXPECT_EQ(group.levels(0).barrier(1), kWaits);
    EXPECT_EQ(group.run_of(0).waiting(), wait_of(group.levels(0).between()));
    EXPECT_EQ(group.run_of(1).waiting(), wait_of(group.levels(1).here()));
    EXPECT_EQ(group.levels(1).between(), nullptr);
    for (unsigned rank = 8; rank < 16; ++rank) EXPECT_EQ(group.levels(rank).barrier(1), kWaits);
    EXPECT_EQ(group.levels(8).barrier(1), kDone);
    EXPECT_EQ(group.levels(16).barrier(1), kDone);
    EXPECT_EQ(group.levels(1).barrier(1), kWaits) << "its first one has not told yet";
    EXPECT_EQ(group.levels(0).barrier(1), kDone);
    EXPECT_NE(group.run_of(0).ended(), 0u);
    EXPECT_EQ(group.run_of(0).waiting(), wait_of(group.levels(0).here()));
    for (unsigned rank = 1; rank < 16; ++rank) {
        if (rank != 8) {
            EXPECT_EQ(group.levels(rank).barrier(1), kDone);
        }
    }
    EXPECT_EQ(group.run_of(3).ended(), group.run_of(16).ended());
}

TEST(Run, barrier__of_neighbours_names_who_has_gone) {
    for (const unsigned victim : {0u, 3u, 8u, 11u, 16u}) {
        Processes all(17);
        Formed group(all);
        all.meet_all();
        ASSERT_EQ(group.form_all(), Answers(17, kDone));
        all.lose(victim);
        const Answers answers =
            group.run([&](unsigned rank) { return group.levels(rank).barrier(1); });
        for (unsigned rank = 0; rank < 17; ++rank) {
            if (rank == victim) continue;
            EXPECT_EQ(answers[rank], FCI_ICL_EPEER) << rank << " without " << victim;
            EXPECT_EQ(group.run_of(rank).lost(), victim) << "as " << rank << " has it";
        }
    }
}

}  // namespace
}  // namespace fci::group::test
