/* SPDX-License-Identifier: BSD-3-Clause */
/* Sends that have a function of their own in MPICH 4.0; from 4.1 on they are attributes of the one
 * in fci_send.h. */
#ifndef FCI_SEND_4_H_INCLUDED
#define FCI_SEND_4_H_INCLUDED

#include "fci_send.h"

#if !FCI_MPICH(4, 1)

/* MPI_Send needs no request for a short message that goes out at once, and asks for one all the
 * same; here is how it does without (apply-fci adds the question to MPID_Send). */
#define MPIDI_NM_SEND_NOW MPIDI_FCI_send_now
MPL_STATIC_INLINE_PREFIX bool MPIDI_FCI_send_now(const void *buf, MPI_Aint count,
                                                 MPI_Datatype datatype, int rank, int tag,
                                                 MPIR_Comm * comm, int context_offset)
{
    const MPIDI_av_entry_t *const direct = MPIDI_FCI_COMM(comm).direct;
    const size_t bytes = (size_t) count * (uint8_t) MPIR_Datatype_get_basic_size(datatype);
    if (unlikely(direct == NULL || !HANDLE_IS_BUILTIN(datatype)) ||
        bytes > MPIDI_FCI_global.inject_bytes)
        return false;
    MPIDI_FCI_ENTER();
    const int answer =
        fci_icl_send_short(MPIDI_FCI_global.context, MPIDI_FCI_AV(&direct[rank]).peer,
                           MPIDI_FCI_COMM(comm).match + (uint32_t) tag +
                           ((uint64_t) context_offset << MPIDI_FCI_TAG_BITS), buf, bytes);
    MPIDI_FCI_EXIT();
    return answer == FCI_ICL_DONE;
}

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
