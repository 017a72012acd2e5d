// SPDX-License-Identifier: BSD-3-Clause
#ifndef FCI_RECV_H_INCLUDED
#define FCI_RECV_H_INCLUDED

#include "fci_match.h"

MPL_STATIC_INLINE_PREFIX int MPIDI_NM_mpi_irecv(void *buf, MPI_Aint count, MPI_Datatype datatype,
                                                int rank, int tag, MPIR_Comm * comm,
                                                int attr, MPIDI_av_entry_t * addr,
                                                MPIR_Request ** request, MPIR_Request * partner)
{
    int mpi_errno = MPI_SUCCESS;
    int dt_contig;
    size_t data_sz;
    MPI_Aint dt_true_lb;
    MPIR_Datatype *dt_ptr;
    MPIR_Request *req = *request;
    const uint32_t source =
        rank == MPI_ANY_SOURCE ? FCI_ICL_ANY_SOURCE : MPIDI_FCI_AV(addr).peer;

    MPIDI_FCI_ENTER();
    if (req == NULL) {
        req = MPIR_Request_create_from_pool(MPIR_REQUEST_KIND__RECV, MPIDI_FCI_VCI, 2);
        MPIR_ERR_CHKANDSTMT(req == NULL, mpi_errno, MPIX_ERR_NOREQ, goto fn_fail, "**nomemreq");
        FCI_REQUEST_SET_COMM(req, comm);
    } else {
        MPIR_Request_add_ref(req);
    }
    MPIDI_REQUEST_SET_LOCAL(req, 0, partner);
    MPIDI_FCI_REQ(req).comm = NULL;
    if (source == FCI_ICL_ANY_SOURCE && MPIDI_FCI_ranks_ambiguous(comm)) {
        MPIR_Comm_add_ref(comm);
        MPIDI_FCI_REQ(req).comm = comm;
    }
    const uint64_t match =
        MPIDI_FCI_receive_match(comm->recvcontext_id + FCI_CONTEXT_OFFSET(attr), tag);
    const uint64_t ignore = MPIDI_FCI_ignore(tag);
    MPIDI_Datatype_get_info(count, datatype, dt_contig, data_sz, dt_ptr, dt_true_lb);
    MPIDI_FCI_REQ(req).order = unlikely(!dt_contig) ? 0 :
        fci_icl_post(MPIDI_FCI_global.context, source, match, ignore,
                     MPIR_get_contig_ptr(buf, dt_true_lb), data_sz, MPIDI_FCI_received, req, NULL);
    if (unlikely(MPIDI_FCI_REQ(req).order == 0))
        mpi_errno = MPIDI_FCI_receive(buf, count, datatype, source, match, ignore, req);
    *request = req;

  fn_exit:
    MPIDI_FCI_EXIT();
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

MPL_STATIC_INLINE_PREFIX int MPIDI_NM_mpi_imrecv(void *buf, MPI_Aint count, MPI_Datatype datatype,
                                                 MPIR_Request * message)
{
    int mpi_errno;
    MPIDI_FCI_ENTER();
    mpi_errno = MPIDI_FCI_receive_claimed(buf, count, datatype, message);
    MPIDI_FCI_EXIT();
    return mpi_errno;
}

/* Called with the lock held. Its completion comes from progress: cancelled, or received where the
 * message was first. */
MPL_STATIC_INLINE_PREFIX int MPIDI_NM_mpi_cancel_recv(FCI_CANCEL_ARGS)
{
    if (!MPIR_Request_is_complete(rreq))
        (void) fci_icl_cancel(MPIDI_FCI_global.context, MPIDI_FCI_REQ(rreq).order);
    return MPI_SUCCESS;
}

#endif
