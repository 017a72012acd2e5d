/* SPDX-License-Identifier: BSD-3-Clause */
/* Sends: the short one that goes out at once, and all others. */
#include "test/unit/ch4/job.h"

static MPIR_Request* isend(const void* buffer, MPI_Aint count, MPI_Datatype type, int rank,
                           int tag) {
    MPIR_Request* request = NULL;
    EXPECT_EQ(MPIDI_NM_mpi_isend(buffer, count, type, rank, tag, job.world, 0, av(job.world, rank),
                                 &request),
              MPI_SUCCESS);
    return request;
}

static MPIR_Request* issend(const void* buffer, MPI_Aint count, int rank, int tag) {
    MPIR_Request* request = NULL;
    EXPECT_EQ(MPIDI_NM_mpi_issend(buffer, count, MPI_BYTE, rank, tag, job.world, 0,
                                  av(job.world, rank), &request),
              MPI_SUCCESS);
    return request;
}

static bool is_builtin(const MPIR_Request* request) {
    return HANDLE_IS_BUILTIN(request->handle);
}

TEST(Send, short_one__is_complete_at_once_and_needs_no_request) {
    open_job(0, 3);
    MPIR_Request* const request = isend("to rank two", 11, MPI_BYTE, 2, 5);
    EXPECT_TRUE(is_done(request) && is_builtin(request));
    EXPECT_TRUE(request->kind == MPIR_REQUEST_KIND__SEND);
    EXPECT_EQ(requests_live(), 0);
    EXPECT_EQ(tap_count(TAP_SEND_BYTES), 0);
    EXPECT_TRUE(peer_gets(2, word(0, kWorld, 5), "to rank two", 11));
    close_job();
}

TEST(Send, word__names_rank_context_and_tag_of_the_sender) {
    open_job(2, 3);
    MPIR_Request* request = NULL;
    EXPECT_EQ(MPIDI_NM_mpi_isend("x", 1, MPI_BYTE, 1, 9, job.world, 1, av(job.world, 1), &request),
              MPI_SUCCESS);
    EXPECT_TRUE(peer_gets(1, word(2, kWorld + 1, 9), "x", 1));
    close_job();
}

TEST(Send, bytes__are_those_of_all_items) {
    const int numbers[] = {1, 2, 3};
    open_job(0, 2);
    (void)isend(numbers, 3, MPI_INT, 1, 0);
    EXPECT_TRUE(peer_gets(1, word(0, kWorld, 0), numbers, sizeof numbers));
    (void)isend(NULL, 0, MPI_INT, 1, 1);
    EXPECT_TRUE(peer_gets(1, word(0, kWorld, 1), "", 0));
    close_job();
}

TEST(Send, one_that_is_too_long_for_it__has_a_request) {
    open_job(0, 2);
    const size_t most = MPIDI_FCI_global.inject_bytes;
    char* const data = calloc(1, most + 1);
    data[most - 1] = 1;
    EXPECT_TRUE(is_builtin(isend(data, (MPI_Aint)most, MPI_BYTE, 1, 1)));
    EXPECT_EQ(tap_count(TAP_SEND_SHORT), 1);
    EXPECT_EQ(tap_count(TAP_SEND_BYTES), 0);
    EXPECT_TRUE(peer_gets(1, word(0, kWorld, 1), data, most));

    MPIR_Request* const request = isend(data, (MPI_Aint)most + 1, MPI_BYTE, 1, 2);
    EXPECT_EQ(tap_count(TAP_SEND_SHORT), 0);
    EXPECT_EQ(tap_count(TAP_SEND_BYTES), 1);
    EXPECT_TRUE(!is_builtin(request));
    EXPECT_TRUE(peer_gets(1, word(0, kWorld, 2), data, most + 1));
    TURN_UNTIL(is_done(request));
    EXPECT_EQ(request->status.MPI_ERROR, MPI_SUCCESS);
    EXPECT_TRUE(!MPIR_STATUS_GET_CANCEL_BIT(request->status));
    let_go(request);
    EXPECT_EQ(requests_live(), 0);
    free(data);
    close_job();
}

TEST(Send, short_one_for_which_there_is_no_room__goes_the_long_way_once) {
    open_job(0, 2);
    tap_force(TAP_SEND_SHORT, FCI_ICL_EAGAIN);
    MPIR_Request* const request = isend("once", 4, MPI_BYTE, 1, 3);
    EXPECT_EQ(tap_count(TAP_SEND_BYTES), 1);
    EXPECT_TRUE(!is_builtin(request));
    EXPECT_TRUE(peer_gets(1, word(0, kWorld, 3), "once", 4));
    TURN_UNTIL(is_done(request));
    settle();
    EXPECT_TRUE(!peer_has(1, word(0, kWorld, 3)));
    let_go(request);
    close_job();
}

