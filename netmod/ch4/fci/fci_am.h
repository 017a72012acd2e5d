/* SPDX-License-Identifier: BSD-3-Clause */
/* Active messages of MPICH: handlers that run at the target. icl.h delivers them in order, takes
 * them at any length, and never runs progress inside a send, so replies need no queue of ours. */
#ifndef FCI_AM_H_INCLUDED
#define FCI_AM_H_INCLUDED

#include "fci_impl.h"

MPL_STATIC_INLINE_PREFIX int MPIDI_NM_am_isend(int rank, MPIR_Comm * comm, int handler_id,
                                               const void *am_hdr, MPI_Aint am_hdr_sz,
                                               const void *data, MPI_Aint count,
                                               MPI_Datatype datatype, int src_vci, int dst_vci,
                                               MPIR_Request * sreq)
{
    return MPIDI_FCI_am_send(MPIDI_FCI_COMM_TO_PEER(comm, rank), handler_id, am_hdr, am_hdr_sz,
                             data, count, datatype, sreq);
}

MPL_STATIC_INLINE_PREFIX int MPIDI_NM_am_isend_reply(MPIR_Comm * comm, int src_rank,
                                                     int handler_id, const void *am_hdr,
                                                     MPI_Aint am_hdr_sz, const void *data,
                                                     MPI_Aint count, MPI_Datatype datatype,
                                                     int src_vci, int dst_vci, MPIR_Request * sreq)
{
    return MPIDI_FCI_am_send(MPIDI_FCI_COMM_TO_PEER(comm, src_rank), handler_id, am_hdr,
                             am_hdr_sz, data, count, datatype, sreq);
}

MPL_STATIC_INLINE_PREFIX int MPIDI_NM_am_send_hdr(int rank, MPIR_Comm * comm, int handler_id,
                                                  const void *am_hdr, MPI_Aint am_hdr_sz,
                                                  int src_vci, int dst_vci)
{
    return MPIDI_FCI_am_send(MPIDI_FCI_COMM_TO_PEER(comm, rank), handler_id, am_hdr, am_hdr_sz,
                             NULL, 0, FCI_BYTE, NULL);
}

MPL_STATIC_INLINE_PREFIX int MPIDI_NM_am_send_hdr_reply(MPIR_Comm * comm, int src_rank,
                                                        int handler_id, const void *am_hdr,
                                                        MPI_Aint am_hdr_sz, int src_vci,
                                                        int dst_vci)
{
    return MPIDI_FCI_am_send(MPIDI_FCI_COMM_TO_PEER(comm, src_rank), handler_id, am_hdr,
                             am_hdr_sz, NULL, 0, FCI_BYTE, NULL);
}

MPL_STATIC_INLINE_PREFIX MPI_Aint MPIDI_NM_am_hdr_max_sz(void)
{
    return MPIDI_FCI_global.am_eager_bytes;
}

MPL_STATIC_INLINE_PREFIX MPI_Aint MPIDI_NM_am_eager_limit(void)
{
    return MPIDI_FCI_global.am_eager_bytes;
}

MPL_STATIC_INLINE_PREFIX MPI_Aint MPIDI_NM_am_eager_buf_limit(void)
{
    return MPIDI_FCI_global.am_eager_bytes;
}

MPL_STATIC_INLINE_PREFIX bool MPIDI_NM_am_check_eager(MPI_Aint am_hdr_sz, MPI_Aint data_sz,
                                                      const void *data, MPI_Aint count,
                                                      MPI_Datatype datatype, MPIR_Request * sreq)
{
    return am_hdr_sz + data_sz <= (MPI_Aint) MPIDI_FCI_global.am_eager_bytes;
}

MPL_STATIC_INLINE_PREFIX MPIDIG_recv_data_copy_cb MPIDI_NM_am_get_data_copy_cb(uint32_t attr)
{
    return NULL;
}

/* From 4.3 on MPICH asks whether the data of an active message can go as a tagged one. It need not:
 * it lands in the user's buffer either way. */
MPL_STATIC_INLINE_PREFIX bool MPIDI_NM_am_can_do_tag(FCI_AM_TAG_ARGS)
{
    return false;
}

MPL_STATIC_INLINE_PREFIX int MPIDI_NM_am_tag_send(int rank, MPIR_Comm * comm, int handler_id,
                                                  int tag, const void *buf, MPI_Aint count,
                                                  MPI_Datatype datatype, int src_vci, int dst_vci,
                                                  MPIR_Request * sreq)
{
    MPIR_Assert(0);
    return MPI_SUCCESS;
}

MPL_STATIC_INLINE_PREFIX int MPIDI_NM_am_tag_recv(int rank, MPIR_Comm * comm, int handler_id,
                                                  int tag, void *buf, MPI_Aint count,
                                                  MPI_Datatype datatype, int src_vci, int dst_vci,
                                                  MPIR_Request * rreq)
{
    MPIR_Assert(0);
    return MPI_SUCCESS;
}

#endif
