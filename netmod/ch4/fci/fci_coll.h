/* SPDX-License-Identifier: BSD-3-Clause */
/* Collectives: small ones go by a group (icl.h): a table of flags on each host, and messages
 * between them. All others are MPICH's own algorithms over our messages. */
#ifndef FCI_COLL_H_INCLUDED
#define FCI_COLL_H_INCLUDED

#include "fci_impl.h"

#define MPIDI_NM_mpi_barrier MPIDI_FCI_mpich_barrier
#define MPIDI_NM_mpi_bcast MPIDI_FCI_mpich_bcast
#define MPIDI_NM_mpi_allreduce MPIDI_FCI_mpich_allreduce
#define MPIDI_NM_mpi_reduce MPIDI_FCI_mpich_reduce
#define MPIDI_NM_mpi_gather MPIDI_FCI_mpich_gather
#define MPIDI_NM_mpi_allgather MPIDI_FCI_mpich_allgather
#include "netmod_am_fallback_coll.h"
#undef MPIDI_NM_mpi_barrier
#undef MPIDI_NM_mpi_bcast
#undef MPIDI_NM_mpi_allreduce
#undef MPIDI_NM_mpi_reduce
#undef MPIDI_NM_mpi_gather
#undef MPIDI_NM_mpi_allgather

