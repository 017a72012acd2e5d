/* SPDX-License-Identifier: BSD-3-Clause */
/* Messages of processes that have no communicator yet, and cards for those that come. */
#include "test/unit/ch4/job.h"

TEST(Spawn, cards_of_a_communicator__are_those_of_its_ranks) {
    int* sizes = NULL;
    char* cards = NULL;
    open_job(1, 3);
    EXPECT_EQ(MPIDI_FCI_get_local_upids(job.world, &sizes, &cards), MPI_SUCCESS);
    for (int rank = 0; rank < 3; rank++) {
        EXPECT_EQ(sizes[rank], FCI_ICL_CARD_BYTES);
        EXPECT_BYTES(cards + rank * FCI_ICL_CARD_BYTES, upper.cards[rank], FCI_ICL_CARD_BYTES);
    }
    free(sizes);
    free(cards);
    close_job();
}

TEST(Spawn, cards__that_cannot_be_had_are_none) {
    int* sizes = NULL;
    char* cards = NULL;
    open_job(0, 2);
    for (int good = 0; good < 2; good++) {
        upper.mallocs_good = good;
        EXPECT_EQ(MPIDI_FCI_get_local_upids(job.world, &sizes, &cards), MPI_ERR_OTHER);
        upper.mallocs_good = -1;
        EXPECT_TEXT(upper.error, "**nomem");
        EXPECT_TRUE(sizes == NULL && cards == NULL);
    }
    tap_force(TAP_PEER_CARD, FCI_ICL_ENOENT);
    EXPECT_EQ(MPIDI_FCI_get_local_upids(job.world, &sizes, &cards), MPI_ERR_OTHER);
    EXPECT_TRUE(sizes == NULL && cards == NULL);
    close_job();
}

/* --- before there is a communicator --- */

static struct heard heard;
static char came[16];
static int turns;

static void heard_one(void* user, void* owner, const struct fci_icl_status* status) {
    heard.done++;
    heard.status = *status;
}

/* Rank 1 does one of these while the netmod waits. */
static void peer_receives(void) {
    const struct fci_icl_completion completion = {heard_one, NULL, NULL};
    fci_icl_order order;
    if (++turns == 5)
        heard.done +=
            fci_icl_receive_bytes(job.peers[1].context, job.peers[1].netmod, 1, 7, 0, came,
                                  sizeof came, &completion, &order, &heard.status) == FCI_ICL_DONE;
    (void)fci_icl_progress(job.peers[1].context);
}

static void peer_sends(void) {
    fci_icl_order order;
    if (++turns == 5)
        (void)fci_icl_send_bytes(job.peers[1].context, job.peers[1].netmod, 1, 0, 7, 0, "hello", 5,
                                 NULL, &order);
    (void)fci_icl_progress(job.peers[1].context);
}

static void nobody(void) {
    turns++;
    upper.now += 0.25;
    (void)fci_icl_progress(job.peers[1].context);
}

static void peer_ends(void) {
    if (++turns == 5) end_peer(1);
}

/* The peer goes on, whatever the netmod waits for. */
static void peer_goes_on(void) {
    if (job.peers[1].context != NULL) (void)fci_icl_progress(job.peers[1].context);
}

static void open_dynamic(void (*other)(void)) {
    open_job(0, 2);
    memset(&heard, 0, sizeof heard);
    memset(came, 0, sizeof came);
    turns = 0;
    upper.in_progress = other;
    tap.between = peer_goes_on;
}

TEST(Dynamic, send__ends_when_its_message_was_taken) {
    open_dynamic(peer_receives);
    EXPECT_EQ(MPIDI_FCI_dynamic_send(1, 7, "hello", 5, 0), MPI_SUCCESS);
    EXPECT_TRUE(turns >= 5);
    TURN_UNTIL(heard.done);
    EXPECT_EQ(heard.status.length, 5);
    EXPECT_TEXT(came, "hello");
    close_job();
}

