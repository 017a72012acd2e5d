/* SPDX-License-Identifier: BSD-3-Clause */
/* unlike.c: collectives to which one rank brings another number of bytes than the others.
 *
 *   unlike KIND ROOT OTHERS   the first rank has ROOT bytes, the others OTHERS. KIND: gather,
 *                             bcast, reduce, allreduce, allgather
 *   unlike late 0 SECONDS     all have the same, but the last rank is so late
 *
 * Prints "unlike: all right" if it ends. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MOST = 10000, RANKS = 8 };

int main(int argc, char **argv) {
    static char from[MOST], to[RANKS * MOST];
    int rank, size;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (argc != 4 || size > RANKS) MPI_Abort(MPI_COMM_WORLD, 2);
    const char *const kind = argv[1];
    const int at_root = atoi(argv[2]), others = atoi(argv[3]), own = rank == 0 ? at_root : others;
    MPI_Barrier(MPI_COMM_WORLD);
    if (strcmp(kind, "gather") == 0) {
        MPI_Gather(from, own, MPI_CHAR, to, own, MPI_CHAR, 0, MPI_COMM_WORLD);
    } else if (strcmp(kind, "bcast") == 0) {
        MPI_Bcast(from, own, MPI_CHAR, 0, MPI_COMM_WORLD);
    } else if (strcmp(kind, "reduce") == 0) {
        MPI_Reduce(from, to, own, MPI_CHAR, MPI_SUM, 0, MPI_COMM_WORLD);
    } else if (strcmp(kind, "allreduce") == 0) {
        MPI_Allreduce(from, to, own, MPI_CHAR, MPI_SUM, MPI_COMM_WORLD);
    } else if (strcmp(kind, "allgather") == 0) {
        MPI_Allgather(from, own, MPI_CHAR, to, own, MPI_CHAR, MPI_COMM_WORLD);
    } else {
        for (int bytes = 8; bytes <= MOST; bytes += MOST - 8) {
            if (rank == size - 1) sleep((unsigned)others);
            MPI_Allreduce(from, to, bytes, MPI_CHAR, MPI_SUM, MPI_COMM_WORLD);
            MPI_Bcast(from, bytes, MPI_CHAR, size - 1, MPI_COMM_WORLD);
        }
    }
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) puts("unlike: all right");
    MPI_Finalize();
    return 0;
}
