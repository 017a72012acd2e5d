/* SPDX-License-Identifier: BSD-3-Clause */
/* Processes that were not there at the start: spawn, connect and accept. A process is its card; one
 * that is known already gets the number it has, by whatever way its card comes. */
#include "mpidimpl.h"
#include "fci_impl.h"
#include "fci_match.h"

int MPIDI_FCI_get_local_upids(MPIR_Comm * comm, int **local_upid_size, char **local_upids)
{
    int mpi_errno = MPI_SUCCESS;
    const int size = comm->local_size;

    FCI_DYNAMIC_ENTER();
    *local_upid_size = MPL_malloc(size * sizeof(int), MPL_MEM_ADDRESS);
    *local_upids = MPL_malloc((size_t) size * FCI_ICL_CARD_BYTES, MPL_MEM_BUFFER);
    MPIR_ERR_CHKANDJUMP(!*local_upid_size || !*local_upids, mpi_errno, MPI_ERR_OTHER, "**nomem");
    for (int rank = 0; rank < size; rank++) {
        unsigned char *const card =
            (unsigned char *) *local_upids + (size_t) rank * FCI_ICL_CARD_BYTES;
        const uint32_t peer = MPIDI_FCI_COMM_TO_PEER(comm, rank);
        (*local_upid_size)[rank] = FCI_ICL_CARD_BYTES;
        if (fci_icl_peer_card(MPIDI_FCI_global.context, peer, card) < 0)
            MPIR_ERR_SETANDJUMP(mpi_errno, MPI_ERR_OTHER, "**fci_nm_failed");
    }

  fn_exit:
    FCI_DYNAMIC_EXIT();
    return mpi_errno;
  fn_fail:
    MPL_free(*local_upid_size);
    MPL_free(*local_upids);
    *local_upid_size = NULL;
    *local_upids = NULL;
    goto fn_exit;
}

/* --- before there is a communicator --- */

/* A message under way. */
struct dynamic {
    int done, error;
    uint32_t peer;
    fci_icl_order order;
};

static void dynamic_done(void *user, void *owner, const struct fci_icl_status *status)
{
    struct dynamic *const wait = user;
    wait->error = status->error;
    wait->peer = status->source;
    wait->done = 1;
}

static int start_send(struct dynamic *wait, uint32_t peer, uint32_t flags, uint64_t match,
                      const void *buf, int size)
{
    const struct fci_icl_completion completion = { dynamic_done, wait, NULL };
    const int answer = fci_icl_send_bytes(MPIDI_FCI_global.context, peer, MPIDI_FCI_SPACE_DYNAMIC,
                                          flags, match, 0, buf, size, &completion, &wait->order);
    wait->done = answer != FCI_ICL_OK;
    return answer < 0 ? MPIDI_FCI_error(answer, peer) : MPI_SUCCESS;
}

static int start_receive(struct dynamic *wait, uint32_t source, uint64_t match, void *buf,
                         int size)
{
    struct fci_icl_status status;
    const struct iovec where = { buf, size };
    const struct fci_icl_receive receive = {
        .source = source,
        .space = MPIDI_FCI_SPACE_DYNAMIC,
        .match = match,
        .iov = &where,
        .iov_count = 1,
        .completion = {dynamic_done, wait, NULL}
    };
    const int answer =
        fci_icl_receive(MPIDI_FCI_global.context, &receive, &wait->order, &status);
    wait->done = answer != FCI_ICL_OK;
    if (answer == FCI_ICL_DONE)
        dynamic_done(wait, NULL, &status);
    return answer < 0 ? MPIDI_FCI_error(answer, 0) : MPI_SUCCESS;
}

/* Turns until the message is through, at most for `timeout` seconds; 0: without a limit. */
static int turn_until(struct dynamic *wait, int timeout)
{
    int mpi_errno = MPI_SUCCESS;
    MPL_time_t start, now;
    double gap = 0;

    MPL_wtime(&start);
    while (!wait->done && mpi_errno == MPI_SUCCESS && (timeout == 0 || gap < timeout)) {
        mpi_errno = FCI_DYNAMIC_TURN();
        MPL_wtime(&now);
        MPL_wtime_diff(&start, &now, &gap);
    }
    return mpi_errno;
}

