/* SPDX-License-Identifier: BSD-3-Clause */
/* Receives of any of very many ranks, and those that fail. */
#include "test/unit/ch4/job.h"

/* --- very many ranks --- */

/* The world, as if it had so many: the peers stand at both ends of a residue. */
static void widen(int size, int near, int far) {
    int table;
    (void)MPIDIU_new_avt(size, &table);
    job.world->remote_size = size;
    MPIDI_COMM(job.world, map).mode = MPIDI_RANK_MAP_DIRECT;
    MPIDI_COMM(job.world, map).avtid = table;
    for (int rank = 0; rank < size; rank++)
        MPIDI_FCI_AV(av(job.world, rank)).peer = 1000000 + (uint32_t)rank;
    MPIDI_FCI_AV(av(job.world, near)).peer = job.peers[1].number;
    MPIDI_FCI_AV(av(job.world, far)).peer = job.peers[2].number;
}

TEST(Receive, of_any_of_very_many__looks_the_sender_up) {
    char buffer[4] = "";
    open_job(0, 3);
    widen(8193, 0, 8192);
    MPIR_Request* request = irecv(buffer, 4, MPI_BYTE, MPI_ANY_SOURCE, 1);
    EXPECT_EQ(MPIR_Object_get_ref(job.world), 2);
    peer_send(2, word(8192, kWorldBack, 1), "f", 1);
    expect_end(request, 8192, 1, 1, MPI_SUCCESS);
    EXPECT_EQ(MPIR_Object_get_ref(job.world), 1);
    request = irecv(buffer, 4, MPI_BYTE, MPI_ANY_SOURCE, 1);
    peer_send(1, word(0, kWorldBack, 1), "n", 1);
    expect_end(request, 0, 1, 1, MPI_SUCCESS);

    request = irecv(buffer, 4, MPI_BYTE, MPI_ANY_SOURCE, 1);
    EXPECT_EQ(MPIDI_NM_mpi_cancel_recv(request), MPI_SUCCESS);
    TURN_UNTIL(is_done(request));
    EXPECT_EQ(MPIR_Object_get_ref(job.world), 1);
    let_go(request);
    EXPECT_EQ(upper.comms_deleted, 0);
    close_job();
}

TEST(Receive, communicator__is_kept_only_where_a_sender_may_have_to_be_looked_up) {
    char buffer[4] = "";
    open_job(0, 3);
    widen(8193, 0, 8192);
    MPIR_Request* named = irecv(buffer, 4, MPI_BYTE, 8192, 1);
    EXPECT_EQ(MPIR_Object_get_ref(job.world), 1);
    peer_send(2, word(8192, kWorldBack, 1), "f", 1);
    TURN_UNTIL(is_done(named));
    let_go(named);
    job.world->remote_size = 8192;
    MPIR_Request* const any = irecv(buffer, 4, MPI_BYTE, MPI_ANY_SOURCE, 1);
    EXPECT_EQ(MPIR_Object_get_ref(job.world), 1);
    peer_send(1, word(0, kWorldBack, 1), "n", 1);
    TURN_UNTIL(is_done(any));
    let_go(any);
    close_job();
}

/* --- what fails --- */

TEST(Receive, refused_one__completes_with_its_error) {
    char buffer[4] = "";
    open_job(0, 2);
    tap_force(TAP_POST, 0);
    tap_force(TAP_RECEIVE_BYTES, FCI_ICL_EPEER);
    MPIR_Request* request = irecv(buffer, 4, MPI_BYTE, 1, 3);
    EXPECT_TRUE(is_done(request));
    EXPECT_TRUE(strncmp(upper.error, "**fci_nm_peer rank 1 of MPI_COMM_WORLD: ", 40) == 0);
    expect_end(request, 0, 3, 0, MPIX_ERR_PROC_FAILED);
    tap_force(TAP_POST, 0);
    tap_force(TAP_RECEIVE_BYTES, FCI_ICL_ENOMEM);
    expect_end(irecv(buffer, 4, MPI_BYTE, 1, 3), 0, 3, 0, MPI_ERR_OTHER);
    close_job();
}

TEST(Receive, peer_that_has_gone__ends_what_waits_for_it) {
    char buffer[4] = "";
    open_job(0, 3);
    MPIR_Request* const request = irecv(buffer, 4, MPI_BYTE, 2, 3);
    end_peer(2);
    TURN_UNTIL(is_done(request));
    EXPECT_EQ(request->status.MPI_ERROR, MPIX_ERR_PROC_FAILED);
    EXPECT_TRUE(strncmp(upper.error, "**fci_nm_peer rank 2 of MPI_COMM_WORLD: ", 40) == 0);
    let_go(request);
    close_job();
}

TEST(Receive, without_memory__is_an_error) {
    char buffer[8] = "";
    MPIR_Request* request = NULL;
    open_job(0, 2);
    const MPI_Datatype type = new_type((struct shape){2, 1, 2, 0, 1});
    upper.mallocs_good = 0;
    EXPECT_EQ(
        MPIDI_NM_mpi_irecv(buffer, 1, type, 1, 1, job.world, 0, av(job.world, 1), &request, NULL),
        MPI_ERR_OTHER);
    EXPECT_TEXT(upper.error, "**nomem");
    upper.mallocs_good = -1;
    EXPECT_EQ(MPIR_Object_get_ref(type_of(type)), 1);
    free_type(type);

    while (MPIR_Request_mem[0].num_avail > 0)
        (void)MPIR_Request_create_from_pool(MPIR_REQUEST_KIND__RECV, 0, 1);
    upper.mallocs_good = 0;
    request = NULL;
    EXPECT_EQ(MPIDI_NM_mpi_irecv(buffer, 1, MPI_BYTE, 1, 1, job.world, 0, av(job.world, 1),
                                 &request, NULL),
              MPIX_ERR_NOREQ);
    upper.mallocs_good = -1;
    EXPECT_EQ(tap_count(TAP_POST), 0);
    close_job();
}
