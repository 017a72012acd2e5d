/* SPDX-License-Identifier: BSD-3-Clause */
/* spawner.c: ranks that spawn others, which is how a few processes meet many.
 *
 *   spawner CHILDREN
 *
 * All ranks together spawn so many. Parents and children merge, each sends a short and a long
 * message to the next and receives those of the one before, and all add up their ranks. Then they
 * part, and the parents go on among themselves. Rank 0 of the parents prints at the end:
 *
 *   met P + C, parted
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SHORT = 8, LONG = 300000, TAG = 7 };

static int pass_on(MPI_Comm all, int bytes) {
    int rank, size, wrong = 0;
    MPI_Comm_rank(all, &rank);
    MPI_Comm_size(all, &size);
    const int before = (rank + size - 1) % size, after = (rank + 1) % size;
    unsigned char *out = malloc((size_t)bytes), *in = malloc((size_t)bytes);
    if (out == NULL || in == NULL) MPI_Abort(MPI_COMM_WORLD, 2);
    memset(out, rank + 1, (size_t)bytes);
    MPI_Sendrecv(out, bytes, MPI_BYTE, after, TAG, in, bytes, MPI_BYTE, before, TAG, all,
                 MPI_STATUS_IGNORE);
    for (int i = 0; i < bytes; i++) wrong += in[i] != (unsigned char)(before + 1);
    free(out);
    free(in);
    return wrong;
}

int main(int argc, char **argv) {
    MPI_Comm parents, others, all;
    int children = argc > 1 ? atoi(argv[1]) : 0, world, rank, size, sum = 0, wrong;
    MPI_Init(&argc, &argv);
    MPI_Comm_size(MPI_COMM_WORLD, &world);
    MPI_Comm_get_parent(&parents);
    const int is_parent = parents == MPI_COMM_NULL;
    if (is_parent)
        MPI_Comm_spawn(argv[0], MPI_ARGV_NULL, children, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &others,
                       MPI_ERRCODES_IGNORE);
    else
        others = parents;
    MPI_Intercomm_merge(others, !is_parent, &all);
    MPI_Comm_rank(all, &rank);
    MPI_Comm_size(all, &size);
    wrong = pass_on(all, SHORT) + pass_on(all, LONG);
    MPI_Allreduce(MPI_IN_PLACE, &wrong, 1, MPI_INT, MPI_SUM, all);
    MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, all);
    MPI_Comm_free(&all);
    MPI_Comm_disconnect(&others);
    MPI_Barrier(MPI_COMM_WORLD);
    if (is_parent && rank == 0) {
        if (wrong != 0 || size != world + children || sum != size * (size - 1) / 2)
            printf("%d wrong bytes, %d ranks, sum %d\n", wrong, size, sum);
        else
            printf("met %d + %d, parted\n", world, children);
    }
    MPI_Finalize();
    return 0;
}
