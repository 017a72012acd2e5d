// SPDX-License-Identifier: BSD-3-Clause
// Meetings of a group, its gatherings and reductions, and how it hears of its table.
#include "fci_core/group/table/table_group.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <vector>

#include "test/unit/group/members.h"

namespace fci::group::test {
namespace {

// --- meetings ---

TEST(TableGroup, barrier__is_over_when_the_last_one_has_come) {
    Processes all(3);
    Tabled group(all);
    EXPECT_EQ(group.barrier(0), kWaits);
    EXPECT_EQ(group.barrier(2), kWaits);
    EXPECT_EQ(group.barrier(0), kWaits);
    EXPECT_EQ(group.barrier(1), kDone);
    EXPECT_EQ(group.barrier(2), kDone);
    EXPECT_EQ(group.barrier(2), kWaits) << "the next one";
    EXPECT_EQ(group.barrier(0), kDone);
    EXPECT_EQ(all[0].counters().table_collectives, 1u);
    EXPECT_EQ(all[2].counters().table_collectives, 1u);
}

TEST(TableGroup, barrier__of_one_is_over_at_once) {
    Processes all(1);
    Tabled group(all);
    for (int i = 0; i < 3; ++i) EXPECT_EQ(group.barrier(0), kDone);
}

TEST(TableGroup, barrier__asks_for_the_time_only_where_somebody_is_missing) {
    Processes all(3);
    Tabled group(all);
    EXPECT_EQ(group[0].barrier(1000), kWaits);
    EXPECT_EQ(all.clock.asked, 1u) << "one call, one question for the time";
    EXPECT_EQ(group.barrier(1), kWaits);
    EXPECT_EQ(group.barrier(2), kDone);
    EXPECT_EQ(all.clock.asked, 2u) << "and none where all are there";
}

// Two collectives ahead a member would say something where the root has not read yet.
TEST(TableGroup, gather__nobody_is_two_of_them_ahead_of_the_root) {
    Processes all(3);
    Tabled group(all);
    const auto bring = [&](unsigned rank, std::uint64_t word, Words* to = nullptr) {
        Words none(3);
        std::size_t bytes = sizeof word;
        return group[rank].gather(0, &word, to != nullptr ? to->data() : none.data(), &bytes, 1);
    };
    EXPECT_EQ(bring(1, 11), kDone);
    EXPECT_EQ(bring(2, 21), kDone);
    EXPECT_EQ(bring(1, 12), kWaits) << "the root has not come to the first one";
    EXPECT_EQ(group.table.entry(1, 1).number(), 1u);
    Words first(3), second(3);
    EXPECT_EQ(bring(0, 1, &first), kDone);
    EXPECT_EQ(first, (Words{1, 11, 21}));
    EXPECT_EQ(bring(1, 12), kDone);
    EXPECT_EQ(bring(1, 13), kWaits) << "nor has the other one come to the second";
    EXPECT_EQ(bring(0, 2, &second), kWaits);
    EXPECT_EQ(bring(2, 22), kDone);
    EXPECT_EQ(bring(1, 13), kDone);
    EXPECT_EQ(bring(2, 23), kDone);
    EXPECT_EQ(bring(1, 14), kWaits) << "and the root is to have read the second";
    EXPECT_EQ(bring(0, 2, &second), kDone);
    EXPECT_EQ(second, (Words{2, 12, 22}));
    EXPECT_EQ(bring(1, 14), kWaits) << "it has not come to the third";
    EXPECT_EQ(bring(0, 3, &first), kDone);
    EXPECT_EQ(first, (Words{3, 13, 23}));
    EXPECT_EQ(bring(1, 14), kDone);
}

TEST(TableGroup, gather__to_any_root_or_all_by_rank_and_in_place) {
    for (const unsigned root : {0u, 1u, 2u, kAll}) {
        for (const std::size_t words : {1u, 7u, 8u, 136u}) {
            Processes all(3);
            Tabled group(all);
            std::vector<Words> to(3, Words(3 * words, 99));
            std::array<int, 3> answers{kWaits, kWaits, kWaits};
            for (int i = 0; i < 2; ++i) {
                for (unsigned rank = 0; rank < 3; ++rank) {
                    if (answers[rank] != kWaits) continue;
                    Words own(words, rank + 1);
                    if (root == 1) std::fill_n(to[rank].begin() + rank * words, words, rank + 1);
                    const void* const from =
                        root == 1 ? to[rank].data() + rank * words : own.data();
                    std::size_t bytes = words * sizeof(std::uint64_t);
                    answers[rank] = group[rank].gather(root, from, to[rank].data(), &bytes, 1);
                    EXPECT_EQ(bytes, words * sizeof(std::uint64_t));
                }
            }
            for (unsigned rank = 0; rank < 3; ++rank) {
                EXPECT_EQ(answers[rank], kDone);
                if (root != kAll && root != rank) continue;
                for (std::size_t i = 0; i < 3 * words; ++i) {
                    ASSERT_EQ(to[rank][i], i / words + 1) << "at " << rank << ", root " << root;
                }
            }
        }
    }
}

TEST(TableGroup, gather__of_other_lengths_says_which) {
    Processes all(3);
    Tabled group(all);
    std::uint64_t word = 1;
    Words to(6);
    for (const unsigned other : {1u, 2u}) {
        for (const unsigned rank : {1u, 2u}) {
            std::size_t bytes = rank == other ? 4 : 8;
            EXPECT_EQ(group[rank].gather(0, &word, to.data(), &bytes, 1), kDone);
        }
        std::size_t bytes = 8;
        EXPECT_EQ(group[0].gather(0, &word, to.data(), &bytes, 1), FCI_ICL_ETRUNC);
        EXPECT_EQ(bytes, 4u);
        EXPECT_EQ(to, Words(6)) << "nothing is copied";
        EXPECT_EQ(group[0].lost(), FCI_ICL_NO_RANK);
    }
    unsigned gone = 17;
    std::size_t none = Entry::kNobody, bytes = 8;
    EXPECT_EQ(group[1].gather(0, &gone, to.data(), &none, 1), kDone);
    EXPECT_EQ(group[2].gather(0, &word, to.data(), &bytes, 1), kDone);
    EXPECT_EQ(group[0].gather(0, &word, to.data(), &bytes, 1), FCI_ICL_ETRUNC);
    EXPECT_EQ(bytes, Entry::kNobody);
    EXPECT_EQ(group[0].lost(), 17u);
}

// --- reductions ---

class Reductions : public testing::TestWithParam<unsigned> {};  // the root

TEST_P(Reductions, reduce__in_the_order_of_ranks_and_in_place) {
    const unsigned root = GetParam();
    for (const bool in_place : {false, true}) {
        Processes all(4);
        Tabled group(all);
        for (unsigned round = 1; round < 4; ++round) {
            Words shares{3 * round, 5, 8 + round, 2}, data = shares, results(4);
            std::array<int, 4> answers;
            answers.fill(kWaits);
            for (int i = 0; i < 3; ++i) {
                for (unsigned rank = 0; rank < 4; ++rank) {
                    if (answers[rank] != kWaits) continue;
                    std::size_t bytes = sizeof(std::uint64_t);
                    void* const to = in_place ? &data[rank] : &results[rank];
                    answers[rank] = group[rank].reduce(root, &data[rank], to, &bytes, kOrder, 1);
                }
            }
            for (unsigned rank = 0; rank < 4; ++rank) {
                ASSERT_EQ(answers[rank], kDone);
                const bool is_told = root == kAll || root == rank;
                const std::uint64_t result = in_place ? data[rank] : results[rank];
                EXPECT_EQ(result, is_told ? in_order(shares) : in_place ? shares[rank] : 0u);
            }
        }
    }
}
INSTANTIATE_TEST_SUITE_P(TableGroup, Reductions, testing::Values(0u, 1u, 3u, kAll));

TEST(TableGroup, reduce__of_a_length_unlike_the_others) {
    Processes all(3);
    Tabled group(all);
    std::array<std::uint64_t, 2> data{1, 2};
    for (const unsigned rank : {0u, 1u}) {
        std::size_t bytes = rank == 0 ? 8 : 16;
        EXPECT_EQ(group[rank].reduce(kAll, data.data(), data.data(), &bytes, kOrder, 1), kWaits);
    }
    std::size_t bytes = 8;
    EXPECT_EQ(group[2].reduce(kAll, data.data(), data.data(), &bytes, kOrder, 1), FCI_ICL_ETRUNC);
    EXPECT_EQ(bytes, 16u);
    bytes = 16;
    EXPECT_EQ(group[1].reduce(kAll, data.data(), data.data(), &bytes, kOrder, 1), FCI_ICL_ETRUNC);
    EXPECT_EQ(bytes, 8u);
    EXPECT_EQ(data, (std::array<std::uint64_t, 2>{1, 2}));
}

// None has anything, and they agree on that: there is no result all the same.
TEST(TableGroup, reduce__where_none_has_anything_to_bring) {
    Processes all(2);
    Tabled group(all);
    std::array<std::uint64_t, 256> data{};
    const Reduction never{[](void*, const void*, void*) { ADD_FAILURE() << "of what?"; }, nullptr};
    for (const unsigned rank : {0u, 1u, 0u}) {
        std::size_t bytes = Entry::kNoLength;
        const int answer = group[rank].reduce(kAll, data.data(), data.data(), &bytes, never, 1);
        if (answer != kWaits) {
            EXPECT_EQ(answer, FCI_ICL_ETRUNC);
        }
        EXPECT_EQ(bytes, Entry::kNoLength);
    }
    EXPECT_EQ(data, (std::array<std::uint64_t, 256>{}));
}

TEST(TableGroup, reduce__who_is_gone_is_named_at_all) {
    Processes all(2);
    Tabled group(all);
    unsigned gone = 23;
    std::uint64_t word = 1;
    std::size_t none = Entry::kNobody, bytes = 8;
    EXPECT_EQ(group[0].reduce(kAll, &gone, &gone, &none, kOrder, 1), kWaits);
    EXPECT_EQ(group[1].reduce(kAll, &word, &word, &bytes, kOrder, 1), FCI_ICL_ETRUNC);
    EXPECT_EQ(bytes, Entry::kNobody);
    EXPECT_EQ(group[1].lost(), 23u);
}

// --- forming ---

TEST(TableGroup, await_offer__of_its_owner_and_its_key) {
    Processes all(2);
    all.meet_all();
    Offers offers;
    TableGroup group(all[0].engine(), all[0].messages->meetings(), offers,
                all.members(0, 7, Entry::kShort));
    EXPECT_EQ(group.members().owner(), 1u);
    EXPECT_EQ(group.await_offer(), kWaits);
    EXPECT_FALSE(static_cast<progress::Wait&>(group.wait()).is_over());
    offers.add(all[0].peers[1], 8, {3, 0});
    EXPECT_EQ(group.await_offer(), kWaits);
    offers.add(all[0].peers[1], 7, {4, 0});
    EXPECT_TRUE(static_cast<progress::Wait&>(group.wait()).is_over());
    EXPECT_EQ(group.await_offer(), kDone);
    EXPECT_EQ(offers.take(all[0].peers[1], 7).name, 4u) << "it is only told";
}

TEST(TableGroup, await_offer__of_an_owner_that_is_gone) {
    Processes all(3);
    all.meet_all();
    const Offers offers;
    TableGroup group(all[0].engine(), all[0].messages->meetings(), offers,
                all.members(0, 1, Entry::kShort));
    EXPECT_EQ(group.await_offer(), kWaits);
    all.lose(2);
    EXPECT_EQ(group.await_offer(), kWaits) << "that one is not waited for";
    all.lose(1);
    EXPECT_EQ(group.await_offer(), FCI_ICL_EPEER);
    EXPECT_EQ(group.lost(), 1u);
}

}  // namespace
}  // namespace fci::group::test