TEST(Send, request_of_the_caller__is_the_one_that_completes) {
    open_job(0, 2);
    MPIR_Request* const mine = MPIR_Request_create_from_pool(MPIR_REQUEST_KIND__SEND, 0, 1);
    MPIR_Request* request = mine;
    EXPECT_EQ(MPIDI_NM_mpi_isend("a", 1, MPI_BYTE, 1, 1, job.world, 0, av(job.world, 1), &request),
              MPI_SUCCESS);
    EXPECT_TRUE(request == mine && is_done(mine));
    EXPECT_EQ(MPIR_Object_get_ref(mine), 1);
    MPIR_cc_set(&mine->cc, 1);
    EXPECT_EQ(MPIDI_NM_mpi_issend("b", 1, MPI_BYTE, 1, 2, job.world, 0, av(job.world, 1), &request),
              MPI_SUCCESS);
    EXPECT_TRUE(request == mine && !is_done(mine));
    EXPECT_EQ(MPIR_Object_get_ref(mine), 2);
    EXPECT_TRUE(peer_gets(1, word(0, kWorld, 2), "b", 1));
    TURN_UNTIL(is_done(mine));
    EXPECT_EQ(MPIR_Object_get_ref(mine), 1);
    let_go(mine);
    EXPECT_EQ(requests_live(), 0);
    close_job();
}

TEST(Send, request__that_was_let_go_of_is_kept_until_the_message_has_gone) {
    open_job(0, 2);
    MPIR_Request* const request = issend("freed", 5, 1, 4);
    EXPECT_EQ(MPIR_Object_get_ref(request), 2);
    let_go(request);
    settle();
    EXPECT_EQ(requests_live(), 1);
    EXPECT_TRUE(peer_gets(1, word(0, kWorld, 4), "freed", 5));
    TURN_UNTIL(requests_live() == 0);
    close_job();
}

TEST(Send, synchronous_one__completes_when_it_is_matched) {
    open_job(0, 2);
    MPIR_Request* const request = issend("sync", 4, 1, 6);
    EXPECT_EQ(tap.flags, FCI_ICL_SYNCHRONOUS);
    EXPECT_EQ(tap_count(TAP_SEND_SHORT), 0);
    TURN_UNTIL(peer_has(1, word(0, kWorld, 6)));
    settle();
    EXPECT_TRUE(!is_done(request));
    EXPECT_TRUE(peer_gets(1, word(0, kWorld, 6), "sync", 4));
    TURN_UNTIL(is_done(request));
    let_go(request);
    close_job();
}

TEST(Send, derived_data__are_packed_and_the_datatype_is_kept_meanwhile) {
    open_job(0, 2);
    const MPI_Datatype type = new_type((struct shape){4, 2, 5, 1, 1});
    const char data[] =
        "-ab--"
        "-cd--"
        "-ef--"
        "-gh--";
    MPIR_Request* const request = isend(data, 1, type, 1, 2);
    EXPECT_EQ(tap_count(TAP_SEND_SHORT), 0);
    EXPECT_TRUE(!is_builtin(request));
    EXPECT_TRUE(peer_gets(1, word(0, kWorld, 2), "abcdefgh", 8));
    TURN_UNTIL(is_done(request));
    EXPECT_EQ(MPIR_Object_get_ref(type_of(type)), 1);
    let_go(request);

    MPIR_Request* sync = NULL;
    EXPECT_EQ(MPIDI_NM_mpi_issend(data, 1, type, 1, 3, job.world, 0, av(job.world, 1), &sync),
              MPI_SUCCESS);
    EXPECT_EQ(MPIR_Object_get_ref(type_of(type)), 2);
    free_type(type);
    EXPECT_EQ(upper.types_live, 1);
    EXPECT_TRUE(peer_gets(1, word(0, kWorld, 3), "abcdefgh", 8));
    TURN_UNTIL(is_done(sync));
    EXPECT_EQ(upper.types_live, 0);
    let_go(sync);
    close_job();
}

TEST(Send, many_pieces__come_in_their_order) {
    enum { kPieces = 3000 };
    static char data[3 * kPieces], packed[kPieces];
    open_job(0, 2);
    const MPI_Datatype type = new_type((struct shape){kPieces, 1, 3, 0, 1});
    for (int i = 0; i < kPieces; i++) data[3 * i] = packed[i] = (char)(i * 7);
    MPIR_Request* const request = isend(data, 1, type, 1, 2);
    EXPECT_TRUE(peer_gets(1, word(0, kWorld, 2), packed, kPieces));
    TURN_UNTIL(is_done(request));
    let_go(request);
    free_type(type);
    close_job();
}