/* A turn of the core alone: an error of what else MPICH has in progress does not end the wait. */
static void turn_core(void)
{
#if FCI_MPICH(5, 0)
    (void) MPIDI_FCI_turn_and_yield();
#else
    MPIDI_FCI_ENTER();
    (void) MPIDI_FCI_turn();
    MPIDI_FCI_EXIT();
#endif
}

/* A message that is not finished must be taken back: its completion writes to this stack. */
static void take_back(struct dynamic *wait)
{
    if (wait->done)
        return;
    FCI_DYNAMIC_ENTER();
    (void) fci_icl_cancel(MPIDI_FCI_global.context, wait->order);
    FCI_DYNAMIC_EXIT();
    while (!wait->done)
        turn_core();
}

static int finish(struct dynamic *wait, int timeout)
{
    int mpi_errno = turn_until(wait, timeout);
    take_back(wait);
    if (mpi_errno == MPI_SUCCESS && wait->error == FCI_ICL_ECANCELED)
        mpi_errno = MPI_ERR_PORT;
    else if (mpi_errno == MPI_SUCCESS && wait->error != FCI_ICL_OK)
        mpi_errno = MPIDI_FCI_error(wait->error, wait->peer);
    return mpi_errno;
}

int MPIDI_FCI_dynamic_send(FCI_process remote, int tag, const void *buf, int size, int timeout)
{
    struct dynamic wait = { 0 };
    FCI_DYNAMIC_ENTER();
    const int mpi_errno = start_send(&wait, MPIDI_FCI_AV(FCI_PROCESS_AV(remote)).peer,
                                     FCI_ICL_SYNCHRONOUS, tag, buf, size);
    FCI_DYNAMIC_EXIT();
    return mpi_errno == MPI_SUCCESS ? finish(&wait, timeout) : mpi_errno;
}

int MPIDI_FCI_dynamic_recv(int tag, void *buf, int size, int timeout)
{
    struct dynamic wait = { 0 };
    FCI_DYNAMIC_ENTER();
    const int mpi_errno = start_receive(&wait, FCI_ICL_ANY_SOURCE, tag, buf, size);
    FCI_DYNAMIC_EXIT();
    return mpi_errno == MPI_SUCCESS ? finish(&wait, timeout) : mpi_errno;
}

#if FCI_MPICH(5, 0)
/* Between the leaders of two groups that are to have a communicator. The context tells their
 * messages from those of others, and the bit above it from the first one of a connection. */
int MPIDI_FCI_dynamic_sendrecv(FCI_process remote, MPIR_Comm * peer_comm, int tag,
                               const void *send_buf, int send_size, void *recv_buf, int recv_size,
                               int timeout)
{
    struct dynamic sent = {.done = 1 }, received = {.done = 1 };
    const uint32_t peer = MPIDI_FCI_AV(FCI_PROCESS_AV(remote)).peer;
    int mpi_errno = MPI_SUCCESS;

    if (recv_size > 0)
        mpi_errno = start_receive(&received, peer,
                                  MPIDI_FCI_match(peer_comm->recvcontext_id, 1, tag), recv_buf,
                                  recv_size);
    if (mpi_errno == MPI_SUCCESS && send_size > 0)
        mpi_errno = start_send(&sent, peer, 0, MPIDI_FCI_match(peer_comm->context_id, 1, tag),
                               send_buf, send_size);
    if (mpi_errno == MPI_SUCCESS)
        mpi_errno = finish(&received, timeout);
    if (mpi_errno == MPI_SUCCESS)
        mpi_errno = finish(&sent, timeout);
    take_back(&received);
    take_back(&sent);
    return mpi_errno == MPI_ERR_PORT ? MPIX_ERR_TIMEOUT : mpi_errno;
}
#endif
