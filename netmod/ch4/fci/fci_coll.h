/* Collectives: MPICH's own algorithms over our messages, but for small ones among more processes
 * than there are cores (fci_coll_4.c), where what counts is how often a core changes hands. */
#ifndef FCI_COLL_H_INCLUDED
#define FCI_COLL_H_INCLUDED

#include "fci_impl.h"

#if FCI_FLAT_COLLECTIVES

#define MPIDI_NM_mpi_barrier MPIDI_FCI_mpich_barrier
#define MPIDI_NM_mpi_bcast MPIDI_FCI_mpich_bcast
#define MPIDI_NM_mpi_allreduce MPIDI_FCI_mpich_allreduce
#include "netmod_am_fallback_coll.h"
#undef MPIDI_NM_mpi_barrier
#undef MPIDI_NM_mpi_bcast
#undef MPIDI_NM_mpi_allreduce

/* Who asked for an algorithm by name gets it. */
#define MPIDI_FCI_MAY_CHOOSE(comm, COLLECTIVE) \
    ((comm)->comm_kind == MPIR_COMM_KIND__INTRACOMM && \
     MPIR_CVAR_##COLLECTIVE##_INTRA_ALGORITHM == MPIR_CVAR_##COLLECTIVE##_INTRA_ALGORITHM_auto)
#define MPIDI_FCI_IS_FLAT(comm, COLLECTIVE) \
    (MPIDI_FCI_MAY_CHOOSE(comm, COLLECTIVE) && MPIDI_FCI_is_crowded(comm))

/* The first one of a communicator is MPICH's all the same: in it processes meet that are not the
 * collector, and only who has met a process hears when it dies. */
MPL_STATIC_INLINE_PREFIX bool MPIDI_FCI_is_crowded(MPIR_Comm * comm)
{
    if (MPIDI_FCI_COMM(comm).crowded == MPIDI_FCI_CROWDED_UNKNOWN) {
        MPIDI_FCI_look_for_crowd(comm);
        return false;
    }
    return MPIDI_FCI_COMM(comm).crowded == MPIDI_FCI_CROWDED;
}

MPL_STATIC_INLINE_PREFIX int MPIDI_NM_mpi_barrier(MPIR_Comm * comm, MPIR_Errflag_t * errflag)
{
    if (MPIDI_FCI_IS_FLAT(comm, BARRIER))
        return MPIDI_FCI_flat_barrier(comm, errflag);
    /* MPICH has come down to one host, or to one process of each, and would begin that anew. */
    if (MPIDI_FCI_MAY_CHOOSE(comm, BARRIER))
        return MPIR_Barrier_intra_dissemination(comm, errflag);
    return MPIDI_FCI_mpich_barrier(comm, errflag);
}

MPL_STATIC_INLINE_PREFIX int MPIDI_NM_mpi_bcast(void *buffer, MPI_Aint count,
                                                MPI_Datatype datatype, int root, MPIR_Comm * comm,
                                                MPIR_Errflag_t * errflag)
{
    MPI_Aint bytes;

    MPIR_Datatype_get_size_macro(datatype, bytes);
    bytes *= count;
    if (bytes > 0 && bytes <= MPIDI_FCI_FLAT_BYTES && MPIDI_FCI_IS_FLAT(comm, BCAST))
        return MPIDI_FCI_flat_bcast(buffer, count, datatype, root, comm, errflag);
    return MPIDI_FCI_mpich_bcast(buffer, count, datatype, root, comm, errflag);
}

/* Predefined operations of predefined types: these commute, and all processes name the same. */
MPL_STATIC_INLINE_PREFIX int MPIDI_NM_mpi_allreduce(const void *sendbuf, void *recvbuf,
                                                    MPI_Aint count, MPI_Datatype datatype,
                                                    MPI_Op op, MPIR_Comm * comm,
                                                    MPIR_Errflag_t * errflag)
{
    if (HANDLE_IS_BUILTIN(op) && HANDLE_IS_BUILTIN(datatype)) {
        MPI_Aint extent;

        MPIR_Datatype_get_extent_macro(datatype, extent);
        if (count > 0 && count * extent <= MPIDI_FCI_FLAT_BYTES &&
            MPIDI_FCI_IS_FLAT(comm, ALLREDUCE))
            return MPIDI_FCI_flat_allreduce(sendbuf, recvbuf, count, datatype, op, comm, errflag);
    }
    return MPIDI_FCI_mpich_allreduce(sendbuf, recvbuf, count, datatype, op, comm, errflag);
}

#else
#include "netmod_am_fallback_coll.h"
#endif

#endif