TEST(Send, data_that_begin_behind_the_buffers_address__are_sent_from_there) {
    open_job(0, 2);
    const MPI_Datatype type = new_type((struct shape){1, 3, 3, 4, 1});
    (void)isend("0123456789", 1, type, 1, 2);
    EXPECT_EQ(tap_count(TAP_SEND_SHORT), 1);
    EXPECT_TRUE(peer_gets(1, word(0, kWorld, 2), "456", 3));
    MPIR_Request* request = NULL;
    EXPECT_EQ(
        MPIDI_NM_mpi_issend("0123456789", 1, type, 1, 3, job.world, 0, av(job.world, 1), &request),
        MPI_SUCCESS);
    EXPECT_TRUE(peer_gets(1, word(0, kWorld, 3), "456", 3));
    TURN_UNTIL(is_done(request));
    let_go(request);
    free_type(type);
    close_job();
}

TEST(Send, of_a_collective__carries_its_errors_in_the_tag) {
    open_job(0, 2);
    const MPIR_Errflag_t flags[] = {MPIR_ERR_NONE, MPIR_ERR_PROC_FAILED, MPIR_ERR_OTHER};
    const int bits[] = {0, 0x60000000, 0x40000000};
    for (int i = 0; i < 3; i++) {
        MPIR_Request* request = NULL;
        MPIR_Errflag_t flag = flags[i];
        EXPECT_EQ(MPIDI_NM_isend_coll("c", 1, MPI_BYTE, 1, 3, job.world, 1, av(job.world, 1),
                                      &request, &flag),
                  MPI_SUCCESS);
        EXPECT_TRUE(is_done(request));
        EXPECT_TRUE(peer_gets(1, word(0, kWorld + 1, 3 | bits[i]), "c", 1));
    }
    close_job();
}

TEST(Send, cancelled_one__says_so_and_never_comes) {
    open_job(0, 2);
    MPIR_Request* const request = issend("never", 5, 1, 7);
    settle();
    EXPECT_EQ(MPIDI_NM_mpi_cancel_send(request), MPI_SUCCESS);
    TURN_UNTIL(is_done(request));
    EXPECT_TRUE(MPIR_STATUS_GET_CANCEL_BIT(request->status));
    EXPECT_EQ(request->status.MPI_ERROR, MPI_SUCCESS);
    settle();
    EXPECT_TRUE(!peer_has(1, word(0, kWorld, 7)));
    EXPECT_EQ(tap_count(TAP_CANCEL), 1);
    EXPECT_EQ(MPIDI_NM_mpi_cancel_send(request), MPI_SUCCESS);
    EXPECT_EQ(tap_count(TAP_CANCEL), 0);
    let_go(request);
    close_job();
}

/* --- what fails --- */

TEST(Send, refused_one__completes_with_its_error) {
    open_job(0, 2);
    tap_force(TAP_SEND_BYTES, FCI_ICL_ENOMEM);
    MPIR_Request* request = issend("x", 1, 1, 1);
    EXPECT_TRUE(is_done(request));
    EXPECT_EQ(request->status.MPI_ERROR, MPI_ERR_OTHER);
    EXPECT_TRUE(strncmp(upper.error, "**fci_nm_failed ", 16) == 0);
    let_go(request);

    tap_force(TAP_SEND_BYTES, FCI_ICL_EPEER);
    request = issend("x", 1, 1, 1);
    EXPECT_EQ(request->status.MPI_ERROR, MPIX_ERR_PROC_FAILED);
    EXPECT_TRUE(strncmp(upper.error, "**fci_nm_peer rank 1 of MPI_COMM_WORLD: ", 40) == 0);
    let_go(request);

    tap_force(TAP_SEND_BYTES, FCI_ICL_DONE);
    request = issend("x", 1, 1, 1);
    EXPECT_TRUE(is_done(request));
    EXPECT_EQ(request->status.MPI_ERROR, MPI_SUCCESS);
    let_go(request);
    EXPECT_EQ(requests_live(), 0);
    close_job();
}

TEST(Send, peer_that_has_gone__is_named) {
    open_job(0, 3);
    end_peer(2);
    MPIR_Request* const request = issend("x", 1, 2, 1);
    TURN_UNTIL(is_done(request));
    EXPECT_EQ(request->status.MPI_ERROR, MPIX_ERR_PROC_FAILED);
    EXPECT_TRUE(strncmp(upper.error, "**fci_nm_peer rank 2 of MPI_COMM_WORLD: ", 40) == 0);
    let_go(request);
    close_job();
}

