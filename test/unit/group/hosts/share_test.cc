// SPDX-License-Identifier: BSD-3-Clause
#include "fci_core/group/hosts/share.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>

#include "test/unit/group/results.h"

namespace fci::group::test {
namespace {

class ShareOfOne : public testing::Test {
protected:
    void bring(const Affine& what) {
        share.begin(sizeof what);
        std::memcpy(share.data(), &what, sizeof what);
    }
    void come(const Affine& what) { std::memcpy(share.incoming(), &what, sizeof what); }
    [[nodiscard]] Affine brought() {
        Affine what;
        std::memcpy(&what, share.data(), sizeof what);
        return what;
    }

    Share share{};
};

TEST_F(ShareOfOne, begin__has_data_and_no_lack) {
    share.begin(8);
    EXPECT_TRUE(share.is_good());
    EXPECT_EQ(share.code(), kDone);
    EXPECT_EQ(share.length(), 8u);
    EXPECT_EQ(share.lost(), FCI_ICL_NO_RANK);
    share.set_length(Share::kMost);
    EXPECT_EQ(share.length(), Share::kMost);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(share.data()) % alignof(std::max_align_t), 0u);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(share.incoming()) % alignof(std::max_align_t), 0u);
}

// --- fail ---

TEST_F(ShareOfOne, fail__the_first_lack_counts_but_for_a_group_that_nobody_can_have) {
    share.begin(8);
    share.fail(FCI_ICL_ETRUNC, 40);
    share.fail(FCI_ICL_EPEER, 3);
    EXPECT_EQ(share.code(), FCI_ICL_ETRUNC);
    EXPECT_EQ(share.length(), 40u);
    share.fail(FCI_ICL_EUNREACHABLE, 0);
    EXPECT_EQ(share.code(), FCI_ICL_EUNREACHABLE);
    EXPECT_EQ(share.length(), 0u);
    share.fail(FCI_ICL_EPEER, 3);
    EXPECT_EQ(share.code(), FCI_ICL_EUNREACHABLE);
    share.begin(8);
    EXPECT_EQ(share.code(), kDone) << "of the collective before";
    EXPECT_EQ(share.length(), 8u);
}

TEST_F(ShareOfOne, fail__a_loss_has_a_rank_and_any_other_lack_a_length) {
    share.begin(8);
    share.fail(FCI_ICL_EPEER, 13);
    EXPECT_EQ(share.lost(), 13u);
    EXPECT_EQ(share.length(), 0u);
    EXPECT_EQ(share.why(), 13u);
    share.begin(8);
    share.fail(FCI_ICL_ETRUNC, 13);
    EXPECT_EQ(share.lost(), FCI_ICL_NO_RANK);
    EXPECT_EQ(share.length(), 13u);
    EXPECT_EQ(share.why(), 13u);
}

TEST_F(ShareOfOne, fail__a_loss_of_an_unknown_rank) {
    share.begin(8);
    share.fail(FCI_ICL_EPEER, FCI_ICL_NO_RANK);
    EXPECT_EQ(share.lost(), FCI_ICL_NO_RANK);
    EXPECT_EQ(share.length(), 0u);
}

// --- take, combine ---

TEST_F(ShareOfOne, take__replaces_the_share_each_time) {
    bring({2, 1});
    come({3, 4});
    share.take(sizeof(Affine));
    EXPECT_TRUE(brought() == (Affine{3, 4}));
    come({5, 6});
    EXPECT_TRUE(brought() == (Affine{3, 4})) << "there are two buffers";
    share.take(sizeof(std::uint64_t));
    EXPECT_EQ(share.length(), sizeof(std::uint64_t));
    EXPECT_EQ(brought().times, 5u);
}

TEST_F(ShareOfOne, combine__in_the_order_of_ranks) {
    const Affine own{2, 1}, other{3, 4};
    bring(own);
    come(other);
    share.combine(sizeof own, true, kThen);
    EXPECT_TRUE(brought() == then(other, own));
    bring(own);
    come(other);
    share.combine(sizeof own, false, kThen);
    EXPECT_TRUE(brought() == then(own, other));
    come(own);
    share.combine(sizeof own, false, kThen);
    EXPECT_TRUE(brought() == then(then(own, other), own)) << "with a third one";
}

TEST_F(ShareOfOne, combine__lengths_that_differ) {
    bring({2, 1});
    share.combine(8, true, kThen);
    EXPECT_EQ(share.code(), FCI_ICL_ETRUNC);
    EXPECT_EQ(share.length(), 8u) << "the other one's";
}

TEST_F(ShareOfOne, combine__of_no_bytes_applies_nothing) {
    const Reduction never{[](void*, const void*, void*) { ADD_FAILURE() << "of what?"; }, nullptr};
    share.begin(0);
    share.combine(0, true, never);
    share.combine(0, false, never);
    EXPECT_TRUE(share.is_good());
    EXPECT_EQ(share.length(), 0u);
}

}  // namespace
}  // namespace fci::group::test
