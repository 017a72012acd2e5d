/* SPDX-License-Identifier: BSD-3-Clause */
/* Receives: posted before and after their message, of any source and tag, cancelled, truncated. */
#include "test/unit/ch4/job.h"

/* A message that the netmod's core has got. */
static void arrive(int rank, uint64_t match, const void* data, size_t bytes) {
    struct fci_icl_status status;
    peer_send(rank, match, data, bytes);
    TURN_UNTIL(fci_icl_probe(MPIDI_FCI_global.context, job.peers[rank].number, 0, match, 0, &status,
                             NULL) == FCI_ICL_OK);
}

TEST(Receive, posted_one__ends_with_source_tag_and_count) {
    char buffer[16] = "";
    open_job(0, 3);
    MPIR_Request* const request = irecv(buffer, 15, MPI_BYTE, 2, 8);
    settle();
    EXPECT_TRUE(!is_done(request));
    EXPECT_EQ(tap_count(TAP_RECEIVE_BYTES), 0);
    peer_send(2, word(2, kWorldBack, 8), "nine byte", 9);
    expect_end(request, 2, 8, 9, MPI_SUCCESS);
    EXPECT_TEXT(buffer, "nine byte");
    EXPECT_EQ(requests_live(), 0);
    close_job();
}

TEST(Receive, message_that_is_here__ends_it_at_once) {
    char buffer[16] = "";
    open_job(0, 2);
    arrive(1, word(1, kWorldBack, 8), "early", 5);
    MPIR_Request* const request = irecv(buffer, 15, MPI_BYTE, 1, 8);
    EXPECT_TRUE(is_done(request));
    expect_end(request, 1, 8, 5, MPI_SUCCESS);
    EXPECT_TEXT(buffer, "early");
    close_job();
}

TEST(Receive, empty_message__is_one) {
    char buffer[4] = "abc";
    open_job(0, 2);
    MPIR_Request* const request = irecv(buffer, 4, MPI_BYTE, 1, 1);
    peer_send(1, word(1, kWorldBack, 1), NULL, 0);
    expect_end(request, 1, 1, 0, MPI_SUCCESS);
    EXPECT_TEXT(buffer, "abc");
    MPIR_Request* const none = irecv(NULL, 0, MPI_BYTE, 1, 2);
    peer_send(1, word(1, kWorldBack, 2), NULL, 0);
    expect_end(none, 1, 2, 0, MPI_SUCCESS);
    close_job();
}

TEST(Receive, named_source__leaves_others_alone) {
    char one[4] = "", two[4] = "";
    open_job(0, 3);
    MPIR_Request* const request = irecv(one, 4, MPI_BYTE, 1, 5);
    arrive(2, word(2, kWorldBack, 5), "2", 1);
    settle();
    EXPECT_TRUE(!is_done(request));
    peer_send(1, word(1, kWorldBack, 5), "1", 1);
    expect_end(request, 1, 5, 1, MPI_SUCCESS);
    expect_end(irecv(two, 4, MPI_BYTE, MPI_ANY_SOURCE, 5), 2, 5, 1, MPI_SUCCESS);
    EXPECT_TEXT(one, "1");
    EXPECT_TEXT(two, "2");
    close_job();
}

TEST(Receive, tag_and_context__are_compared) {
    char buffer[4] = "";
    open_job(0, 2);
    MPIR_Request* const request = irecv(buffer, 4, MPI_BYTE, MPI_ANY_SOURCE, 5);
    arrive(1, word(1, kWorldBack, 6), "6", 1);
    arrive(1, word(1, kWorldBack + 1, 5), "+", 1);
    arrive(1, word(1, kWorld, 5), "w", 1);
    settle();
    EXPECT_TRUE(!is_done(request));
    peer_send(1, word(1, kWorldBack, 5), "5", 1);
    expect_end(request, 1, 5, 1, MPI_SUCCESS);
    EXPECT_TEXT(buffer, "5");
    close_job();
}

TEST(Receive, context_offset__is_that_of_collectives) {
    char buffer[4] = "";
    MPIR_Request* request = NULL;
    open_job(0, 2);
    EXPECT_EQ(MPIDI_NM_mpi_irecv(buffer, 4, MPI_BYTE, 1, 5, job.world, 1, av(job.world, 1),
                                 &request, NULL),
              MPI_SUCCESS);
    peer_send(1, word(1, kWorldBack + 1, 5), "+", 1);
    expect_end(request, 1, 5, 1, MPI_SUCCESS);
    close_job();
}

TEST(Receive, any_tag__takes_those_of_users_only) {
    char buffer[4] = "";
    open_job(0, 2);
    MPIR_Request* const request = irecv(buffer, 4, MPI_BYTE, 1, MPI_ANY_TAG);
    arrive(1, word(1, kWorldBack, 0x10000007), "c", 1);
    settle();
    EXPECT_TRUE(!is_done(request));
    peer_send(1, word(1, kWorldBack, 0x0fffffff), "u", 1);
    expect_end(request, 1, 0x0fffffff, 1, MPI_SUCCESS);
    EXPECT_TEXT(buffer, "u");
    expect_end(irecv(buffer, 4, MPI_BYTE, 1, 0x10000007), 1, 0x10000007, 1, MPI_SUCCESS);
    close_job();
}

