/* SPDX-License-Identifier: BSD-3-Clause */
/* How the processes of a job get acquainted. */
#include "test/unit/ch4/job.h"

/* Three cores besides the netmod, which is `rank` of four. */
static fci_icl_context* cores[4];
static void begin(int rank) {
    int tag_bits;
    reset_upper(rank, 4);
    memset(&tap, 0, sizeof tap);
    MPIR_CVAR_CH4_FCI_DRIVER = "shm";
    for (int other = 0; other < 4; other++) {
        cores[other] = other == rank ? NULL : open_core(4);
        if (other != rank) fci_icl_card(cores[other], upper.cards[other]);
    }
    EXPECT_EQ(MPIDI_FCI_init_local(&tag_bits), MPI_SUCCESS);
    (void)notes();
}

static void end(void) {
    for (int other = 0; other < 4; other++)
        if (cores[other] != NULL) (void)fci_icl_close(cores[other], 0);
    (void)MPIDI_FCI_mpi_finalize_hook();
}

/* Rank `rank` is the process that the card says. */
static bool is_there(int rank, int own) {
    unsigned char card[FCI_ICL_CARD_BYTES] = "";
    const fci_icl_peer peer = MPIDI_FCI_AV(&MPIDIU_get_av(0, rank)).peer;
    if (rank == own) return peer == 0;
    return peer != 0 && fci_icl_peer_card(MPIDI_FCI_global.context, peer, card) == FCI_ICL_OK &&
           memcmp(card, upper.cards[rank], sizeof card) == 0;
}

TEST(World, cards__make_each_rank_a_peer) {
    begin(2);
    EXPECT_EQ(MPIDI_FCI_init_world(), MPI_SUCCESS);
    EXPECT_TEXT(notes(), "cards(2 of 4, 16 bytes, one length, all); no cards");
    EXPECT_EQ(tap_count(TAP_ADD_PEER), 4);
    for (int rank = 0; rank < 4; rank++) {
        EXPECT_TRUE(is_there(rank, 2));
        const fci_icl_peer peer = MPIDI_FCI_AV(&MPIDIU_get_av(0, rank)).peer;
        EXPECT_EQ(MPIDI_FCI_global.gpids[peer], rank);
    }
    end();
}

TEST(World, roots__meet_first_and_then_all) {
    begin(2);
    MPIR_CVAR_CH4_ROOTS_ONLY_PMI = 1;
    MPIR_Process.node_root_map[0] = 0;
    EXPECT_EQ(MPIDI_FCI_init_world(), MPI_SUCCESS);
    EXPECT_TEXT(notes(),
                "cards(2 of 4, 16 bytes, one length, roots); init comm; "
                "gathered(16 bytes); no cards; no init comm");
    EXPECT_EQ(tap_count(TAP_ADD_PEER), 1 + 3);
    for (int rank = 0; rank < 4; rank++) EXPECT_TRUE(is_there(rank, 2));
    MPIR_CVAR_CH4_ROOTS_ONLY_PMI = 0;
    end();
}

TEST(World, roots__are_one_of_each_host) {
    static int roots[] = {0, 1};
    begin(2);
    MPIR_CVAR_CH4_ROOTS_ONLY_PMI = 1;
    MPIR_Process.num_nodes = 2;
    MPIR_Process.node_root_map = roots;
    tap_force(TAP_ADD_PEER, FCI_ICL_ENOMEM);
    tap.then_after = 1;
    EXPECT_EQ(MPIDI_FCI_init_world(), MPI_ERR_OTHER);
    EXPECT_TEXT(notes(), "cards(2 of 4, 16 bytes, one length, roots); no cards");
    EXPECT_TRUE(is_there(0, 2));
    /* The third is the first of all that come then. */
    tap_force(TAP_ADD_PEER, FCI_ICL_ENOMEM);
    tap.then_after = 2;
    EXPECT_EQ(MPIDI_FCI_init_world(), MPI_ERR_OTHER);
    EXPECT_TRUE(is_there(0, 2) && is_there(1, 2));
    EXPECT_TRUE(MPIDI_FCI_AV(&MPIDIU_get_av(0, 3)).peer == 0);
    MPIR_CVAR_CH4_ROOTS_ONLY_PMI = 0;
    end();
}

TEST(World, what_fails__is_told) {
    begin(0);
    upper.upper_error = MPI_ERR_INTERN;
    EXPECT_EQ(MPIDI_FCI_init_world(), MPI_ERR_INTERN);
    tap_force(TAP_ADD_PEER, FCI_ICL_EMISMATCH);
    EXPECT_EQ(MPIDI_FCI_init_world(), MPIX_ERR_PROC_FAILED);
    tap_force(TAP_ADD_PEER, FCI_ICL_ENOMEM);
    EXPECT_EQ(MPIDI_FCI_init_world(), MPI_ERR_OTHER);
    tap_force(TAP_ADD_PEER, FCI_ICL_ENOMEM);
    tap.then_after = 3;
    EXPECT_EQ(MPIDI_FCI_init_world(), MPI_ERR_OTHER);
    EXPECT_EQ(MPIDI_FCI_init_world(), MPI_SUCCESS);
    end();
}

TEST(World, roots_that_fail__are_told_of_and_leave_nothing) {
    begin(0);
    MPIR_CVAR_CH4_ROOTS_ONLY_PMI = 1;
    tap_force(TAP_ADD_PEER, FCI_ICL_ENOMEM);
    tap.then_after = 2;
    EXPECT_EQ(MPIDI_FCI_init_world(), MPI_ERR_OTHER);
    EXPECT_TEXT(notes(),
                "cards(0 of 4, 16 bytes, one length, roots); init comm; "
                "gathered(16 bytes); no cards; no init comm");
    for (int good = 1; good <= 2; good++) {
        upper.good_calls = good;
        upper.upper_error = MPI_ERR_INTERN;
        (void)notes();
        EXPECT_EQ(MPIDI_FCI_init_world(), MPI_ERR_INTERN);
        EXPECT_TEXT(notes(), good == 1
                                 ? "cards(0 of 4, 16 bytes, one length, roots); init comm; no cards"
                                 : "cards(0 of 4, 16 bytes, one length, roots); init comm; "
                                   "gathered(16 bytes); no cards; no init comm");
    }
    MPIR_CVAR_CH4_ROOTS_ONLY_PMI = 0;
    end();
}
