/* SPDX-License-Identifier: BSD-3-Clause */
/* communicators.c: many that are alive at once, and many that come and go, each used; what they
 * took of memory that processes share goes back.
 *
 *   communicators ALIVE ROUNDS
 *
 * In each round so many are made, used and freed. After the first round and after the last one each
 * rank counts the shared memory that it has resident. Prints "communicators: KiB then KiB". */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 1000, SPARE_KIB = 512 };

static long shared_kib(void) {
    char line[256];
    long kib = -1;
    FILE *const file = fopen("/proc/self/status", "r");
    if (file == NULL) return -1;
    while (fgets(line, sizeof line, file) != NULL)
        if (sscanf(line, "RssShmem: %ld", &kib) == 1) break;
    fclose(file);
    return kib;
}

static void use(MPI_Comm comm, long number) {
    long mine = number, sum = 0, said = -1;
    int rank, size;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    MPI_Barrier(comm);
    MPI_Allreduce(&mine, &sum, 1, MPI_LONG, MPI_SUM, comm);
    if (rank == number % size) said = number;
    MPI_Bcast(&said, 1, MPI_LONG, (int)(number % size), comm);
    if (sum != number * size || said != number) {
        fprintf(stderr, "communicators: number %ld: sum %ld, said %ld\n", number, sum, said);
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
}

/* Rings of pairs grow while messages are not taken as they come, whenever that is: so they have all
 * that they can have before anything is counted. */
static void fill_rings(void) {
    enum { COUNT = 200, BYTES = 4096 };
    static char out[BYTES], in[BYTES];
    static MPI_Request requests[COUNT];
    int rank, size;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    for (int step = 1; step < size; ++step) {
        const int to = (rank + step) % size, from = (rank + size - step) % size;
        for (int i = 0; i < COUNT; ++i)
            MPI_Isend(out, BYTES, MPI_BYTE, to, 2, MPI_COMM_WORLD, &requests[i]);
        for (int i = 0; i < COUNT; ++i)
            MPI_Recv(in, BYTES, MPI_BYTE, from, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Waitall(COUNT, requests, MPI_STATUSES_IGNORE);
    }
}

int main(int argc, char **argv) {
    static MPI_Comm comms[MOST];
    MPI_Init(&argc, &argv);
    if (argc != 3 || atoi(argv[1]) > MOST) MPI_Abort(MPI_COMM_WORLD, 2);
    const int alive = atoi(argv[1]), rounds = atoi(argv[2]);
    long first = 0, last = 0, number = 0;
    fill_rings();
    for (int round = 0; round < rounds; ++round) {
        for (int i = 0; i < alive; ++i) {
            MPI_Comm_dup(MPI_COMM_WORLD, &comms[i]);
            use(comms[i], ++number);
        }
        for (int i = 0; i < alive; ++i) use(comms[i], ++number);
        for (int i = 0; i < alive; ++i) MPI_Comm_free(&comms[i]);
        /* Whose table it was hears at leisure that all have left it. */
        for (const double until = MPI_Wtime() + 0.2; MPI_Wtime() < until;) {
            int flag;
            MPI_Iprobe(MPI_ANY_SOURCE, 1, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
        }
        MPI_Barrier(MPI_COMM_WORLD);
        last = shared_kib();
        if (round == 0) first = last;
    }
    if (last > first + SPARE_KIB) {
        fprintf(stderr, "communicators: %ld KiB after one round, %ld after %d\n", first, last,
                rounds);
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    int rank;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank == 0) printf("communicators: %ld then %ld KiB\n", first, last);
    MPI_Finalize();
    return 0;
}