TEST(Receive, errors_of_a_collective__match_and_are_told_in_the_tag) {
    char buffer[4] = "";
    open_job(0, 2);
    MPIR_Request* request = irecv(buffer, 4, MPI_BYTE, 1, 3);
    peer_send(1, word(1, kWorldBack, 0x40000003), "e", 1);
    expect_end(request, 1, 0x40000003, 1, MPI_SUCCESS);
    request = irecv(buffer, 4, MPI_BYTE, 1, 3);
    peer_send(1, word(1, kWorldBack, 0x60000003), "e", 1);
    expect_end(request, 1, 0x60000003, 1, MPI_SUCCESS);
    close_job();
}

TEST(Receive, long_message__comes_whole) {
    enum { kLong = 1 << 20 };
    static char sent[kLong], came[kLong + 1];
    open_job(0, 2);
    for (int i = 0; i < kLong; i++) sent[i] = (char)(i * 31 >> 3);
    MPIR_Request* request = irecv(came, kLong + 1, MPI_BYTE, 1, 3);
    peer_send(1, word(1, kWorldBack, 3), sent, kLong);
    expect_end(request, 1, 3, kLong, MPI_SUCCESS);
    EXPECT_BYTES(came, sent, kLong);
    memset(came, 0, sizeof came);
    peer_send(1, word(1, kWorldBack, 4), sent, kLong);
    settle();
    expect_end(irecv(came, kLong, MPI_BYTE, 1, 4), 1, 4, kLong, MPI_SUCCESS);
    EXPECT_BYTES(came, sent, kLong);
    close_job();
}

/* --- too short for the message --- */

TEST(Receive, truncated_one__is_full_and_says_how_much_was_sent) {
    char buffer[8] = "";
    open_job(0, 2);
    MPIR_Request* request = irecv(buffer, 4, MPI_BYTE, 1, 5);
    peer_send(1, word(1, kWorldBack, 5), "123456789", 9);
    expect_end(request, 1, 5, 4, MPI_ERR_TRUNCATE);
    EXPECT_TEXT(upper.error, "**truncate 1 5 4 9");
    EXPECT_TEXT(buffer, "1234");

    memset(buffer, 0, sizeof buffer);
    arrive(1, word(1, kWorldBack, 6), "123456789", 9);
    expect_end(irecv(buffer, 4, MPI_BYTE, MPI_ANY_SOURCE, MPI_ANY_TAG), 1, 6, 4, MPI_ERR_TRUNCATE);
    EXPECT_TEXT(buffer, "1234");

    arrive(1, word(1, kWorldBack, 7), "1", 1);
    expect_end(irecv(NULL, 0, MPI_BYTE, 1, 7), 1, 7, 0, MPI_ERR_TRUNCATE);
    close_job();
}

/* --- derived datatypes --- */

TEST(Receive, derived_data__are_unpacked_where_they_belong) {
    char buffer[21] = "....................";
    open_job(0, 2);
    const MPI_Datatype type = new_type((struct shape){4, 2, 5, 1, 1});
    MPIR_Request* request = irecv(buffer, 1, type, 1, 2);
    EXPECT_EQ(tap_count(TAP_POST), 0);
    EXPECT_EQ(MPIR_Object_get_ref(type_of(type)), 2);
    peer_send(1, word(1, kWorldBack, 2), "abcdefgh", 8);
    expect_end(request, 1, 2, 8, MPI_SUCCESS);
    EXPECT_TEXT(buffer, ".ab...cd...ef...gh..");
    EXPECT_EQ(MPIR_Object_get_ref(type_of(type)), 1);

    request = irecv(buffer, 1, type, 1, 2);
    peer_send(1, word(1, kWorldBack, 2), "xyz", 3);
    expect_end(request, 1, 2, 3, MPI_SUCCESS);
    EXPECT_TEXT(buffer, ".xy...zd...ef...gh..");

    arrive(1, word(1, kWorldBack, 2), NULL, 0);
    expect_end(irecv(buffer, 1, type, 1, 2), 1, 2, 0, MPI_SUCCESS);
    EXPECT_TEXT(buffer, ".xy...zd...ef...gh..");
    free_type(type);
    EXPECT_EQ(upper.types_live, 0);
    close_job();
}

TEST(Receive, derived_data__are_truncated_like_others) {
    char buffer[11] = "..........";
    open_job(0, 2);
    const MPI_Datatype type = new_type((struct shape){2, 2, 5, 0, 1});
    MPIR_Request* const request = irecv(buffer, 1, type, 1, 2);
    peer_send(1, word(1, kWorldBack, 2), "abcdefgh", 8);
    expect_end(request, 1, 2, 4, MPI_ERR_TRUNCATE);
    EXPECT_TEXT(buffer, "ab...cd...");
    free_type(type);
    close_job();
}

