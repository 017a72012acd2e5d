/* SPDX-License-Identifier: BSD-3-Clause */
/* Communicators that begin and end, and hooks that only pass on. */
#include "test/unit/ch4/job.h"

TEST(Hooks, communicator_of_one_host__has_no_hierarchy) {
    open_job(0, 2);
    MPIR_Comm* const node = new_comm(1, 1, 0, 2);
    MPIR_Comm* const comm = new_comm(5, 6, 0, 2);
    const struct {
        MPIR_Comm* node;
        int node_size, kind, after;
    } cases[] = {{node, 2, MPIR_COMM_HIERARCHY_KIND__PARENT, MPIR_COMM_HIERARCHY_KIND__FLAT},
                 {node, 1, MPIR_COMM_HIERARCHY_KIND__PARENT, MPIR_COMM_HIERARCHY_KIND__PARENT},
                 {NULL, 2, MPIR_COMM_HIERARCHY_KIND__PARENT, MPIR_COMM_HIERARCHY_KIND__PARENT},
                 {node, 2, MPIR_COMM_HIERARCHY_KIND__NODE, MPIR_COMM_HIERARCHY_KIND__NODE}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        node->local_size = cases[i].node_size;
        comm->node_comm = cases[i].node;
        comm->hierarchy_kind = cases[i].kind;
        EXPECT_EQ(MPIDI_FCI_mpi_comm_commit_post_hook(comm), MPI_SUCCESS);
        EXPECT_EQ(comm->hierarchy_kind, cases[i].after);
    }
    free_comm(node);
    free_comm(comm);
    close_job();
}

TEST(Hooks, addresses_by_rank__are_for_communicators_that_are_the_world_and_not_alone) {
    open_job(0, 2);
    MPIR_Comm* const comm = new_comm(5, 6, 0, 2);
    (void)MPIDI_FCI_mpi_comm_commit_post_hook(comm);
    EXPECT_TRUE(MPIDI_FCI_send_now("d", 1, MPI_BYTE, 1, 2, comm, 0));
    EXPECT_TRUE(peer_gets(1, word(0, 5, 2), "d", 1));
    comm->remote_size = 1;
    (void)MPIDI_FCI_mpi_comm_commit_post_hook(comm);
    EXPECT_TRUE(!MPIDI_FCI_send_now("d", 1, MPI_BYTE, 1, 2, comm, 0));
    comm->remote_size = 2;
    MPIDI_COMM(comm, map).mode = MPIDI_RANK_MAP_OFFSET_INTRA;
    (void)MPIDI_FCI_mpi_comm_commit_post_hook(comm);
    EXPECT_TRUE(!MPIDI_FCI_send_now("d", 1, MPI_BYTE, 1, 2, comm, 0));
    free_comm(comm);
    close_job();
}

TEST(Hooks, ended_communicator__leaves_no_message_behind) {
    open_job(0, 2);
    peer_send(1, word(1, kWorldBack, 1), "p2p", 3);
    peer_send(1, word(1, kWorldBack + 1, 2), "coll", 4);
    peer_send(1, word(1, kWorldBack + 2, 3), "next", 4);
    peer_send(1, word(1, kWorldBack - 1, 4), "last", 4);
    (void)fci_icl_progress(job.peers[1].context);
    for (int turn = 0; turn < 50; turn++) (void)fci_icl_progress(job.peers[1].context);
    EXPECT_EQ(MPIDI_FCI_mpi_comm_free_hook(job.world), MPI_SUCCESS);
    EXPECT_TRUE(tap_count(TAP_PROGRESS) >= 1);
    struct fci_icl_status found;
    fci_icl_context* const own = MPIDI_FCI_global.context;
    const int expected[] = {FCI_ICL_ENOMSG, FCI_ICL_ENOMSG, FCI_ICL_OK, FCI_ICL_OK};
    const int contexts[] = {kWorldBack, kWorldBack + 1, kWorldBack + 2, kWorldBack - 1};
    settle();
    for (int i = 0; i < 4; i++)
        EXPECT_EQ(
            fci_icl_probe(own, FCI_ICL_ANY_SOURCE, 0, word(1, contexts[i], i + 1), 0, &found, NULL),
            expected[i]);
    close_job();
}

static void keep_busy(void) {
    tap_force(TAP_PROGRESS, 1);
}

