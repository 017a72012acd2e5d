// SPDX-License-Identifier: BSD-3-Clause
#ifndef FCI_SEND_H_INCLUDED
#define FCI_SEND_H_INCLUDED

#include "fci_match.h"

MPL_STATIC_INLINE_PREFIX int MPIDI_FCI_send(const void *buf, MPI_Aint count, MPI_Datatype datatype,
                                            int tag, MPIR_Comm * comm, int context_offset,
                                            MPIDI_av_entry_t * addr, uint32_t flags,
                                            MPIR_Request ** request)
{
    int mpi_errno;
    int dt_contig;
    size_t data_sz;
    MPI_Aint dt_true_lb;
    MPIR_Datatype *dt_ptr;
    const uint64_t match = MPIDI_FCI_match(comm->context_id + context_offset, comm->rank, tag);
    const uint32_t peer = MPIDI_FCI_AV(addr).peer;

    MPIDI_Datatype_get_info(count, datatype, dt_contig, data_sz, dt_ptr, dt_true_lb);
    MPIDI_FCI_ENTER();
    if (likely(dt_contig && flags == 0 && data_sz <= MPIDI_FCI_global.inject_bytes) &&
        fci_icl_send_short(MPIDI_FCI_global.context, peer, match,
                           MPIR_get_contig_ptr(buf, dt_true_lb), data_sz) == FCI_ICL_DONE) {
        if (*request == NULL)
            *request = MPIR_Request_create_complete(MPIR_REQUEST_KIND__SEND);
        else
            MPIR_cc_set(&(*request)->cc, 0);
        mpi_errno = MPI_SUCCESS;
    } else {
        mpi_errno = MPIDI_FCI_send_any(buf, count, datatype, peer, match, flags, request);
        if (mpi_errno == MPI_SUCCESS)
            FCI_REQUEST_SET_COMM(*request, comm);
    }
    MPIDI_FCI_EXIT();
    return mpi_errno;
}

MPL_STATIC_INLINE_PREFIX int MPIDI_NM_mpi_isend(const void *buf, MPI_Aint count,
                                                MPI_Datatype datatype, int rank, int tag,
                                                MPIR_Comm * comm, int attr,
                                                MPIDI_av_entry_t * addr, MPIR_Request ** request)
{
    switch (FCI_SEND_ERROR(attr)) {
        case MPI_SUCCESS:
            break;
        case MPIX_ERR_PROC_FAILED:
            MPIR_TAG_SET_PROC_FAILURE_BIT(tag);
            break;
        default:
            MPIR_TAG_SET_ERROR_BIT(tag);
    }
    return MPIDI_FCI_send(buf, count, datatype, tag, comm, FCI_CONTEXT_OFFSET(attr), addr,
                          FCI_SEND_FLAGS(attr), request);
}

/* MPI lets a send that was started go on, and MPICH does not promise more anywhere. */
MPL_STATIC_INLINE_PREFIX int MPIDI_NM_mpi_cancel_send(MPIR_Request * sreq)
{
    MPIDI_FCI_ENTER();
    if (!MPIR_Request_is_complete(sreq))
        (void) fci_icl_cancel(MPIDI_FCI_global.context, MPIDI_FCI_REQ(sreq).order);
    MPIDI_FCI_EXIT();
    return MPI_SUCCESS;
}

#endif
