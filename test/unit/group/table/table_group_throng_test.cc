// SPDX-License-Identifier: BSD-3-Clause
// Reductions of more members than a core should read for each of them.
#include "fci_core/group/table/table_group.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <vector>

#include "test/unit/group/members.h"

namespace fci::group::test {
namespace {

/// Of more members than a core should read for each of them: the last one reduces for all.
class Throng : public testing::Test {
protected:
    static constexpr unsigned kMembers = 17;
    void SetUp() override { group.table.head().throng = 1; }
    /// One call of each that is not through, by rank. *bytes: by rank.
    void reduce(std::vector<int>& answers, std::vector<std::size_t>& bytes, Words& data) {
        for (unsigned rank = 0; rank < kMembers; ++rank) {
            if (answers[rank] != kWaits) continue;
            answers[rank] =
                group[rank].reduce(kAll, &data[rank], &data[rank], &bytes[rank], kOrder, 1);
        }
    }
    static Words shares(std::uint64_t from) {
        Words all(kMembers);
        for (unsigned rank = 0; rank < kMembers; ++rank) all[rank] = from + rank * rank;
        return all;
    }

    Processes all{kMembers};
    Tabled group{all};
};

TEST_F(Throng, reduce__in_order_again_and_again_and_with_barriers_between) {
    for (std::uint64_t round = 1; round < 5; ++round) {
        const Words before = shares(round);
        Words data = before;
        std::vector<int> answers(kMembers, kWaits);
        std::vector<std::size_t> bytes(kMembers, 8);
        for (unsigned rank = 0; rank + 1 < kMembers; ++rank) {
            answers[rank] =
                group[rank].reduce(kAll, &data[rank], &data[rank], &bytes[rank], kOrder, 1);
            ASSERT_EQ(answers[rank], kWaits) << "not all have come";
        }
        reduce(answers, bytes, data);  // the last one is through first
        EXPECT_EQ(answers[kMembers - 1], kDone);
        reduce(answers, bytes, data);
        EXPECT_EQ(answers, std::vector<int>(kMembers, kDone));
        EXPECT_EQ(data, Words(kMembers, in_order(before)));
        EXPECT_EQ(all[3].counters().table_collectives, 2 * round - 1);
        for (unsigned rank = 0; rank < kMembers; ++rank) {
            EXPECT_EQ(group.barrier(rank), rank + 1 < kMembers ? kWaits : kDone);
        }
        for (unsigned rank = 0; rank + 1 < kMembers; ++rank) EXPECT_EQ(group.barrier(rank), kDone);
    }
}

TEST_F(Throng, reduce__to_one_root) {
    Words data = shares(1);
    const Words before = data;
    for (unsigned rank = kMembers; rank-- > 0;) {
        std::size_t bytes = 8;
        EXPECT_EQ(group[rank].reduce(0, &data[rank], &data[rank], &bytes, kOrder, 1), kDone);
    }
    EXPECT_EQ(data[0], in_order(before));
    EXPECT_EQ(data[1], before[1]);
    EXPECT_EQ(group.table.head().gathered, 0u);
}

TEST_F(Throng, reduce__of_one_length_unlike_the_others) {
    for (const unsigned other : {0u, 5u, kMembers - 1}) {
        Words data(2 * kMembers);
        std::vector<int> answers(kMembers, kWaits);
        std::vector<std::size_t> bytes(kMembers, 8);
        bytes[other] = 0;
        reduce(answers, bytes, data);
        reduce(answers, bytes, data);
        EXPECT_EQ(answers, std::vector<int>(kMembers, FCI_ICL_ETRUNC));
        for (unsigned rank = 0; rank < kMembers; ++rank) {
            EXPECT_EQ(bytes[rank], rank == other ? 8u : 0u);
        }
    }
}

TEST_F(Throng, reduce__of_a_length_that_the_table_has_no_room_for) {
    struct Data {
        std::array<std::byte, Entry::kLong + 64> bytes{};
    };
    constexpr std::size_t kTooLong = Entry::kLong + 1;
    std::vector<Data> data(kMembers);
    std::vector<int> answers(kMembers, kWaits);
    const Reduction never{[](void*, const void*, void*) { ADD_FAILURE() << "of what?"; }, nullptr};
    for (int i = 0; i < 2; ++i) {
        for (unsigned rank = 0; rank < kMembers; ++rank) {
            if (answers[rank] != kWaits) continue;
            std::size_t bytes = kTooLong;
            answers[rank] = group[rank].reduce(kAll, &data[rank], &data[rank], &bytes, never, 1);
            EXPECT_EQ(bytes, kTooLong);
        }
    }
    EXPECT_EQ(answers, std::vector<int>(kMembers, FCI_ICL_ETRUNC));
}

// Words that a member has scribbled over.
TEST_F(Throng, reduce__a_result_of_another_length_is_not_taken) {
    Words data = shares(1);
    std::vector<int> answers(kMembers, kWaits);
    std::vector<std::size_t> bytes(kMembers, 8);
    reduce(answers, bytes, data);
    ASSERT_EQ(answers[kMembers - 1], kDone);
    group.table.result().word = Entry::word_of(1, 16);
    const std::uint64_t own = data[4];
    EXPECT_EQ(group[4].reduce(kAll, &data[4], &data[4], &bytes[4], kOrder, 1), FCI_ICL_ETRUNC);
    EXPECT_EQ(data[4], own);
}

TEST_F(Throng, reduce__wakes_who_sleeps_over_the_result) {
    all.meet_all();
    Words data = shares(1);
    std::vector<int> answers(kMembers, kWaits);
    std::vector<std::size_t> bytes(kMembers, 8);
    progress::Waits waits;
    for (unsigned rank = 0; rank + 1 < kMembers; ++rank) {
        ASSERT_EQ(group[rank].reduce(kAll, &data[rank], &data[rank], &bytes[rank], kOrder, 1),
                  kWaits);
    }
    EXPECT_TRUE(waits.add(group.wait(3)));
    const unsigned before = all.raised(3);
    EXPECT_EQ(group[kMembers - 1].reduce(kAll, &data[kMembers - 1], &data[kMembers - 1],
                                         &bytes[kMembers - 1], kOrder, 1),
              kDone);
    all.settle();
    EXPECT_EQ(all.raised(3), before + 1);
    EXPECT_TRUE(group.wait(3).is_over());
    progress::Waits::remove(group.wait(3));
}

TEST_F(Throng, reduce__of_as_much_as_the_table_takes) {
    constexpr std::size_t kWords = Entry::kLong / sizeof(std::uint64_t);
    constexpr Reduction add{[](void*, const void* in, void* inout) {
                                for (std::size_t i = 0; i < kWords; ++i) {
                                    static_cast<std::uint64_t*>(inout)[i] +=
                                        static_cast<const std::uint64_t*>(in)[i];
                                }
                            },
                            nullptr};
    std::vector<Words> data(kMembers, Words(kWords, 3));
    std::vector<int> answers(kMembers, kWaits);
    for (unsigned i = 0; i < 2; ++i) {
        for (unsigned rank = 0; rank < kMembers; ++rank) {
            std::size_t bytes = Entry::kLong;
            if (answers[rank] != kWaits) continue;
            Words& own = data[rank];
            answers[rank] = group[rank].reduce(kAll, own.data(), own.data(), &bytes, add, 1);
        }
    }
    EXPECT_EQ(answers, std::vector<int>(kMembers, kDone));
    EXPECT_EQ(data, std::vector<Words>(kMembers, Words(kWords, 3 * kMembers)));
}

// The last one to come was to reduce for all, and dies in the middle of that.
TEST_F(Throng, reduce__without_the_one_that_was_to_do_it) {
    constexpr unsigned kLast = kMembers - 1;
    for (const std::size_t length : {8u, 16u}) {
        Processes living(kMembers);
        Tabled those(living);
        those.table.head().throng = 1;
        living.meet_all();
        const Words before = shares(1);
        Words data = before;
        std::vector<std::size_t> bytes(kMembers, 8);
        std::vector<int> answers(kMembers, kWaits);
        const auto call = [&](unsigned rank) {
            if (answers[rank] != kWaits) return;
            answers[rank] =
                those[rank].reduce(kAll, &data[rank], &data[rank], &bytes[rank], kOrder, 1);
        };
        for (unsigned rank = 1; rank < kLast; ++rank) call(rank);
        const std::array<std::uint64_t, 2> its{data[kLast], 0};
        those.table.entry(kLast, 1).say(1, its.data(), length);
        progress::Waits waits;
        EXPECT_TRUE(waits.add(those.wait(3)));
        EXPECT_FALSE(those.wait(3).is_over());
        living.lose(kLast);
        EXPECT_TRUE(those.wait(3).is_over());
        progress::Waits::remove(those.wait(3));
        for (unsigned rank = 1; rank < kLast; ++rank) call(rank);
        EXPECT_EQ(answers[1], kWaits) << "one who lives is missing";
        for (unsigned i = 0; i < 4; ++i) {
            for (unsigned rank = 0; rank < kLast; ++rank) call(rank);
        }
        for (unsigned rank = 0; rank < kLast; ++rank) {
            EXPECT_EQ(answers[rank], length == 8 ? kDone : FCI_ICL_ETRUNC) << rank;
            EXPECT_EQ(data[rank], length == 8 ? in_order(before) : before[rank]);
        }
        for (unsigned i = 0; i < 6; ++i) {  // and of the next one all hear that it is gone
            for (unsigned rank = 0; rank < kLast; ++rank) {
                if (i == 0) answers[rank] = kWaits;
                bytes[rank] = 8;
                call(rank);
            }
        }
        for (unsigned rank = 0; rank < kLast; ++rank) EXPECT_EQ(answers[rank], FCI_ICL_EPEER);
    }
}

}  // namespace
}  // namespace fci::group::test