TEST(Dynamic, receive__hears_anybody) {
    char buffer[8] = "";
    open_dynamic(peer_sends);
    EXPECT_EQ(MPIDI_FCI_dynamic_recv(7, buffer, 5, 0), MPI_SUCCESS);
    EXPECT_TEXT(buffer, "hello");
    turns = 0;
    upper.in_progress = NULL;
    for (int turn = 0; turn < 5; turn++) peer_sends();
    settle();
    EXPECT_EQ(MPIDI_FCI_dynamic_recv(7, buffer, 5, 1), MPI_SUCCESS);
    close_job();
}

TEST(Dynamic, send__is_taken_back_after_its_time) {
    open_dynamic(nobody);
    EXPECT_EQ(MPIDI_FCI_dynamic_send(1, 7, "hello", 5, 1), MPI_ERR_PORT);
    EXPECT_EQ(turns, 4);
    EXPECT_EQ(tap_count(TAP_CANCEL), 1);
    struct fci_icl_status status;
    settle();
    EXPECT_EQ(fci_icl_probe(job.peers[1].context, FCI_ICL_ANY_SOURCE, 1, 7, 0, &status, NULL),
              FCI_ICL_ENOMSG);
    close_job();
}

TEST(Dynamic, receive__is_taken_back_after_its_time) {
    char buffer[8] = "";
    open_dynamic(nobody);
    EXPECT_EQ(MPIDI_FCI_dynamic_recv(7, buffer, 5, 2), MPI_ERR_PORT);
    EXPECT_EQ(turns, 8);
    EXPECT_EQ(tap_count(TAP_CANCEL), 1);
    close_job();
}

TEST(Dynamic, peer_that_goes__is_an_error_of_the_process) {
    open_dynamic(peer_ends);
    EXPECT_EQ(MPIDI_FCI_dynamic_send(1, 7, "hello", 5, 0), MPIX_ERR_PROC_FAILED);
    EXPECT_TRUE(strncmp(upper.error, "**fci_nm_peer rank 1 of MPI_COMM_WORLD: ", 40) == 0);
    EXPECT_EQ(tap_count(TAP_CANCEL), 0);
    close_job();
}

TEST(Dynamic, refused_call__is_told_without_waiting) {
    char buffer[8] = "";
    open_dynamic(nobody);
    tap_force(TAP_SEND_BYTES, FCI_ICL_EPEER);
    EXPECT_EQ(MPIDI_FCI_dynamic_send(1, 7, "hello", 5, 0), MPIX_ERR_PROC_FAILED);
    EXPECT_TRUE(strncmp(upper.error, "**fci_nm_peer rank 1 of MPI_COMM_WORLD: ", 40) == 0);
    tap_force(TAP_RECEIVE, FCI_ICL_ENOMEM);
    EXPECT_EQ(MPIDI_FCI_dynamic_recv(7, buffer, 5, 0), MPI_ERR_OTHER);
    EXPECT_EQ(turns, 0);
    close_job();
}

static void progress_fails(void) {
    if (++turns >= 3) upper.progress_error = MPI_ERR_INTERN;
}

TEST(Dynamic, error_of_progress__is_told_and_the_message_taken_back) {
    char buffer[8] = "";
    fci_icl_order order;
    open_dynamic(progress_fails);
    EXPECT_EQ(MPIDI_FCI_dynamic_recv(7, buffer, 5, 0), MPI_ERR_INTERN);
    EXPECT_EQ(tap_count(TAP_CANCEL), 1);
    (void)fci_icl_send_bytes(job.peers[1].context, job.peers[1].netmod, 1, 0, 7, 0, "hello", 5,
                             NULL, &order);
    upper.in_progress = NULL;
    settle();
    EXPECT_TEXT(buffer, "");
    turns = 0;
    upper.in_progress = progress_fails;
    EXPECT_EQ(MPIDI_FCI_dynamic_send(1, 8, "hello", 5, 0), MPI_ERR_INTERN);
    EXPECT_EQ(tap_count(TAP_CANCEL), 1);
    close_job();
}

TEST(Dynamic, truncated_message__is_an_error) {
    char buffer[8] = "";
    open_dynamic(peer_sends);
    EXPECT_EQ(MPIDI_FCI_dynamic_recv(7, buffer, 3, 0), MPI_ERR_OTHER);
    close_job();
}