TEST(Send, without_memory__is_an_error_and_leaves_nothing) {
    open_job(0, 2);
    const MPI_Datatype type = new_type((struct shape){4, 2, 5, 0, 1});
    char data[20] = "";
    MPIR_Request* request = NULL;
    upper.mallocs_good = 0;
    EXPECT_EQ(MPIDI_NM_mpi_isend(data, 1, type, 1, 0, job.world, 0, av(job.world, 1), &request),
              MPI_ERR_OTHER);
    EXPECT_TEXT(upper.error, "**nomem");
    upper.mallocs_good = -1;
    upper.upper_error = MPI_ERR_TYPE;
    EXPECT_EQ(MPIDI_NM_mpi_isend(data, 1, type, 1, 0, job.world, 0, av(job.world, 1), &request),
              MPI_ERR_TYPE);
    EXPECT_TRUE(request == NULL);
    EXPECT_EQ(MPIR_Object_get_ref(type_of(type)), 1);
    EXPECT_EQ(requests_live(), 0);
    EXPECT_EQ(tap_count(TAP_SEND_BYTES), 0);

    MPIR_Request* taken[MPIR_REQUEST_PREALLOC];
    for (int i = 0; i < MPIR_REQUEST_PREALLOC; i++)
        taken[i] = MPIR_Request_create_from_pool(MPIR_REQUEST_KIND__SEND, 0, 1);
    upper.mallocs_good = 1;
    EXPECT_EQ(MPIDI_NM_mpi_isend(data, 1, type, 1, 0, job.world, 0, av(job.world, 1), &request),
              MPIX_ERR_NOREQ);
    upper.mallocs_good = -1;
    EXPECT_EQ(MPIR_Object_get_ref(type_of(type)), 1);
    for (int i = 0; i < MPIR_REQUEST_PREALLOC; i++) let_go(taken[i]);
    free_type(type);
    EXPECT_EQ(upper.types_live, 0);
    close_job();
}

/* --- MPI_Send, which asks for no request --- */

TEST(SendNow, short_one__goes_with_the_word_of_any_other) {
    const int numbers[] = {4, 5};
    open_job(1, 3);
    EXPECT_TRUE(MPIDI_FCI_send_now(numbers, 2, MPI_INT, 2, 0x0fffffff, job.world, 0));
    EXPECT_TRUE(peer_gets(2, word(1, kWorld, 0x0fffffff), numbers, sizeof numbers));
    EXPECT_TRUE(MPIDI_FCI_send_now("o", 1, MPI_BYTE, 0, 3, job.world, 1));
    EXPECT_TRUE(peer_gets(0, word(1, kWorld + 1, 3), "o", 1));
    close_job();
}

TEST(SendNow, others__are_left_to_the_general_way) {
    open_job(0, 2);
    const size_t most = MPIDI_FCI_global.inject_bytes;
    char* const data = calloc(1, most + 4);
    EXPECT_TRUE(MPIDI_FCI_send_now(data, (MPI_Aint)most, MPI_BYTE, 1, 1, job.world, 0));
    EXPECT_EQ(tap_count(TAP_SEND_SHORT), 1);
    EXPECT_TRUE(!MPIDI_FCI_send_now(data, (MPI_Aint)most + 1, MPI_BYTE, 1, 1, job.world, 0));
    const MPI_Datatype type = new_type((struct shape){1, 1, 1, 0, 1});
    EXPECT_TRUE(!MPIDI_FCI_send_now(data, 1, type, 1, 1, job.world, 0));
    free_type(type);
    MPIDI_FCI_COMM(job.world).direct = NULL;
    EXPECT_TRUE(!MPIDI_FCI_send_now(data, 1, MPI_BYTE, 1, 1, job.world, 0));
    EXPECT_EQ(tap_count(TAP_SEND_SHORT), 0);
    (void)MPIDI_FCI_mpi_comm_commit_post_hook(job.world);
    tap_force(TAP_SEND_SHORT, FCI_ICL_EAGAIN);
    EXPECT_TRUE(!MPIDI_FCI_send_now(data, 1, MPI_BYTE, 1, 1, job.world, 0));
    EXPECT_EQ(tap_count(TAP_SEND_BYTES), 0);
    EXPECT_TRUE(peer_gets(1, word(0, kWorld, 1), data, most));
    settle();
    EXPECT_TRUE(!peer_has(1, word(0, kWorld, 1)));
    free(data);
    close_job();
}
