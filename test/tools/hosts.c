/* SPDX-License-Identifier: BSD-3-Clause */
/* hosts.c: says which rank is on which host, after all have heard from all.
 *
 *   hosts CODE [SECONDS]
 *
 * Ends with CODE on rank 1, and 0 on the others, after SECONDS. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

int main(int argc, char **argv) {
    int rank, ranks, sum;
    char name[64] = "";
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    gethostname(name, sizeof name - 1);
    printf("rank %d on %s as %d, sum %d\n", rank, name, (int)getuid(), sum);
    fflush(stdout);
    if (argc > 2) sleep(atoi(argv[2]));
    MPI_Finalize();
    return rank == 1 && argc > 1 ? atoi(argv[1]) : 0;
}