TEST(Receive, part_of_an_item__is_an_error_of_the_datatype) {
    char buffer[21] = "....................";
    open_job(0, 2);
    const MPI_Datatype type = new_type((struct shape){2, 4, 10, 0, 4});
    MPIR_Request* request = irecv(buffer, 1, type, 1, 2);
    peer_send(1, word(1, kWorldBack, 2), "abcdef", 6);
    expect_end(request, 1, 2, 4, MPI_ERR_TYPE);
    EXPECT_TEXT(upper.error, "**dtypemismatch");
    EXPECT_TEXT(buffer, "abcd................");
    request = irecv(buffer, 1, type, 1, 2);
    peer_send(1, word(1, kWorldBack, 2), "stuvwxyz", 8);
    expect_end(request, 1, 2, 8, MPI_SUCCESS);
    free_type(type);
    close_job();
}

TEST(Receive, data_that_begin_behind_the_buffers_address__land_there) {
    char buffer[11] = "..........";
    open_job(0, 2);
    const MPI_Datatype type = new_type((struct shape){1, 3, 3, 4, 1});
    MPIR_Request* const request = irecv(buffer, 1, type, 1, 2);
    EXPECT_EQ(tap_count(TAP_POST), 1);
    peer_send(1, word(1, kWorldBack, 2), "abc", 3);
    expect_end(request, 1, 2, 3, MPI_SUCCESS);
    EXPECT_TEXT(buffer, "....abc...");
    arrive(1, word(1, kWorldBack, 3), "xyz", 3);
    expect_end(irecv(buffer, 1, type, 1, 3), 1, 3, 3, MPI_SUCCESS);
    EXPECT_TEXT(buffer, "....xyz...");
    free_type(type);
    close_job();
}

/* --- requests --- */

TEST(Receive, request_of_the_caller__is_the_one_that_completes) {
    char buffer[4] = "";
    open_job(0, 2);
    MPIR_Request* const mine = MPIR_Request_create_from_pool(MPIR_REQUEST_KIND__RECV, 0, 1);
    MPIR_Request* request = mine;
    EXPECT_EQ(MPIDI_NM_mpi_irecv(buffer, 4, MPI_BYTE, 1, 1, job.world, 0, av(job.world, 1),
                                 &request, NULL),
              MPI_SUCCESS);
    EXPECT_TRUE(request == mine);
    EXPECT_EQ(MPIR_Object_get_ref(mine), 2);
    peer_send(1, word(1, kWorldBack, 1), "m", 1);
    expect_end(mine, 1, 1, 1, MPI_SUCCESS);
    close_job();
}

TEST(Receive, request__that_was_let_go_of_is_kept_until_the_message_has_come) {
    char buffer[4] = "";
    open_job(0, 2);
    let_go(irecv(buffer, 4, MPI_BYTE, 1, 1));
    EXPECT_EQ(requests_live(), 1);
    peer_send(1, word(1, kWorldBack, 1), "f", 1);
    TURN_UNTIL(requests_live() == 0);
    EXPECT_TEXT(buffer, "f");
    close_job();
}

TEST(Receive, cancelled_one__says_so_and_takes_nothing) {
    char buffer[4] = "";
    open_job(0, 2);
    MPIR_Request* const request = irecv(buffer, 4, MPI_BYTE, 1, 1);
    EXPECT_EQ(MPIDI_NM_mpi_cancel_recv(request), MPI_SUCCESS);
    TURN_UNTIL(is_done(request));
    EXPECT_TRUE(MPIR_STATUS_GET_CANCEL_BIT(request->status));
    EXPECT_EQ(MPIR_STATUS_GET_COUNT(request->status), 0);
    EXPECT_EQ(request->status.MPI_ERROR, MPI_SUCCESS);
    EXPECT_EQ(tap_count(TAP_CANCEL), 1);
    EXPECT_EQ(MPIDI_NM_mpi_cancel_recv(request), MPI_SUCCESS);
    EXPECT_EQ(tap_count(TAP_CANCEL), 0);
    let_go(request);
    arrive(1, word(1, kWorldBack, 1), "s", 1);
    expect_end(irecv(buffer, 4, MPI_BYTE, 1, 1), 1, 1, 1, MPI_SUCCESS);

    const MPI_Datatype type = new_type((struct shape){2, 1, 2, 0, 1});
    MPIR_Request* const derived = irecv(buffer, 1, type, 1, 1);
    EXPECT_EQ(MPIDI_NM_mpi_cancel_recv(derived), MPI_SUCCESS);
    TURN_UNTIL(is_done(derived));
    let_go(derived);
    free_type(type);
    EXPECT_EQ(upper.types_live, 0);
    close_job();
}
