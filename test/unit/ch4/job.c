/* SPDX-License-Identifier: BSD-3-Clause */
#include "test/unit/ch4/job.h"

#include <time.h>

struct job job;

#define JOB UINT64_C(0x4d50494348464349)

fci_icl_context* open_core(int size) {
    struct fci_icl_config config = {.version = FCI_ICL_VERSION,
                                    .driver = "shm",
                                    .job = JOB,
                                    .job_ranks = (uint32_t)size,
                                    .local_ranks = (uint32_t)size};
    fci_icl_context* context = NULL;
    char* why = NULL;
    const int answer = fci_icl_open(&config, &context, &why);
    EXPECT_EQ(answer, FCI_ICL_OK);
    if (why != NULL) fprintf(stderr, "%s\n", why);
    free(why);
    return context;
}

static void discard_done(void* user, void* owner, const struct fci_icl_status* status) {
    ++*(int*)user;
}

/* A word each way, in the space that no communicator has. */
static void meet(int rank) {
    struct peer* const peer = &job.peers[rank];
    const uint64_t hello = 0x6d656574;
    int sent = 0, received = 0;
    char there = 0, here = 0;
    const struct fci_icl_completion has_sent = {discard_done, &sent, NULL};
    const struct fci_icl_completion has_received = {discard_done, &received, NULL};
    struct fci_icl_status status;
    fci_icl_order order;
    received += fci_icl_receive_bytes(MPIDI_FCI_global.context, peer->number, 1, hello, 0, &here, 1,
                                      &has_received, &order, &status) == FCI_ICL_DONE;
    received += fci_icl_receive_bytes(peer->context, peer->netmod, 1, hello, 0, &there, 1,
                                      &has_received, &order, &status) == FCI_ICL_DONE;
    sent += fci_icl_send_bytes(MPIDI_FCI_global.context, peer->number, 1, 0, hello, 0, "h", 1,
                               &has_sent, &order) == FCI_ICL_DONE;
    sent += fci_icl_send_bytes(peer->context, peer->netmod, 1, 0, hello, 0, "h", 1, &has_sent,
                               &order) == FCI_ICL_DONE;
    TURN_UNTIL(sent == 2 && received == 2);
}

void open_job(int rank, int size) {
    unsigned char own[FCI_ICL_CARD_BYTES];
    int tag_bits = 0;

    reset_upper(rank, size);
    memset(&tap, 0, sizeof tap);
    memset(&job, 0, sizeof job);
    job.rank = rank;
    job.size = size;
    MPIR_CVAR_CH4_FCI_DRIVER = "shm";
    MPIR_CVAR_CH4_FCI_PROTOCOL = NULL;
    for (int other = 0; other < size; other++) {
        if (other == rank) continue;
        job.peers[other].context = open_core(size);
        fci_icl_card(job.peers[other].context, upper.cards[other]);
    }
    EXPECT_EQ(MPIDI_FCI_init_local(&tag_bits), MPI_SUCCESS);
    EXPECT_EQ(tag_bits, kTagBits);
    EXPECT_EQ(MPIDI_FCI_init_world(), MPI_SUCCESS);
    fci_icl_card(MPIDI_FCI_global.context, own);
    job.world = new_comm(kWorld, kWorldBack, rank, size);
    MPIR_Process.comm_world = job.world;
    EXPECT_EQ(MPIDI_FCI_mpi_comm_commit_pre_hook(job.world), MPI_SUCCESS);
    EXPECT_EQ(MPIDI_FCI_mpi_comm_commit_post_hook(job.world), MPI_SUCCESS);
    for (int other = 0; other < size; other++) {
        if (other == rank) continue;
        struct peer* const peer = &job.peers[other];
        EXPECT_EQ(fci_icl_add_peer(peer->context, own, &peer->netmod), FCI_ICL_OK);
        peer->number = MPIDI_FCI_AV(av(job.world, other)).peer;
        meet(other);
    }
    memset(&tap.calls, 0, sizeof tap.calls);
    (void)notes();
}

void close_job(void) {
    tap.between = NULL;
    upper.in_progress = NULL;
    for (int rank = 0; rank < job.size; rank++) end_peer(rank);
    (void)MPIDI_FCI_mpi_finalize_hook();
    free_comm(job.world);
    MPIR_Process.comm_world = NULL;
}

void end_peer(int rank) {
    if (job.peers[rank].context != NULL) (void)fci_icl_close(job.peers[rank].context, 0);
    job.peers[rank].context = NULL;
}

uint64_t word(int rank, int context, int tag) {
    return (uint64_t)(unsigned)rank << 51 | (uint64_t)(unsigned)context << 31 | (unsigned)tag;
}

