/* alltoall.c: everybody sends to everybody, before anybody has met, and every byte is checked.
 *   alltoall BYTES ROUNDS [barrier|bcast|allreduce]
 * The collective that is named comes before all else.
 * Prints "alltoall: N ranks, all right, the first in T ms", T of the slowest rank. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static unsigned char content(int from, int to, int at, int round) {
    return (unsigned char)(from * 31 + to * 17 + at * 7 + round * 3 + (at >> 8));
}

static void begin_with(const char *collective) {
    int word = 1, sum;
    if (strcmp(collective, "barrier") == 0)
        MPI_Barrier(MPI_COMM_WORLD);
    else if (strcmp(collective, "bcast") == 0)
        MPI_Bcast(&word, 1, MPI_INT, 0, MPI_COMM_WORLD);
    else
        MPI_Allreduce(&word, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
}

int main(int argc, char **argv) {
    int rank, size;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    const int bytes = argc >= 3 ? atoi(argv[1]) : 0;
    const int rounds = argc >= 3 ? atoi(argv[2]) : 0;
    unsigned char *out = malloc((size_t)bytes * (size_t)size + 1);
    unsigned char *in = calloc((size_t)bytes * (size_t)size + 1, 1);
    if (bytes <= 0 || rounds <= 0 || out == NULL || in == NULL) {
        fprintf(stderr, "usage: alltoall BYTES ROUNDS [COLLECTIVE]\n");
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    if (argc == 4) begin_with(argv[3]);
    double first = 0;
    for (int round = 0; round < rounds; ++round) {
        for (int to = 0; to < size; ++to)
            for (int i = 0; i < bytes; ++i) out[to * bytes + i] = content(rank, to, i, round);
        const double begin = MPI_Wtime();
        MPI_Alltoall(out, bytes, MPI_BYTE, in, bytes, MPI_BYTE, MPI_COMM_WORLD);
        if (round == 0) first = MPI_Wtime() - begin;
        for (int from = 0; from < size; ++from)
            for (int i = 0; i < bytes; ++i)
                if (in[from * bytes + i] != content(from, rank, i, round)) {
                    fprintf(stderr, "alltoall: rank %d, round %d: byte %d from rank %d is %d\n",
                            rank, round, i, from, in[from * bytes + i]);
                    MPI_Abort(MPI_COMM_WORLD, 1);
                }
    }
    free(out);
    free(in);
    MPI_Allreduce(MPI_IN_PLACE, &first, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    if (rank == 0) {
        printf("alltoall: %d ranks, all right, the first in %.0f ms\n", size, first * 1e3);
    }
    MPI_Finalize();
    return 0;
}
