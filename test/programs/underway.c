/* SPDX-License-Identifier: BSD-3-Clause */
/* underway.c: collectives that go on while others begin.
 *
 *   underway idup KIND ROUNDS   MPI_Comm_idup is under way on a communicator when KIND, its first
 *                               blocking collective, is called; no rank is always the last
 *   underway loops ROUNDS       small nonblocking collectives, so many of each kind
 *
 * Prints "underway: all right". */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { LONG = 200000 };  /* integers: 800 KB */

static int rank, size;

static void check(int is_right, const char *what) {
    if (is_right) return;
    fprintf(stderr, "underway: rank %d: %s is wrong\n", rank, what);
    MPI_Abort(MPI_COMM_WORLD, 1);
}

static void allreduce(MPI_Comm comm, int count) {
    static int own[LONG], sum[LONG];
    for (int i = 0; i < count; ++i) own[i] = rank + i;
    MPI_Allreduce(own, sum, count, MPI_INT, MPI_SUM, comm);
    for (int i = 0; i < count; ++i)
        check(sum[i] == size * (size - 1) / 2 + i * size, "MPI_Allreduce");
}

static void call(const char *kind, MPI_Comm comm, int round) {
    int all[64], sum = 0, told = rank == 0 ? round : -1;
    MPI_Comm other;
    if (strcmp(kind, "barrier") == 0) {
        MPI_Barrier(comm);
    } else if (strcmp(kind, "bcast") == 0) {
        MPI_Bcast(&told, 1, MPI_INT, 0, comm);
        check(told == round, "MPI_Bcast");
    } else if (strcmp(kind, "reduce") == 0) {
        MPI_Reduce(&rank, &sum, 1, MPI_INT, MPI_SUM, 0, comm);
        check(rank != 0 || sum == size * (size - 1) / 2, "MPI_Reduce");
    } else if (strcmp(kind, "allgather") == 0) {
        MPI_Allgather(&rank, 1, MPI_INT, all, 1, MPI_INT, comm);
        for (int i = 0; i < size; ++i) check(all[i] == i, "MPI_Allgather");
    } else if (strcmp(kind, "allreduce") == 0) {
        allreduce(comm, 1);
    } else if (strcmp(kind, "long") == 0) {
        allreduce(comm, LONG);
    } else if (strcmp(kind, "dup") == 0) {
        MPI_Comm_dup(comm, &other);
        MPI_Barrier(other);
        MPI_Comm_free(&other);
    } else {
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
}

static void idup(const char *kind, int rounds) {
    for (int round = 0; round < rounds; ++round) {
        MPI_Comm fresh, copy;
        MPI_Request request;
        MPI_Comm_dup(MPI_COMM_WORLD, &fresh);
        MPI_Comm_idup(fresh, &copy, &request);
        if (rank == round % size) usleep(300 * (round % 4));
        call(kind, fresh, round);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        call(kind, copy, round);
        /* Now that there is a group. */
        MPI_Comm_free(&copy);
        MPI_Comm_idup(fresh, &copy, &request);
        call(kind, fresh, round);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        MPI_Comm_free(&copy);
        MPI_Comm_free(&fresh);
    }
}

static void loops(int rounds) {
    MPI_Barrier(MPI_COMM_WORLD);  /* the first one forms the groups */
    for (int round = 0; round < rounds; ++round) {
        MPI_Request requests[4];
        int sum = 0, least = -1, told = rank == 0 ? round : -1;
        MPI_Iallreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &requests[0]);
        MPI_Ibarrier(MPI_COMM_WORLD, &requests[1]);
        MPI_Ibcast(&told, 1, MPI_INT, 0, MPI_COMM_WORLD, &requests[2]);
        MPI_Ireduce(&rank, &least, 1, MPI_INT, MPI_MIN, size - 1, MPI_COMM_WORLD, &requests[3]);
        MPI_Waitall(4, requests, MPI_STATUSES_IGNORE);
        check(sum == size * (size - 1) / 2, "MPI_Iallreduce");
        check(told == round, "MPI_Ibcast");
        check(least == (rank == size - 1 ? 0 : -1), "MPI_Ireduce");
    }
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (argc == 4 && strcmp(argv[1], "idup") == 0) idup(argv[2], atoi(argv[3]));
    else if (argc == 3 && strcmp(argv[1], "loops") == 0) loops(atoi(argv[2]));
    else MPI_Abort(MPI_COMM_WORLD, 2);
    if (rank == 0) puts("underway: all right");
    MPI_Finalize();
    return 0;
}
