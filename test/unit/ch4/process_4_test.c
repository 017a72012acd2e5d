/* SPDX-License-Identifier: BSD-3-Clause */
/* Processes that join: which place in MPICH's tables one gets. */
#include "test/unit/ch4/job.h"

static unsigned char strangers[4][FCI_ICL_CARD_BYTES];
static fci_icl_context* cores[4];

static void open_strangers(void) {
    for (int i = 0; i < 4; i++) {
        cores[i] = open_core(2);
        fci_icl_card(cores[i], strangers[i]);
    }
}

static void close_strangers(void) {
    for (int i = 0; i < 4; i++) (void)fci_icl_close(cores[i], 0);
}

/* `which`: '0' to '3' are strangers, 'a' to 'h' ranks of the world. */
static int join(const char* which, uint64_t* gpids) {
    char cards[16 * FCI_ICL_CARD_BYTES];
    int sizes[16], count = 0;
    for (; which[count] != '\0'; count++) {
        const int at = which[count];
        memcpy(cards + count * FCI_ICL_CARD_BYTES,
               at >= 'a' ? upper.cards[at - 'a'] : strangers[at - '0'], FCI_ICL_CARD_BYTES);
        sizes[count] = FCI_ICL_CARD_BYTES;
    }
    (void)notes();
    return MPIDI_FCI_upids_to_gpids(count, sizes, cards, gpids);
}

static uint64_t place(int table, int at) {
    return (uint64_t)(unsigned)table << 32 | (unsigned)at;
}

static fci_icl_peer peer_of(int stranger) {
    fci_icl_peer peer = 0;
    EXPECT_EQ(fci_icl_add_peer(MPIDI_FCI_global.context, strangers[stranger], &peer), FCI_ICL_OK);
    return peer;
}

TEST(Join, new_processes__get_a_table_of_their_own) {
    uint64_t gpids[8] = {0};
    open_job(0, 2);
    open_strangers();
    EXPECT_EQ(join("01", gpids), MPI_SUCCESS);
    EXPECT_TEXT(notes(), "new table(2)");
    EXPECT_EQ(gpids[0], place(1, 0));
    EXPECT_EQ(gpids[1], place(1, 1));
    EXPECT_EQ(MPIDI_FCI_AV(&MPIDIU_get_av(1, 0)).peer, peer_of(0));
    EXPECT_EQ(MPIDI_FCI_AV(&MPIDIU_get_av(1, 1)).peer, peer_of(1));
    close_strangers();
    close_job();
}

TEST(Join, known_ones__keep_their_places) {
    uint64_t gpids[8] = {0};
    open_job(0, 2);
    open_strangers();
    EXPECT_EQ(join("ab", gpids), MPI_SUCCESS);
    EXPECT_TEXT(notes(), "");
    EXPECT_EQ(gpids[0], place(0, 0));
    EXPECT_EQ(gpids[1], place(0, 1));
    EXPECT_EQ(join("0", gpids), MPI_SUCCESS);
    EXPECT_EQ(join("1b20a3", gpids), MPI_SUCCESS);
    EXPECT_TEXT(notes(), "new table(3)");
    EXPECT_EQ(gpids[0], place(2, 0));
    EXPECT_EQ(gpids[1], place(0, 1));
    EXPECT_EQ(gpids[2], place(2, 1));
    EXPECT_EQ(gpids[3], place(1, 0));
    EXPECT_EQ(gpids[4], place(0, 0));
    EXPECT_EQ(gpids[5], place(2, 2));
    close_strangers();
    close_job();
}

/* MPICH frees a table with the last communicator that needs it. */
static void free_table(int id) {
    free(MPIDI_global.avt_mgr.av_tables[id]);
    MPIDI_global.avt_mgr.av_tables[id] = NULL;
}

TEST(Join, one_whose_table_is_gone__gets_a_new_place) {
    uint64_t gpids[8] = {0};
    open_job(0, 2);
    open_strangers();
    EXPECT_EQ(join("01", gpids), MPI_SUCCESS);
    free_table(1);
    EXPECT_EQ(join("1", gpids), MPI_SUCCESS);
    EXPECT_TEXT(notes(), "new table(1)");
    EXPECT_EQ(gpids[0], place(1, 0));
    /* Of the old table 0 had place 0, where now another one is. */
    EXPECT_EQ(join("0", gpids), MPI_SUCCESS);
    EXPECT_EQ(gpids[0], place(2, 0));
    EXPECT_EQ(join("1", gpids), MPI_SUCCESS);
    EXPECT_EQ(gpids[0], place(1, 0));
    close_strangers();
    close_job();
}

TEST(Join, place_behind_the_end_of_a_shorter_table__is_none) {
    uint64_t gpids[8] = {0};
    open_job(0, 2);
    open_strangers();
    EXPECT_EQ(join("012", gpids), MPI_SUCCESS);
    free_table(1);
    EXPECT_EQ(join("3", gpids), MPI_SUCCESS);
    EXPECT_EQ(gpids[0], place(1, 0));
    /* The memory behind the table may well look like the peer. */
    MPIDI_av_table_t* const table = MPIDI_global.avt_mgr.av_tables[1];
    MPIDI_global.avt_mgr.av_tables[1] =
        realloc(table, sizeof *table + 4 * sizeof(MPIDI_av_entry_t));
    MPIDI_FCI_AV(&MPIDIU_get_av(1, 1)).peer = peer_of(1);
    EXPECT_EQ(join("1", gpids), MPI_SUCCESS);
    EXPECT_EQ(gpids[0], place(2, 0));
    close_strangers();
    close_job();
}

