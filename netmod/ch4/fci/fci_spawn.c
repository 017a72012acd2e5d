/* Processes that were not there at the start: spawn, connect and accept. A process is its card; one
 * that is known already gets the number it has, by whatever way its card comes. */
#include "mpidimpl.h"
#include "fci_impl.h"
#include "fci_tag.h"

int MPIDI_FCI_get_local_upids(MPIR_Comm * comm, int **local_upid_size, char **local_upids)
{
    int mpi_errno = MPI_SUCCESS;
    const int size = comm->local_size;

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
    return mpi_errno;
  fn_fail:
    MPL_free(*local_upid_size);
    MPL_free(*local_upids);
    *local_upid_size = NULL;
    *local_upids = NULL;
    goto fn_exit;
}

/* MPICH frees a table of processes with the last communicator that needs it, and uses its number
 * again: what was noted for a peer holds only where the table still says the same. */
static bool has_gpid(uint32_t peer)
{
    if (peer >= MPIDI_FCI_global.gpid_count ||
        MPIDI_FCI_global.gpids[peer] == MPIDI_FCI_NO_GPID)
        return false;
    const int avtid = MPIDIU_GPID_GET_AVTID(MPIDI_FCI_global.gpids[peer]);
    const int lpid = MPIDIU_GPID_GET_LPID(MPIDI_FCI_global.gpids[peer]);
    return avtid < MPIDIU_get_n_avts() && MPIDIU_get_av_table(avtid) != NULL &&
        lpid < MPIDIU_get_av_table(avtid)->size &&
        MPIDI_FCI_AV(&MPIDIU_get_av(avtid, lpid)).peer == peer;
}

int MPIDI_FCI_upids_to_gpids(int size, int *remote_upid_size, char *remote_upids,
                             uint64_t * remote_gpids)
{
    int mpi_errno = MPI_SUCCESS;
    int fresh = 0, avtid = 0;
    uint32_t *const peers = MPL_malloc(size * sizeof(uint32_t), MPL_MEM_ADDRESS);

    MPIDI_FCI_ENTER();
    MPIR_ERR_CHKANDJUMP(peers == NULL, mpi_errno, MPI_ERR_OTHER, "**nomem");
    for (int i = 0; i < size; i++) {
        MPIR_ERR_CHKANDJUMP1(remote_upid_size[i] != FCI_ICL_CARD_BYTES, mpi_errno, MPI_ERR_OTHER,
                             "**fci_nm_failed", "**fci_nm_failed %s",
                             "the other side does not use FCI");
        const int answer =
            fci_icl_add_peer(MPIDI_FCI_global.context, (unsigned char *) remote_upids, &peers[i]);
        if (answer < 0) {
            mpi_errno = MPIDI_FCI_error(answer, 0);
            goto fn_fail;
        }
        remote_upids += FCI_ICL_CARD_BYTES;
        if (!has_gpid(peers[i])) {
            mpi_errno = MPIDI_FCI_set_gpid(peers[i], MPIDI_FCI_NO_GPID);
            MPIR_ERR_CHECK(mpi_errno);
            fresh++;
        }
    }
    if (fresh > 0) {
        mpi_errno = MPIDIU_new_avt(fresh, &avtid);
        MPIR_ERR_CHECK(mpi_errno);
    }
    for (int i = 0, next = 0; i < size; i++) {
        uint64_t *const gpid = &MPIDI_FCI_global.gpids[peers[i]];
        if (*gpid == MPIDI_FCI_NO_GPID) {
            MPIDI_FCI_AV(&MPIDIU_get_av(avtid, next)).peer = peers[i];
            *gpid = MPIDIU_GPID_CREATE(avtid, next);
            next++;
        }
        remote_gpids[i] = *gpid;
    }

  fn_exit:
    MPIDI_FCI_EXIT();
    MPL_free(peers);
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

/* --- before there is a communicator --- */

struct dynamic {
    int done, error;
    uint32_t peer;
};

static void dynamic_done(void *user, void *owner, const struct fci_icl_status *status)
{
    struct dynamic *const wait = user;
    wait->error = status->error;
    wait->peer = status->source;
    wait->done = 1;
}

/* timeout: seconds, 0: none. */
static int dynamic_wait(struct dynamic *wait, fci_icl_order order, int timeout)
{
    int mpi_errno = MPI_SUCCESS;
    MPL_time_t start, now;
    double gap = 0;

    MPL_wtime(&start);
    while (!wait->done && (timeout == 0 || gap < timeout)) {
        mpi_errno = MPID_Progress_test(NULL);
        MPIR_ERR_CHECK(mpi_errno);
        MPL_wtime(&now);
        MPL_wtime_diff(&start, &now, &gap);
    }
    if (!wait->done) {
        MPIDI_FCI_ENTER();
        (void) fci_icl_cancel(MPIDI_FCI_global.context, order);
        MPIDI_FCI_EXIT();
        while (!wait->done) {
            mpi_errno = MPID_Progress_test(NULL);
            MPIR_ERR_CHECK(mpi_errno);
        }
    }
    if (wait->error == FCI_ICL_ECANCELED)
        mpi_errno = MPI_ERR_PORT;
    else if (wait->error != FCI_ICL_OK)
        mpi_errno = MPIDI_FCI_error(wait->error, wait->peer);

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

int MPIDI_FCI_dynamic_send(uint64_t remote_gpid, int tag, const void *buf, int size, int timeout)
{
    struct dynamic wait = { 0 };
    fci_icl_order order = 0;
    const struct fci_icl_completion completion = { dynamic_done, &wait, NULL };
    const uint32_t peer = MPIDI_FCI_AV(&MPIDIU_get_av(MPIDIU_GPID_GET_AVTID(remote_gpid),
                                                      MPIDIU_GPID_GET_LPID(remote_gpid))).peer;

    MPIDI_FCI_ENTER();
    const int answer = fci_icl_send_bytes(MPIDI_FCI_global.context, peer, MPIDI_FCI_SPACE_DYNAMIC,
                                          FCI_ICL_SYNCHRONOUS, tag, 0, buf, size, &completion,
                                          &order);
    MPIDI_FCI_EXIT();
    if (answer < 0)
        return MPIDI_FCI_error(answer, peer);
    return answer == FCI_ICL_DONE ? MPI_SUCCESS : dynamic_wait(&wait, order, timeout);
}

int MPIDI_FCI_dynamic_recv(int tag, void *buf, int size, int timeout)
{
    struct dynamic wait = { 0 };
    fci_icl_order order = 0;
    struct fci_icl_status status;
    const struct iovec where = { buf, size };
    const struct fci_icl_receive receive = {
        .source = FCI_ICL_ANY_SOURCE,
        .space = MPIDI_FCI_SPACE_DYNAMIC,
        .match = tag,
        .iov = &where,
        .iov_count = 1,
        .completion = {dynamic_done, &wait, NULL}
    };

    MPIDI_FCI_ENTER();
    const int answer = fci_icl_receive(MPIDI_FCI_global.context, &receive, &order, &status);
    MPIDI_FCI_EXIT();
    if (answer < 0)
        return MPIDI_FCI_error(answer, 0);
    if (answer == FCI_ICL_DONE)
        return status.error == FCI_ICL_OK ? MPI_SUCCESS :
            MPIDI_FCI_error(status.error, status.source);
    return dynamic_wait(&wait, order, timeout);
}
