/* SPDX-License-Identifier: BSD-3-Clause */
/* The number that MPICH 4 gives a process; MPICH 5 has it in the communicator's group. */
#ifndef FCI_PROC_4_H_INCLUDED
#define FCI_PROC_4_H_INCLUDED

#include "fci_impl.h"

#if !FCI_MPICH(5, 0)

MPL_STATIC_INLINE_PREFIX int MPIDI_NM_comm_get_gpid(MPIR_Comm * comm, int rank, uint64_t * gpid,
                                                    bool is_remote)
{
    int avtid = 0, lpid = 0;
    if (comm->comm_kind == MPIR_COMM_KIND__INTRACOMM || is_remote)
        MPIDIU_comm_rank_to_pid(comm, rank, &lpid, &avtid);
    else
        MPIDIU_comm_rank_to_pid_local(comm, rank, &lpid, &avtid);
    *gpid = MPIDIU_GPID_CREATE(avtid, lpid);
    return MPI_SUCCESS;
}

#endif

#endif
