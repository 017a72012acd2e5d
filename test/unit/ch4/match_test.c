/* SPDX-License-Identifier: BSD-3-Clause */
/* The match word, and who is found by it. */
#include "test/unit/ch4/job.h"

TEST(Match, word__has_the_rank_above_the_context_above_the_tag) {
    EXPECT_TRUE(MPIDI_FCI_match(0, 0, 1) == 1);
    EXPECT_TRUE(MPIDI_FCI_match(0, 0, 0x7fffffff) == 0x7fffffff);
    EXPECT_TRUE(MPIDI_FCI_match(1, 0, 0) == UINT64_C(0x80000000));
    EXPECT_TRUE(MPIDI_FCI_match(0xfffff, 0, 0) == UINT64_C(0x0007ffff80000000));
    EXPECT_TRUE(MPIDI_FCI_match(0, 1, 0) == UINT64_C(0x0008000000000000));
    EXPECT_TRUE(MPIDI_FCI_match(0, 8191, 0) == UINT64_C(0xfff8000000000000));
    EXPECT_TRUE(MPIDI_FCI_match(3, 8192, 2) == MPIDI_FCI_match(3, 0, 2));
    EXPECT_EQ(MPIDI_FCI_tag_of(MPIDI_FCI_match(0xfffff, 8191, 77)), 77);
    EXPECT_EQ(MPIDI_FCI_tag_of(MPIDI_FCI_match(0xfffff, 8191, 0x7fffffff)), 0x7fffffff);
}

TEST(Match, tag__never_reaches_the_context) {
    EXPECT_TRUE(MPIDI_FCI_match(0, 0, -1) == 0x7fffffff);
    EXPECT_TRUE(MPIDI_FCI_receive_match(5, 9) == word(0, 5, 9));
    EXPECT_TRUE(MPIDI_FCI_receive_match(5, MPI_ANY_TAG) == word(0, 5, 0));
}

TEST(Match, ignored__is_the_rank_and_error_bits_and_for_any_tag_the_users_part) {
    reset_upper(0, 1);
    MPIDI_FCI_set_ignored();
    EXPECT_TRUE(MPIDI_FCI_ignore(0) == UINT64_C(0xfff8000060000000));
    EXPECT_TRUE(MPIDI_FCI_ignore(7) == UINT64_C(0xfff8000060000000));
    EXPECT_TRUE(MPIDI_FCI_ignore(MPI_ANY_TAG) == UINT64_C(0xfff800006fffffff));
}

/* One with a process for each rank, whose peer number is the rank and one. */
static MPIR_Comm* wide_comm(int size) {
    int table;
    reset_upper(0, 1);
    MPIR_Comm* const comm = new_comm(1, 1, 0, size);
    (void)MPIDIU_new_avt(size, &table);
    MPIDI_COMM(comm, map).mode = MPIDI_RANK_MAP_DIRECT;
    MPIDI_COMM(comm, map).avtid = table;
    for (int rank = 0; rank < size; rank++) MPIDI_FCI_AV(av(comm, rank)).peer = (uint32_t)rank + 1;
    return comm;
}

TEST(Match, ranks__are_ambiguous_from_the_first_that_shares_a_residue) {
    MPIR_Comm* comm = wide_comm(8192);
    EXPECT_TRUE(!MPIDI_FCI_ranks_ambiguous(comm));
    comm->remote_size = 8193;
    EXPECT_TRUE(MPIDI_FCI_ranks_ambiguous(comm));
    free_comm(comm);
}

TEST(Match, rank__of_many_is_that_of_the_peer) {
    MPIR_Comm* const comm = wide_comm(3 * 8192);
    const uint64_t match = word(5, 1, 2);
    EXPECT_EQ(MPIDI_FCI_rank_of(match, 6, comm), 5);
    EXPECT_EQ(MPIDI_FCI_rank_of(match, 6 + 8192, comm), 5 + 8192);
    EXPECT_EQ(MPIDI_FCI_rank_of(match, 6 + 2 * 8192, comm), 5 + 2 * 8192);
    EXPECT_EQ(MPIDI_FCI_rank_of(match, 6 + 8192, NULL), 5);
    free_comm(comm);
}

TEST(Match, rank__is_never_one_that_the_communicator_has_not) {
    MPIR_Comm* const comm = wide_comm(8192 + 6);
    const uint32_t stranger = 100000;
    comm->remote_size = 8192 + 5;
    EXPECT_EQ(MPIDI_FCI_rank_of(word(5, 1, 2), stranger, comm), 5);
    comm->remote_size = 8192 + 6;
    EXPECT_EQ(MPIDI_FCI_rank_of(word(5, 1, 2), stranger, comm), 5 + 8192);
    free_comm(comm);
}
