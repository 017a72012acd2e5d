/* SPDX-License-Identifier: BSD-3-Clause */
/* deaf: rank 1 calls nothing of MPI for a long time while messages wait for it: 1 MiB of short ones
 * and, once half of it may be there, one of 8 MiB. All of it must arrive, also where rank 0 goes
 * into MPI_Finalize meanwhile.
 *   deaf SECONDS waits|finalizes|stops
 * stops: it is stopped by a signal, and finds its clock moved on. */
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { kShort = 8000, kShorts = 131, kLong = 8 << 20, kLooks = 200 };

static unsigned char byte_of(int number, int at) { return (unsigned char)(number * 31 + at * 7); }

static void fill(unsigned char* data, int bytes, int number) {
    for (int i = 0; i < bytes; ++i) data[i] = byte_of(number, i);
}

static int is_right(const unsigned char* data, int bytes, int number) {
    for (int i = 0; i < bytes; ++i) {
        if (data[i] != byte_of(number, i)) return 0;
    }
    return 1;
}

static void sends(int has_long) {
    static unsigned char shorts[kShorts][kShort];
    unsigned char* const data = malloc(kLong);
    MPI_Request requests[kShorts + 1];
    fill(data, kLong, kShorts);
    if (has_long) MPI_Isend(data, kLong, MPI_BYTE, 1, kShorts, MPI_COMM_WORLD, &requests[kShorts]);
    for (int i = 0; i < kShorts; ++i) {
        fill(shorts[i], kShort, i);
        MPI_Isend(shorts[i], kShort, MPI_BYTE, 1, i, MPI_COMM_WORLD, &requests[i]);
    }
    MPI_Waitall(kShorts + has_long, requests, MPI_STATUSES_IGNORE);
    free(data);
}

/* To the network these are the same as computing. */
static int goes_away(int seconds, int stops) {
    if (stops) {
        char command[64];
        snprintf(command, sizeof command, "(sleep %d; kill -CONT %d) &", seconds, (int)getpid());
        return system(command) == 0 && raise(SIGSTOP) == 0;
    }
    const struct timespec away = {(time_t)seconds, 0};
    return nanosleep(&away, NULL) == 0;
}

static int receives(int seconds, int has_long, int stops) {
    unsigned char* const data = malloc(kLong);
    MPI_Request request = MPI_REQUEST_NULL;
    int right, done = 0;
    if (has_long) MPI_Irecv(data, kLong, MPI_BYTE, 0, kShorts, MPI_COMM_WORLD, &request);
    for (int i = 0; i < kLooks && has_long && !done; ++i) {
        MPI_Test(&request, &done, MPI_STATUS_IGNORE);
    }
    right = goes_away(seconds, stops);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    if (has_long) right = right && is_right(data, kLong, kShorts);
    for (int i = 0; i < kShorts; ++i) {
        MPI_Recv(data, kShort, MPI_BYTE, 0, i, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        right = right && is_right(data, kShort, i);
    }
    free(data);
    return right;
}

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    int rank;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    const int seconds = argc > 1 ? atoi(argv[1]) : 15;
    const int has_long = argc < 3 || strcmp(argv[2], "finalizes") != 0;
    int right = 1;
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) sends(has_long);
    if (rank == 1) right = receives(seconds, has_long, argc > 2 && strcmp(argv[2], "stops") == 0);
    if (rank == 1) printf("deaf: %s\n", right ? "all right" : "WRONG");
    MPI_Finalize();
    return right ? 0 : 1;
}