TEST(Join, table_that_was_never_made_again__is_none) {
    uint64_t gpids[8] = {0};
    open_job(0, 2);
    open_strangers();
    EXPECT_EQ(join("0", gpids), MPI_SUCCESS);
    EXPECT_EQ(join("1", gpids), MPI_SUCCESS);
    void* const old = MPIDI_global.avt_mgr.av_tables[2];
    MPIDI_global.avt_mgr.n_avts = 2;
    EXPECT_EQ(join("1", gpids), MPI_SUCCESS);
    EXPECT_TEXT(notes(), "new table(1)");
    EXPECT_EQ(gpids[0], place(2, 0));
    free(old);
    close_strangers();
    close_job();
}

TEST(Join, card_of_another_length__is_not_ours) {
    uint64_t gpids[2];
    char card[FCI_ICL_CARD_BYTES] = "";
    open_job(0, 2);
    int size = FCI_ICL_CARD_BYTES - 1;
    EXPECT_EQ(MPIDI_FCI_upids_to_gpids(1, &size, card, gpids), MPI_ERR_OTHER);
    EXPECT_TEXT(upper.error, "**fci_nm_failed the other side does not use FCI");
    size = FCI_ICL_CARD_BYTES + 1;
    EXPECT_EQ(MPIDI_FCI_upids_to_gpids(1, &size, card, gpids), MPI_ERR_OTHER);
    EXPECT_EQ(tap_count(TAP_ADD_PEER), 0);
    close_job();
}

TEST(Join, what_fails__is_told) {
    uint64_t gpids[8] = {0};
    open_job(0, 2);
    open_strangers();
    upper.mallocs_good = 1; /* none for the number of the last one */
    EXPECT_EQ(join("a0", gpids), MPI_ERR_OTHER);
    EXPECT_TEXT(upper.error, "**nomem");
    EXPECT_TEXT(notes(), "");
    upper.mallocs_good = -1;
    tap_force(TAP_ADD_PEER, FCI_ICL_ENOMEM);
    EXPECT_EQ(join("0", gpids), MPI_ERR_OTHER);
    EXPECT_TEXT(notes(), "");
    upper.upper_error = MPI_ERR_INTERN;
    EXPECT_EQ(join("0", gpids), MPI_ERR_INTERN);
    EXPECT_EQ(join("0", gpids), MPI_SUCCESS);
    EXPECT_TEXT(notes(), "new table(1)");
    upper.mallocs_good = 0;
    EXPECT_EQ(join("1", gpids), MPI_ERR_OTHER);
    EXPECT_TEXT(upper.error, "**nomem");
    upper.mallocs_good = -1;
    close_strangers();
    close_job();
}

TEST(Join, number_of_a_peer__may_be_far_ahead_of_all) {
    open_job(0, 2);
    upper.mallocs_good = 0;
    EXPECT_EQ(MPIDI_FCI_set_gpid(1000, place(3, 4)), MPI_ERR_OTHER);
    EXPECT_TEXT(upper.error, "**nomem");
    upper.mallocs_good = -1;
    const uint32_t before = MPIDI_FCI_global.gpid_count;
    EXPECT_EQ(MPIDI_FCI_set_gpid(before, place(3, 4)), MPI_SUCCESS);
    EXPECT_EQ(MPIDI_FCI_global.gpid_count, 2 * before);
    EXPECT_EQ(MPIDI_FCI_global.gpids[before], place(3, 4));
    EXPECT_TRUE(MPIDI_FCI_global.gpids[2 * before - 1] == MPIDI_FCI_NO_GPID);
    EXPECT_EQ(MPIDI_FCI_set_gpid(1000, place(5, 6)), MPI_SUCCESS);
    EXPECT_EQ(MPIDI_FCI_global.gpid_count, 1001);
    EXPECT_TRUE(MPIDI_FCI_global.gpids[999] == MPIDI_FCI_NO_GPID);
    EXPECT_EQ(MPIDI_FCI_global.gpids[before], place(3, 4));
    close_job();
}

/* --- what a communicator says of them --- */

TEST(Process, number__is_that_of_the_remote_group_where_there_are_two) {
    uint64_t gpid = 0;
    open_job(0, 2);
    MPIR_Comm* const comm = new_comm(1, 1, 0, 2);
    MPIDI_COMM(comm, map).mode = MPIDI_RANK_MAP_OFFSET;
    MPIDI_COMM(comm, map).avtid = 3;
    MPIDI_COMM(comm, map).reg.offset = 10;
    MPIDI_COMM(comm, local_map).mode = MPIDI_RANK_MAP_OFFSET;
    MPIDI_COMM(comm, local_map).avtid = 4;
    MPIDI_COMM(comm, local_map).reg.offset = 20;
    EXPECT_EQ(MPIDI_NM_comm_get_gpid(comm, 1, &gpid, false), MPI_SUCCESS);
    EXPECT_EQ(gpid, place(3, 11));
    comm->comm_kind = MPIR_COMM_KIND__INTERCOMM;
    EXPECT_EQ(MPIDI_NM_comm_get_gpid(comm, 1, &gpid, true), MPI_SUCCESS);
    EXPECT_EQ(gpid, place(3, 11));
    EXPECT_EQ(MPIDI_NM_comm_get_gpid(comm, 1, &gpid, false), MPI_SUCCESS);
    EXPECT_EQ(gpid, place(4, 21));
    free_comm(comm);
    close_job();
}

TEST(Process, host__is_mpichs_knowledge) {
    open_job(0, 3);
    av(job.world, 1)->is_local = 1;
    EXPECT_TRUE(MPIDI_NM_rank_is_local(1, job.world));
    EXPECT_TRUE(!MPIDI_NM_rank_is_local(2, job.world));
    close_job();
}