/* --- what peers do --- */

void peer_send(int rank, uint64_t match, const void* data, size_t bytes) {
    fci_icl_order order;
    const int answer = fci_icl_send_bytes(job.peers[rank].context, job.peers[rank].netmod, 0, 0,
                                          match, 0, data, bytes, NULL, &order);
    EXPECT_TRUE(answer >= 0);
}

static void peer_done(void* user, void* owner, const struct fci_icl_status* status) {
    struct heard* const heard = user;
    heard->status = *status;
    heard->done++;
}

void peer_send_sync(int rank, uint64_t match, const void* data, size_t bytes, struct heard* heard) {
    const struct fci_icl_completion completion = {peer_done, heard, NULL};
    fci_icl_order order;
    memset(heard, 0, sizeof *heard);
    const int answer =
        fci_icl_send_bytes(job.peers[rank].context, job.peers[rank].netmod, 0, FCI_ICL_SYNCHRONOUS,
                           match, 0, data, bytes, &completion, &order);
    EXPECT_TRUE(answer >= 0);
    heard->done = answer == FCI_ICL_DONE;
}

void peer_receive(int rank, uint64_t match, void* data, size_t bytes, struct heard* heard) {
    const struct fci_icl_completion completion = {peer_done, heard, NULL};
    fci_icl_order order;
    memset(heard, 0, sizeof *heard);
    const int answer = fci_icl_receive_bytes(job.peers[rank].context, FCI_ICL_ANY_SOURCE, 0, match,
                                             0, data, bytes, &completion, &order, &heard->status);
    EXPECT_TRUE(answer >= 0);
    heard->done = answer == FCI_ICL_DONE;
}

bool peer_has(int rank, uint64_t match) {
    struct fci_icl_status status;
    return fci_icl_probe(job.peers[rank].context, FCI_ICL_ANY_SOURCE, 0, match, 0, &status, NULL) ==
           FCI_ICL_OK;
}

/* --- turns --- */

static long long own_time_ns(void) {
    struct timespec time = {0};
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return time.tv_sec * 1000000000LL + time.tv_nsec;
}

/* As test/unit/limit.h has it: 30 seconds of this process's own time. */
long long turns_end(void) {
    return own_time_ns() + 30000000000LL;
}

bool turns_go_on(long long end) {
    return own_time_ns() < end;
}

void turn_all(void) {
    for (int rank = 0; rank < job.size; rank++)
        if (job.peers[rank].context != NULL) (void)fci_icl_progress(job.peers[rank].context);
    (void)MPIDI_NM_progress(0, 0);
}

bool peer_gets(int rank, uint64_t match, const void* data, size_t bytes) {
    struct heard heard;
    char* const came = calloc(1, bytes + 1);
    peer_receive(rank, match, came, bytes + 1, &heard);
    for (const long long end = turns_end(); !heard.done && turns_go_on(end);) turn_all();
    const bool same = heard.done && heard.status.error == FCI_ICL_OK &&
                      heard.status.length == bytes && memcmp(came, data, bytes) == 0;
    free(came);
    return same;
}

void settle(void) {
    for (int turn = 0; turn < 50; turn++) turn_all();
}

MPIDI_av_entry_t* av(MPIR_Comm* comm, int rank) {
    return MPIDIU_comm_rank_to_av(comm, rank);
}

bool is_done(const MPIR_Request* request) {
    return MPIR_cc_get(*request->cc_ptr) == 0;
}

MPIR_Request* irecv(void* buffer, MPI_Aint count, MPI_Datatype type, int rank, int tag) {
    MPIR_Request* request = NULL;
    MPIDI_av_entry_t* const from = rank == MPI_ANY_SOURCE ? NULL : av(job.world, rank);
    EXPECT_EQ(
        MPIDI_NM_mpi_irecv(buffer, count, type, rank, tag, job.world, 0, from, &request, NULL),
        MPI_SUCCESS);
    return request;
}

void expect_end(MPIR_Request* request, int source, int tag, MPI_Aint count, int error) {
    TURN_UNTIL(is_done(request));
    EXPECT_EQ(request->status.MPI_SOURCE, source);
    EXPECT_EQ(request->status.MPI_TAG, tag);
    EXPECT_EQ(MPIR_STATUS_GET_COUNT(request->status), count);
    EXPECT_EQ(request->status.MPI_ERROR, error);
    EXPECT_TRUE(!MPIR_STATUS_GET_CANCEL_BIT(request->status));
    EXPECT_EQ(MPIR_Object_get_ref(request), 1);
    let_go(request);
}
