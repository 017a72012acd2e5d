/* SPDX-License-Identifier: BSD-3-Clause */
/* Messages that are looked at before they are received, or claimed. */
#include "test/unit/ch4/job.h"

static int iprobe(int rank, int tag, MPI_Status* status) {
    int flag = -1;
    MPIDI_av_entry_t* const from = rank == MPI_ANY_SOURCE ? NULL : av(job.world, rank);
    EXPECT_EQ(MPIDI_NM_mpi_iprobe(rank, tag, job.world, 0, from, &flag, status), MPI_SUCCESS);
    return flag;
}

static MPIR_Request* improbe(int rank, int tag, MPI_Status* status) {
    int flag = -1;
    MPIR_Request* message = NULL;
    MPIDI_av_entry_t* const from = rank == MPI_ANY_SOURCE ? NULL : av(job.world, rank);
    EXPECT_EQ(MPIDI_NM_mpi_improbe(rank, tag, job.world, 0, from, &flag, &message, status),
              MPI_SUCCESS);
    EXPECT_EQ(flag, message != NULL);
    return message;
}

TEST(Probe, none__is_none) {
    open_job(0, 3);
    MPI_Status status = {0};
    EXPECT_EQ(iprobe(1, 4, &status), 0);
    EXPECT_TRUE(improbe(1, 4, &status) == NULL);
    peer_send(2, word(2, kWorldBack, 4), "two", 3);
    peer_send(1, word(1, kWorldBack, 5), "five", 4);
    peer_send(1, word(1, kWorldBack + 1, 4), "coll", 4);
    peer_send(1, word(1, kWorld, 4), "other", 5);
    TURN_UNTIL(iprobe(2, 4, &status) && iprobe(1, 5, &status));
    settle();
    EXPECT_EQ(iprobe(1, 4, &status), 0);
    EXPECT_TRUE(improbe(1, 4, &status) == NULL);
    close_job();
}

TEST(Probe, message__is_told_and_stays) {
    open_job(0, 3);
    MPI_Status status = {0};
    peer_send(2, word(2, kWorldBack, 4), "hello", 5);
    TURN_UNTIL(iprobe(2, 4, MPI_STATUS_IGNORE));
    EXPECT_EQ(iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, &status), 1);
    EXPECT_EQ(status.MPI_SOURCE, 2);
    EXPECT_EQ(status.MPI_TAG, 4);
    EXPECT_EQ(MPIR_STATUS_GET_COUNT(status), 5);
    EXPECT_EQ(iprobe(2, 4, &status), 1);
    close_job();
}

TEST(Probe, context_offset__is_looked_at) {
    int flag = 0;
    open_job(0, 2);
    peer_send(1, word(1, kWorldBack + 1, 4), "c", 1);
    settle();
    EXPECT_EQ(iprobe(1, 4, MPI_STATUS_IGNORE), 0);
    TURN_UNTIL(MPIDI_NM_mpi_iprobe(1, 4, job.world, 1, av(job.world, 1), &flag,
                                   MPI_STATUS_IGNORE) == MPI_SUCCESS &&
               flag);
    close_job();
}

/* The claimed message is received so. */
static void expect_mrecv(MPIR_Request* message, void* buffer, MPI_Aint count, MPI_Datatype type,
                         MPI_Aint came, int error) {
    message->kind = MPIR_REQUEST_KIND__RECV;
    EXPECT_EQ(MPIDI_NM_mpi_imrecv(buffer, count, type, message), MPI_SUCCESS);
    TURN_UNTIL(is_done(message));
    EXPECT_EQ(MPIR_STATUS_GET_COUNT(message->status), came);
    EXPECT_EQ(message->status.MPI_ERROR, error);
    EXPECT_EQ(MPIR_Object_get_ref(message), 1);
    let_go(message);
}