TEST(Hooks, ended_communicator__takes_a_few_turns_only_while_something_comes) {
    open_job(0, 2);
    tap_force(TAP_PROGRESS, 0);
    (void)MPIDI_FCI_mpi_comm_free_hook(job.world);
    EXPECT_EQ(tap_count(TAP_PROGRESS), 1);
    tap_force(TAP_PROGRESS, FCI_ICL_ENOMEM);
    (void)MPIDI_FCI_mpi_comm_free_hook(job.world);
    EXPECT_EQ(tap_count(TAP_PROGRESS), 1);
    keep_busy();
    tap.between = keep_busy;
    (void)MPIDI_FCI_mpi_comm_free_hook(job.world);
    EXPECT_EQ(tap_count(TAP_PROGRESS), 64);
    tap.is_forced[TAP_PROGRESS] = false;
    close_job();
}

static int freed_in_turn;
static void free_in_turn(void) {
    if (freed_in_turn++ == 0) (void)MPIDI_FCI_mpi_comm_free_hook(job.world);
}

TEST(Hooks, communicator_that_ends_within_a_turn__takes_none) {
    open_job(0, 2);
    freed_in_turn = 0;
    tap.between = free_in_turn;
    (void)MPIDI_NM_progress(0, 0);
    EXPECT_EQ(freed_in_turn, 1);
    EXPECT_EQ(tap_count(TAP_PROGRESS), 1);
    EXPECT_EQ(tap_count(TAP_DISCARD), 2);
    tap.between = NULL;
    tap_force(TAP_PROGRESS, 0);
    (void)MPIDI_FCI_mpi_comm_free_hook(job.world);
    EXPECT_EQ(tap_count(TAP_PROGRESS), 1);
    close_job();
}

TEST(Hooks, communicator_that_ends_after_the_context__is_nothing) {
    open_job(0, 2);
    MPIR_Comm* const comm = new_comm(5, 6, 0, 2);
    (void)MPIDI_FCI_mpi_comm_commit_post_hook(comm);
    close_job();
    EXPECT_EQ(MPIDI_FCI_mpi_comm_free_hook(comm), MPI_SUCCESS);
    EXPECT_EQ(tap_count(TAP_PROGRESS), 0);
    free_comm(comm);
}

TEST(Hooks, others__ask_for_nothing) {
    open_job(0, 2);
    EXPECT_EQ(MPIDI_FCI_comm_set_hints(job.world, NULL), MPI_SUCCESS);
    EXPECT_EQ(MPIDI_FCI_mpi_type_commit_hook(NULL), MPI_SUCCESS);
    EXPECT_EQ(MPIDI_FCI_mpi_type_free_hook(NULL), MPI_SUCCESS);
    EXPECT_EQ(MPIDI_FCI_mpi_op_commit_hook(NULL), MPI_SUCCESS);
    EXPECT_EQ(MPIDI_FCI_mpi_op_free_hook(NULL), MPI_SUCCESS);
    EXPECT_EQ(MPIDI_FCI_post_init(), MPI_SUCCESS);
    EXPECT_TEXT(notes(), "");
    close_job();
}

TEST(Hooks, partitioned_communication__is_mpichs_and_waits_for_active_messages) {
    MPIR_Request* request = NULL;
    for (int i = 0; i < 2; i++) {
        open_job(0, 2);
        MPIDI_FCI_peer_died(NULL, job.peers[1].number);
        upper.now += 1;
        EXPECT_EQ(MPIDI_NM_progress(0, 0), MPI_SUCCESS);
        upper.upper_error = MPI_ERR_ARG;
        EXPECT_EQ(i == 0 ? MPIDI_FCI_mpi_psend_init("x", 2, 3, MPI_BYTE, 1, 4, job.world, NULL,
                                                    av(job.world, 1), &request)
                         : MPIDI_FCI_mpi_precv_init(&request, 2, 3, MPI_BYTE, 1, 4, job.world, NULL,
                                                    av(job.world, 1), &request),
                  MPI_ERR_ARG);
        EXPECT_TEXT(notes(), i == 0 ? "psend init(2, 3, 1, 4)" : "precv init(2, 3, 1, 4)");
        EXPECT_EQ(MPIDI_NM_progress(0, 0), MPIX_ERR_PROC_FAILED);
        close_job();
    }
}
