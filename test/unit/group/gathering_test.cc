// SPDX-License-Identifier: BSD-3-Clause
#include "fci_core/group/gathering.h"

#include <gtest/gtest.h>

#include <numeric>
#include <vector>

#include "test/unit/group/members.h"

namespace fci::group::test {
namespace {

using Bytes = std::vector<std::uint8_t>;

/// Two hosts with two members each, and one with one.
class Gatherings : public testing::Test {
protected:
    static constexpr unsigned kMembers = 5;
    static constexpr std::size_t kLongest = Entry::kLong / kMembers;
    void SetUp() override {
        all.meet_all();
        ASSERT_EQ(group.form_all(), Answers(kMembers, kDone));
        results.assign(kMembers, Bytes(2048));
    }
    /// Each brings so many bytes, which hold what comes next.
    Answers gather(unsigned root, const std::vector<std::size_t>& lengths) {
        next_ += 16;
        own.clear();
        its.assign(kMembers, {});
        for (unsigned rank = 0; rank < kMembers; ++rank) {
            own.emplace_back(lengths[rank], static_cast<std::uint8_t>(next_ + rank));
            its[rank].root = root;
            its[rank].own = own[rank].data();
            its[rank].data = results[rank].data();
            its[rank].bytes = lengths[rank];
        }
        return group.run([&](unsigned rank) {
            Group& one = group[rank];
            const std::size_t asked = its[rank].bytes;
            const int answer = one.gathering.call(*one.run, its[rank], 1);
            if (answer == FCI_ICL_EAGAIN) {
                EXPECT_EQ(its[rank].bytes, asked) << "it is called again";
            }
            return answer;
        });
    }
    /// The bytes that such a gathering brings to each member that is told.
    [[nodiscard]] Bytes expected(std::size_t length) const {
        Bytes all_bytes;
        for (unsigned rank = 0; rank < kMembers; ++rank) {
            all_bytes.insert(all_bytes.end(), length, static_cast<std::uint8_t>(next_ + rank));
        }
        return all_bytes;
    }
    [[nodiscard]] Bytes result(unsigned rank, std::size_t length) const {
        return {results[rank].begin(),
                results[rank].begin() + static_cast<std::ptrdiff_t>(length * kMembers)};
    }

    Processes all{kMembers, {.per_host = 2, .mapped = true}};
    Formed group{all};
    std::vector<Bytes> own, results;
    std::vector<Collective> its;

private:
    unsigned next_ = 0;
};

TEST_F(Gatherings, longest__all_blocks_together_go_by_a_table) {
    EXPECT_EQ(Gathering::longest(group.run_of(0)), kLongest);
    EXPECT_EQ(group[0].longest_gather(), kLongest);
    Processes alone(3, {.per_host = 1, .mapped = true});
    Formed none(alone);
    ASSERT_EQ(none.form_all(), Answers(3, kDone));
    EXPECT_EQ(Gathering::longest(none.run_of(0)), 0u) << "each is alone on its host";
}

// Nothing is left of the blocks of the one before.
TEST_F(Gatherings, call__by_rank_at_all_or_at_the_root) {
    for (const unsigned root : {kAll, 0u, 3u, 4u, kAll}) {
        for (const std::size_t length : {std::size_t{1}, std::size_t{7}, kLongest}) {
            results.assign(kMembers, Bytes(2048, 0xee));
            EXPECT_EQ(gather(root, std::vector<std::size_t>(kMembers, length)),
                      Answers(kMembers, kDone));
            for (unsigned rank = 0; rank < kMembers; ++rank) {
                EXPECT_EQ(its[rank].bytes, length);
                const bool is_told = root == kAll || root == rank;
                EXPECT_EQ(result(rank, length),
                          is_told ? expected(length) : Bytes(length * kMembers, 0xee));
                EXPECT_EQ(results[rank][length * kMembers], 0xee) << "and not one more";
            }
        }
    }
}

TEST_F(Gatherings, call__of_nothing) {
    EXPECT_EQ(gather(kAll, std::vector<std::size_t>(kMembers)), Answers(kMembers, kDone));
    EXPECT_EQ(results[0], Bytes(2048));
}

TEST_F(Gatherings, call__of_a_length_unlike_the_others) {
    std::vector<std::size_t> lengths(kMembers, 8);
    lengths[4] = 3;
    EXPECT_EQ(gather(kAll, lengths), Answers(kMembers, FCI_ICL_ETRUNC));
    EXPECT_EQ(its[4].bytes, 8u);
    EXPECT_EQ(its[2].bytes == 3u || its[2].bytes == 0u, true);
    EXPECT_EQ(gather(kAll, std::vector<std::size_t>(kMembers, 8)), Answers(kMembers, kDone));
    EXPECT_EQ(result(2, 8), expected(8)) << "and all goes on";
}

}  // namespace
}  // namespace fci::group::test
