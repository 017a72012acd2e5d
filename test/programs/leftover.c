/* SPDX-License-Identifier: BSD-3-Clause */
/* leftover.c: messages that nobody receives, on communicators that end. The next communicator may
 * get their context id, and must not get their messages.
 *
 *   leftover MODE
 *
 *   arrived   short ones, which are at their receiver when the communicator ends there
 *   coming    short ones, which may still be on their way
 *   pending   long ones, of which the receiver knows; it counts as receiving them that it frees
 *             the communicator
 *
 * In each round rank 0 sends to rank 1 on three communicators, which are freed. On a fourth one
 * nothing may wait, and what rank 0 sends is what rank 1 receives. Prints "leftover: all right".
 */
#include <mpi.h>
#include <stdio.h>
#include <string.h>

enum { ROUNDS = 40, TIMES = 3, TAG = 5, LONG = 100000 };

static void wrong(const char *what, int round, int got) {
    fprintf(stderr, "leftover: round %d: %s (%d)\n", round, what, got);
    MPI_Abort(MPI_COMM_WORLD, 1);
}

static void check(int rank, int round) {
    MPI_Comm comm;
    int flag = 0, number = 7;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    if (rank == 1) {
        MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, comm, &flag, MPI_STATUS_IGNORE);
        if (flag) wrong("a message waits on a new communicator", round, flag);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) MPI_Send(&number, 1, MPI_INT, 1, TAG, comm);
    if (rank == 1) {
        number = 0;
        MPI_Recv(&number, 1, MPI_INT, 0, MPI_ANY_TAG, comm, MPI_STATUS_IGNORE);
        if (number != 7) wrong("received what was sent on another communicator", round, number);
    }
    MPI_Comm_free(&comm);
}

int main(int argc, char **argv) {
    int rank;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (argc != 2) MPI_Abort(MPI_COMM_WORLD, 2);
    const int coming = strcmp(argv[1], "coming") == 0, pending = strcmp(argv[1], "pending") == 0;
    static int data[LONG];
    for (int round = 0; round < ROUNDS; ++round) {
        MPI_Request requests[TIMES];
        for (int time = 0; time < TIMES; ++time) {
            MPI_Comm comm;
            MPI_Comm_dup(MPI_COMM_WORLD, &comm);
            data[0] = 1000 + round;
            if (rank == 0 && pending) MPI_Isend(data, LONG, MPI_INT, 1, TAG, comm, &requests[time]);
            if (rank == 0 && !pending) MPI_Send(data, 1, MPI_INT, 1, TAG, comm);
            if (!coming) MPI_Barrier(MPI_COMM_WORLD);
            MPI_Comm_free(&comm);
        }
        check(rank, round);
        if (rank == 0 && pending) MPI_Waitall(TIMES, requests, MPI_STATUSES_IGNORE);
    }
    MPI_Finalize();
    if (rank == 0) printf("leftover: all right\n");
    return 0;
}
