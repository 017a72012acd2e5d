/* SPDX-License-Identifier: BSD-3-Clause */
/* Active messages, both sides. The number of MPICH's handler is that of icl.h's. */
#include "mpidimpl.h"
#include "fci_impl.h"
#include "mpidig_recv_utils.h"

/* --- sending --- */

static void am_sent(void *user, void *owner, const struct fci_icl_status *status)
{
    MPIR_Request *const sreq = user;
    const int handler_id = MPIDI_FCI_AMREQ(sreq).handler_id;
    MPL_free(MPIDI_FCI_AMREQ(sreq).pack_buffer);
    MPIDI_FCI_AMREQ(sreq).pack_buffer = NULL;
    if (status->error != FCI_ICL_OK)
        sreq->status.MPI_ERROR = MPIDI_FCI_error(status->error, status->source);
    (void) MPIDIG_global.origin_cbs[handler_id] (sreq);
}

int MPIDI_FCI_am_send(uint32_t peer, int handler_id, const void *am_hdr, MPI_Aint am_hdr_sz,
                      const void *data, MPI_Aint count, MPI_Datatype datatype, MPIR_Request * sreq)
{
    int mpi_errno = MPI_SUCCESS;
    int dt_contig;
    size_t data_sz;
    MPI_Aint dt_true_lb;
    MPIR_Datatype *dt_ptr;
    struct iovec where;
    /* The data follows the header, and handlers want both aligned. */
    const size_t header_bytes = ((size_t) am_hdr_sz + 7) / 8 * 8;
    void *header = NULL;

    MPIDI_Datatype_get_info(count, datatype, dt_contig, data_sz, dt_ptr, dt_true_lb);
    where.iov_len = data_sz;
    where.iov_base = data_sz > 0 && dt_contig ? MPIR_get_contig_ptr(data, dt_true_lb) : NULL;
    if (!dt_contig && data_sz > 0) {
        MPI_Aint bytes;
        MPIDI_FCI_AMREQ(sreq).pack_buffer = where.iov_base = MPL_malloc(data_sz, MPL_MEM_BUFFER);
        MPIR_ERR_CHKANDJUMP(where.iov_base == NULL, mpi_errno, MPI_ERR_OTHER, "**nomem");
        mpi_errno = MPIR_Typerep_pack(data, count, datatype, 0, where.iov_base, data_sz,
                                      &bytes FCI_PACK_FLAGS);
        MPIR_ERR_CHECK(mpi_errno);
    }
    if (header_bytes != (size_t) am_hdr_sz) {
        header = MPL_calloc(1, header_bytes, MPL_MEM_BUFFER);
        MPIR_ERR_CHKANDJUMP(header == NULL, mpi_errno, MPI_ERR_OTHER, "**nomem");
        memcpy(header, am_hdr, am_hdr_sz);
        am_hdr = header;
    }
    struct fci_icl_completion completion = { NULL, NULL, NULL };
    if (sreq != NULL) {
        MPIDI_FCI_AMREQ(sreq).handler_id = handler_id;
        completion.done = am_sent;
        completion.user = sreq;
    }
    const int answer = fci_icl_am_send(MPIDI_FCI_global.context, peer, handler_id, 0, am_hdr,
                                       header_bytes, &where, data_sz > 0, &completion, NULL);
    if (answer < 0) {
        mpi_errno = MPIDI_FCI_error(answer, peer);
    } else if (answer == FCI_ICL_DONE && sreq != NULL) {
        const struct fci_icl_status sent = {.error = FCI_ICL_OK };
        am_sent(sreq, NULL, &sent);
    }

  fn_exit:
    MPL_free(header);
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

/* --- receiving --- */

/* A long message whose data goes somewhere in one piece first. */
struct arrival {
    MPIR_Request *rreq;
    MPI_Aint bytes;
    char data[];
};

static void am_landed(void *user, void *owner, const struct fci_icl_status *status)
{
    MPIR_Request *const rreq = user;
    struct arrival *const arrival = owner;
    if (status->error != FCI_ICL_OK && status->error != FCI_ICL_ETRUNC)
        rreq->status.MPI_ERROR = MPIDI_FCI_error(status->error, status->source);
    else if (arrival != NULL)
        (void) MPIDIG_recv_copy_seg(arrival->data, arrival->bytes, rreq);
    MPL_free(arrival);
    (void) MPIDIG_REQUEST(rreq, req->target_cmpl_cb) (rreq);
}

/* Straight into the user's buffer where that is one range that is large enough. */
static void choose_landing(MPIR_Request * rreq, uint64_t bytes,
                           struct fci_icl_am_landing *landing, struct iovec *where)
{
    MPIDIG_rreq_async_t *const receive = &MPIDIG_REQUEST(rreq, req->recv_async);
    struct arrival *arrival = NULL;

    MPIDIG_recv_setup(rreq);
    if (receive->recv_type == MPIDIG_RECV_CONTIG && receive->iov_one.iov_len >= bytes) {
        where->iov_base = receive->iov_one.iov_base;
    } else {
        arrival = MPL_malloc(sizeof *arrival + bytes, MPL_MEM_BUFFER);
        MPIR_Assert(arrival != NULL);
        arrival->bytes = bytes;
        where->iov_base = arrival->data;
    }
    where->iov_len = bytes;
    landing->iov = where;
    landing->iov_count = 1;
    landing->completion.done = am_landed;
    landing->completion.user = rreq;
    landing->completion.owner = arrival;
}

static void am_arrived(void *user, fci_icl_peer source, const void *header, size_t header_bytes,
                       const void *data, uint64_t bytes, struct fci_icl_am_landing *landing)
{
    static struct iovec where;  /* read when this function is left; the lock is held */
    const int handler_id = (int) (intptr_t) user;
    MPIR_Request *rreq = NULL;

    if (data != NULL || bytes == 0) {
        (void) MPIDIG_global.target_msg_cbs[handler_id] ((void *) header, (void *) data, bytes, 0,
                                                         NULL);
        return;
    }
    (void) MPIDIG_global.target_msg_cbs[handler_id] ((void *) header, NULL, bytes,
                                                     MPIDIG_AM_ATTR__IS_ASYNC, &rreq);
    if (rreq != NULL)
        choose_landing(rreq, bytes, landing, &where);
}

void MPIDI_FCI_am_register(void)
{
    MPL_COMPILE_TIME_ASSERT(MPIDI_AM_HANDLERS_MAX <= FCI_ICL_AM_HANDLERS);
    for (int id = 0; id < MPIDI_AM_HANDLERS_MAX; id++)
        (void) fci_icl_am_register(MPIDI_FCI_global.context, id, am_arrived,
                                   (void *) (intptr_t) id);
}
