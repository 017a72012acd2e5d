/* SPDX-License-Identifier: BSD-3-Clause */
/* Hooks that ask for little: the engine knows peers, not communicators, and sees packed data. */
#include "mpidimpl.h"
#include "fci_impl.h"
#include "fci_match.h"

int MPIDI_FCI_mpi_comm_commit_post_hook(MPIR_Comm * comm)
{
    MPIDI_FCI_COMM(comm).group = NULL;
    MPIDI_FCI_COMM(comm).asked = false;
    MPIDI_FCI_COMM(comm).match = MPIDI_FCI_match(comm->context_id, comm->rank, 0);
    MPIDI_FCI_COMM(comm).direct = FCI_DIRECT_ADDRESSES(comm);
    /* Among the processes of one host MPICH would do a collective there, and then once more to tell
     * these of the other hosts. It chooses by this only, just after this hook. */
    if (FCI_IS_ON_ONE_HOST(comm))
        FCI_FORGET_HIERARCHY(comm);
    return MPI_SUCCESS;
}

#define TURNS 64

/* Messages that are here and were never received go with the communicator: another one will get its
 * context id. Messages still on their way cannot be told from those sent on that one. */
int MPIDI_FCI_mpi_comm_free_hook(MPIR_Comm * comm)
{
    MPIDI_FCI_leave_group(comm);
    if (MPIDI_FCI_global.context != NULL) {
        MPIDI_FCI_ENTER();
        for (int turns = 0; turns < TURNS && !MPIDI_FCI_global.in_turn; turns++)
            if (MPIDI_FCI_turn() <= 0)
                break;
        for (int kind = FCI_CONTEXT_PT2PT; kind <= FCI_CONTEXT_COLL; kind++)
            (void) fci_icl_discard(MPIDI_FCI_global.context, MPIDI_FCI_SPACE_TAGGED,
                                   MPIDI_FCI_match(comm->recvcontext_id + kind, 0, 0),
                                   MPIDI_FCI_RANK_MASK | MPIDI_FCI_TAG_MASK);
        MPIDI_FCI_EXIT();
    }
    return MPI_SUCCESS;
}

int MPIDI_FCI_comm_set_hints(MPIR_Comm * comm, MPIR_Info * info)
{
    return MPI_SUCCESS;
}

int MPIDI_FCI_mpi_type_commit_hook(MPIR_Datatype * type)
{
    return MPI_SUCCESS;
}

int MPIDI_FCI_mpi_type_free_hook(MPIR_Datatype * type)
{
    return MPI_SUCCESS;
}

int MPIDI_FCI_mpi_op_commit_hook(MPIR_Op * op)
{
    return MPI_SUCCESS;
}

int MPIDI_FCI_mpi_op_free_hook(MPIR_Op * op)
{
    return MPI_SUCCESS;
}

int MPIDI_FCI_mpi_psend_init(const void *buf, int partitions, MPI_Aint count,
                             MPI_Datatype datatype, int rank, int tag, MPIR_Comm * comm,
                             MPIR_Info * info, MPIDI_av_entry_t * av, MPIR_Request ** request)
{
    MPIDI_FCI_global.partitioned = true;
    return MPIDIG_mpi_psend_init(buf, partitions, count, datatype, rank, tag, comm, info, request);
}

int MPIDI_FCI_mpi_precv_init(void *buf, int partitions, MPI_Aint count, MPI_Datatype datatype,
                             int rank, int tag, MPIR_Comm * comm, MPIR_Info * info,
                             MPIDI_av_entry_t * av, MPIR_Request ** request)
{
    MPIDI_FCI_global.partitioned = true;
    return MPIDIG_mpi_precv_init(buf, partitions, count, datatype, rank, tag, comm, info,
                                 FCI_PRECV_LOCALITY request);
}