/* A user that asked for one of MPICH's algorithms by name gets it. */
#define MPIDI_FCI_CHOSEN(VARIABLE, what) (MPIR_CVAR_##VARIABLE == MPIR_CVAR_##VARIABLE##_##what)
#define MPIDI_FCI_IS_WANTED(COLLECTIVE) \
    (MPIDI_FCI_CHOSEN(COLLECTIVE##_FCI_INTRA_ALGORITHM, fci) || \
     (MPIDI_FCI_CHOSEN(COLLECTIVE##_FCI_INTRA_ALGORITHM, auto) && \
      MPIDI_FCI_CHOSEN(COLLECTIVE##_INTRA_ALGORITHM, auto)))

/* Whether `bytes` of each process, but for a barrier not none, are for the communicator's group.
 * All come to the same answer: all have as many bytes, whatever their datatypes look like. */
MPL_STATIC_INLINE_PREFIX bool MPIDI_FCI_has_group(MPIR_Comm * comm)
{
    return likely(MPIDI_FCI_COMM(comm).group != NULL) ||
        (!MPIDI_FCI_COMM(comm).asked && MPIDI_FCI_form_group(comm));
}

MPL_STATIC_INLINE_PREFIX bool MPIDI_FCI_takes(MPIR_Comm * comm, size_t bytes)
{
    return MPIDI_FCI_has_group(comm) && bytes <= MPIDI_FCI_COMM(comm).longest;
}

MPL_STATIC_INLINE_PREFIX int MPIDI_NM_mpi_barrier(MPIR_Comm * comm, FCI_COLL_ATTR attr)
{
    if (MPIDI_FCI_IS_WANTED(BARRIER) && MPIDI_FCI_takes(comm, 0))
        return MPIDI_FCI_barrier(comm);
    /* MPICH has come down to one host, or to one process of each, and would begin that anew. */
    if (MPIR_CVAR_BARRIER_INTRA_ALGORITHM == MPIR_CVAR_BARRIER_INTRA_ALGORITHM_auto &&
        comm->comm_kind == MPIR_COMM_KIND__INTRACOMM)
        return MPIR_Barrier_intra_dissemination(comm, attr);
    return MPIDI_FCI_mpich_barrier(comm, attr);
}

MPL_STATIC_INLINE_PREFIX int MPIDI_NM_mpi_bcast(void *buffer, MPI_Aint count, MPI_Datatype datatype,
                                                int root, MPIR_Comm * comm, FCI_COLL_ATTR attr)
{
    const size_t bytes = MPIDI_FCI_bytes_of(count, datatype);
    int mpi_errno = MPIDI_FCI_PASSES;
    if (bytes != 0 && MPIDI_FCI_IS_WANTED(BCAST) && MPIDI_FCI_has_group(comm) &&
        bytes <= MPIDI_FCI_COMM(comm).broadcast)
        mpi_errno = MPIDI_FCI_bcast(buffer, count, datatype, bytes, root, comm);
    return mpi_errno != MPIDI_FCI_PASSES ? mpi_errno
        : MPIDI_FCI_mpich_bcast(buffer, count, datatype, root, comm, attr);
}

/* Of predefined datatypes: items lie one behind the other, and have the same length everywhere. */
MPL_STATIC_INLINE_PREFIX bool MPIDI_FCI_takes_items(MPIR_Comm * comm, MPI_Aint count,
                                                    MPI_Datatype datatype, MPI_Op op)
{
    MPI_Aint extent;
    if (!HANDLE_IS_BUILTIN(datatype) || count == 0)
        return false;
    MPIR_Datatype_get_extent_macro(datatype, extent);
    return MPIDI_FCI_takes(comm, (size_t) (count * extent)) &&
        (MPIDI_FCI_COMM(comm).keeps_order || MPIR_Op_is_commutative(op));
}

MPL_STATIC_INLINE_PREFIX int MPIDI_NM_mpi_allreduce(const void *from, void *to, MPI_Aint count,
                                                    MPI_Datatype datatype, MPI_Op op,
                                                    MPIR_Comm * comm, FCI_COLL_ATTR attr)
{
    if (MPIDI_FCI_IS_WANTED(ALLREDUCE) && MPIDI_FCI_takes_items(comm, count, datatype, op))
        return MPIDI_FCI_reduce(from, to, count, datatype, op, MPIDI_FCI_ALL, comm);
    return MPIDI_FCI_mpich_allreduce(from, to, count, datatype, op, comm, attr);
}

MPL_STATIC_INLINE_PREFIX int MPIDI_NM_mpi_reduce(const void *from, void *to, MPI_Aint count,
                                                 MPI_Datatype datatype, MPI_Op op, int root,
                                                 MPIR_Comm * comm, FCI_COLL_ATTR attr)
{
    if (MPIDI_FCI_IS_WANTED(REDUCE) && MPIDI_FCI_takes_items(comm, count, datatype, op))
        return MPIDI_FCI_reduce(from, to, count, datatype, op, root, comm);
    return MPIDI_FCI_mpich_reduce(from, to, count, datatype, op, root, comm, attr);
}

MPL_STATIC_INLINE_PREFIX int MPIDI_NM_mpi_gather(const void *from, MPI_Aint from_count,
                                                 MPI_Datatype from_type, void *to,
                                                 MPI_Aint to_count, MPI_Datatype to_type, int root,
                                                 MPIR_Comm * comm, FCI_COLL_ATTR attr)
{
    const size_t bytes = comm->rank == root ? MPIDI_FCI_bytes_of(to_count, to_type)
        : MPIDI_FCI_bytes_of(from_count, from_type);
    if (bytes != 0 && MPIDI_FCI_IS_WANTED(GATHER) && MPIDI_FCI_has_group(comm) &&
        bytes <= MPIDI_FCI_COMM(comm).gather)
        return MPIDI_FCI_gather(from, from_count, from_type, to, to_count, to_type, root, comm);
    return MPIDI_FCI_mpich_gather(from, from_count, from_type, to, to_count, to_type, root, comm,
                                  attr);
}

MPL_STATIC_INLINE_PREFIX int MPIDI_NM_mpi_allgather(const void *from, MPI_Aint from_count,
                                                    MPI_Datatype from_type, void *to,
                                                    MPI_Aint to_count, MPI_Datatype to_type,
                                                    MPIR_Comm * comm, FCI_COLL_ATTR attr)
{
    const size_t bytes = MPIDI_FCI_bytes_of(to_count, to_type);
    if (bytes != 0 && MPIDI_FCI_IS_WANTED(ALLGATHER) && MPIDI_FCI_has_group(comm) &&
        bytes <= MPIDI_FCI_COMM(comm).gather)
        return MPIDI_FCI_gather(from, from_count, from_type, to, to_count, to_type, MPIDI_FCI_ALL,
                                comm);
    return MPIDI_FCI_mpich_allgather(from, from_count, from_type, to, to_count, to_type, comm,
                                     attr);
}

#endif
