/* Sends that have a function of their own in MPICH 4.0; from 4.1 on they are attributes of the one
 * in fci_send.h. */
#ifndef FCI_SEND_4_H_INCLUDED
#define FCI_SEND_4_H_INCLUDED

#include "fci_send.h"

#if !FCI_MPICH(4, 1)

MPL_STATIC_INLINE_PREFIX int MPIDI_NM_mpi_issend(const void *buf, MPI_Aint count,
                                                 MPI_Datatype datatype, int rank, int tag,
                                                 MPIR_Comm * comm, int context_offset,
                                                 MPIDI_av_entry_t * addr, MPIR_Request ** request)
{
    return MPIDI_FCI_send(buf, count, datatype, tag, comm, context_offset, addr,
                          FCI_ICL_SYNCHRONOUS, request);
}

MPL_STATIC_INLINE_PREFIX int MPIDI_NM_isend_coll(const void *buf, MPI_Aint count,
                                                 MPI_Datatype datatype, int rank, int tag,
                                                 MPIR_Comm * comm, int context_offset,
                                                 MPIDI_av_entry_t * addr, MPIR_Request ** request,
                                                 MPIR_Errflag_t * errflag)
{
    switch (*errflag) {
        case MPIR_ERR_NONE:
            break;
        case MPIR_ERR_PROC_FAILED:
            MPIR_TAG_SET_PROC_FAILURE_BIT(tag);
            break;
        default:
            MPIR_TAG_SET_ERROR_BIT(tag);
    }
    return MPIDI_FCI_send(buf, count, datatype, tag, comm, context_offset, addr, 0, request);
}

#endif

#endif