TEST(Claim, message__is_nobody_elses_then) {
    char buffer[8] = "";
    MPI_Status status = {0};
    MPIR_Request* message = NULL;
    open_job(0, 2);
    peer_send(1, word(1, kWorldBack, 4), "first", 5);
    peer_send(1, word(1, kWorldBack, 4), "next", 4);
    TURN_UNTIL((message = improbe(MPI_ANY_SOURCE, 4, &status)) != NULL);
    EXPECT_EQ(message->kind, MPIR_REQUEST_KIND__MPROBE);
    EXPECT_EQ(status.MPI_SOURCE, 1);
    EXPECT_EQ(status.MPI_TAG, 4);
    EXPECT_EQ(MPIR_STATUS_GET_COUNT(status), 5);
    TURN_UNTIL(iprobe(1, 4, &status));
    EXPECT_EQ(MPIR_STATUS_GET_COUNT(status), 4);
    EXPECT_TRUE(!is_done(message));
    message->status.MPI_SOURCE = -77;
    expect_mrecv(message, buffer, 8, MPI_BYTE, 5, MPI_SUCCESS);
    EXPECT_TEXT(buffer, "first");
    EXPECT_EQ(requests_live(), 0);
    close_job();
}

TEST(Claim, status__is_the_messages) {
    char buffer[8] = "";
    MPIR_Request* message = NULL;
    open_job(0, 2);
    peer_send(1, word(1, kWorldBack, 9), "abc", 3);
    TURN_UNTIL((message = improbe(1, 9, MPI_STATUS_IGNORE)) != NULL);
    EXPECT_EQ(MPIDI_NM_mpi_imrecv(buffer, 8, MPI_BYTE, message), MPI_SUCCESS);
    TURN_UNTIL(is_done(message));
    EXPECT_EQ(message->status.MPI_SOURCE, 1);
    EXPECT_EQ(message->status.MPI_TAG, 9);
    let_go(message);
    close_job();
}

TEST(Claim, truncated__is_full) {
    char buffer[8] = "";
    MPIR_Request* message = NULL;
    open_job(0, 2);
    peer_send(1, word(1, kWorldBack, 4), "123456789", 9);
    TURN_UNTIL((message = improbe(1, 4, MPI_STATUS_IGNORE)) != NULL);
    expect_mrecv(message, buffer, 4, MPI_BYTE, 4, MPI_ERR_TRUNCATE);
    EXPECT_TEXT(upper.error, "**truncate 1 4 4 9");
    EXPECT_TEXT(buffer, "1234");
    close_job();
}

TEST(Claim, derived_data__are_unpacked) {
    char buffer[11] = "..........";
    MPIR_Request* message = NULL;
    open_job(0, 2);
    const MPI_Datatype type = new_type((struct shape){2, 2, 5, 1, 1});
    peer_send(1, word(1, kWorldBack, 4), "abcd", 4);
    TURN_UNTIL((message = improbe(1, 4, MPI_STATUS_IGNORE)) != NULL);
    expect_mrecv(message, buffer, 1, type, 4, MPI_SUCCESS);
    EXPECT_TEXT(buffer, ".ab...cd..");
    free_type(type);
    EXPECT_EQ(upper.types_live, 0);
    close_job();
}

TEST(Claim, long_message__comes_when_its_data_do) {
    enum { kLong = 1 << 20 };
    static char sent[kLong], came[kLong];
    struct heard heard;
    MPIR_Request* message = NULL;
    open_job(0, 2);
    for (int i = 0; i < kLong; i++) sent[i] = (char)(i * 13 >> 2);
    peer_send_sync(1, word(1, kWorldBack, 4), sent, kLong, &heard);
    TURN_UNTIL((message = improbe(1, 4, MPI_STATUS_IGNORE)) != NULL);
    expect_mrecv(message, came, kLong, MPI_BYTE, kLong, MPI_SUCCESS);
    EXPECT_BYTES(came, sent, kLong);
    TURN_UNTIL(heard.done);
    close_job();
}

