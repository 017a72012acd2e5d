/* SPDX-License-Identifier: BSD-3-Clause */
#include "test/unit/ch4/forced.h"

MPIR_Errflag_t flag;

int numbers[256], results[256];

int call(enum kind kind, MPI_Aint count) {
    switch (kind) {
        case BARRIER:
            return MPIDI_NM_mpi_barrier(job.world, &flag);
        case BCAST:
            return MPIDI_NM_mpi_bcast(numbers, count, MPI_INT, 1, job.world, &flag);
        case ALLREDUCE:
            return MPIDI_NM_mpi_allreduce(numbers, results, count, MPI_INT, MPI_SUM, job.world,
                                          &flag);
        case REDUCE:
            return MPIDI_NM_mpi_reduce(numbers, results, count, MPI_INT, MPI_SUM, 1, job.world,
                                       &flag);
        case GATHER:
            return MPIDI_NM_mpi_gather(numbers, count, MPI_INT, results, count, MPI_INT, 1,
                                       job.world, &flag);
        default:
            return MPIDI_NM_mpi_allgather(numbers, count, MPI_INT, results, count, MPI_INT,
                                          job.world, &flag);
    }
}

static char no_group;
void open_forced(int rank, size_t longest, size_t broadcast, size_t gather) {
    open_job(rank, 2);
    MPIDI_FCI_COMM(job.world).group = &no_group;
    MPIDI_FCI_COMM(job.world).asked = true;
    MPIDI_FCI_COMM(job.world).longest = longest;
    MPIDI_FCI_COMM(job.world).broadcast = broadcast;
    MPIDI_FCI_COMM(job.world).gather = gather;
    MPIDI_FCI_COMM(job.world).keeps_order = true;
}

void close_forced(void) {
    MPIDI_FCI_COMM(job.world).group = NULL;
    close_job();
}

void end_with(int answer, size_t bytes) {
    tap_force(TAP_GROUP_CALL, answer);
    tap.bytes = bytes;
}