TEST(Claim, refused_one__completes_with_its_error) {
    char buffer[8] = "";
    MPIR_Request* message = NULL;
    open_job(0, 2);
    peer_send(1, word(1, kWorldBack, 4), "abcd", 4);
    TURN_UNTIL((message = improbe(1, 4, MPI_STATUS_IGNORE)) != NULL);
    fci_icl_message* const claimed = MPIDI_FCI_REQ(message).message;
    tap_force(TAP_RECEIVE_CLAIMED, FCI_ICL_EPEER);
    tap.status = (struct fci_icl_status){.source = job.peers[1].number};
    expect_mrecv(message, buffer, 4, MPI_BYTE, 0, MPIX_ERR_PROC_FAILED);
    (void)fci_icl_discard_claimed(MPIDI_FCI_global.context, claimed); /* the core has it still */
    close_job();
}

TEST(Claim, without_memory__throws_the_message_away) {
    int flag = 1;
    struct heard heard;
    MPIR_Request* message = NULL;
    open_job(0, 2);
    peer_send_sync(1, word(1, kWorldBack, 4), "abcd", 4, &heard);
    TURN_UNTIL(iprobe(1, 4, MPI_STATUS_IGNORE));
    while (MPIR_Request_mem[0].num_avail > 0)
        (void)MPIR_Request_create_from_pool(MPIR_REQUEST_KIND__RECV, 0, 1);
    (void)MPIR_Request_create_from_pool(MPIR_REQUEST_KIND__RECV, 0, 1);
    while (MPIR_Request_mem[0].num_avail > 0)
        (void)MPIR_Request_create_from_pool(MPIR_REQUEST_KIND__RECV, 0, 1);
    upper.mallocs_good = 0;
    EXPECT_EQ(MPIDI_NM_mpi_improbe(1, 4, job.world, 0, av(job.world, 1), &flag, &message,
                                   MPI_STATUS_IGNORE),
              MPIX_ERR_NOREQ);
    upper.mallocs_good = -1;
    EXPECT_EQ(tap_count(TAP_DISCARD_CLAIMED), 1);
    TURN_UNTIL(heard.done);
    EXPECT_EQ(iprobe(1, 4, MPI_STATUS_IGNORE), 0);
    close_job();
}

TEST(Claim, landing_without_memory__is_an_error_and_the_message_can_still_be_received) {
    char buffer[8] = "";
    MPIR_Request* message = NULL;
    open_job(0, 2);
    const MPI_Datatype type = new_type((struct shape){2, 1, 2, 0, 1});
    peer_send(1, word(1, kWorldBack, 4), "ab", 2);
    TURN_UNTIL((message = improbe(1, 4, MPI_STATUS_IGNORE)) != NULL);
    upper.mallocs_good = 0;
    EXPECT_EQ(MPIDI_NM_mpi_imrecv(buffer, 1, type, message), MPI_ERR_OTHER);
    upper.mallocs_good = -1;
    EXPECT_EQ(tap_count(TAP_RECEIVE_CLAIMED), 0);
    expect_mrecv(message, buffer, 1, type, 2, MPI_SUCCESS);
    free_type(type);
    close_job();
}

TEST(Claim, of_very_many_ranks__keeps_the_communicator) {
    char buffer[4] = "";
    MPIR_Request* message = NULL;
    MPI_Status status = {0};
    int table;
    open_job(0, 2);
    (void)MPIDIU_new_avt(8193, &table);
    job.world->remote_size = 8193;
    MPIDI_COMM(job.world, map).mode = MPIDI_RANK_MAP_DIRECT;
    MPIDI_COMM(job.world, map).avtid = table;
    MPIDI_FCI_AV(av(job.world, 0)).peer = 999;
    MPIDI_FCI_AV(av(job.world, 8192)).peer = job.peers[1].number;
    peer_send(1, word(8192, kWorldBack, 4), "abc", 3);
    TURN_UNTIL((message = improbe(MPI_ANY_SOURCE, 4, &status)) != NULL);
    EXPECT_EQ(status.MPI_SOURCE, 8192);
    EXPECT_EQ(MPIR_Object_get_ref(job.world), 2);
    EXPECT_EQ(MPIDI_NM_mpi_imrecv(buffer, 4, MPI_BYTE, message), MPI_SUCCESS);
    TURN_UNTIL(is_done(message));
    EXPECT_EQ(message->status.MPI_SOURCE, 8192);
    EXPECT_EQ(MPIR_Object_get_ref(job.world), 1);
    let_go(message);
    close_job();
}
