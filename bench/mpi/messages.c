/* SPDX-License-Identifier: BSD-3-Clause */
/* messages.c: single MPI messages whose parts can be told apart, for counting instructions under
 * callgrind (bench/profile, test/instructions/calls): nobody spins inside the counted functions,
 * because every message has arrived before its wait begins. Each message is also put into a window,
 * or with a third argument sent alone and received by MPI_Recv.
 *
 *   mpicc -O2 -I. bench/mpi/messages.c -o messages && mpirun -np 2 ./messages ROUNDS BYTES [recv]
 */
#define _GNU_SOURCE
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench/mpi/shared_page.h"

#define MEASURED __attribute__((noinline))
enum { TAG = 7, GO = 8, WARM_UP = 150 };

static unsigned char out[8192], in[8192], *window_base;
static MPI_Request request;
static MPI_Win window;

MEASURED void measured_send(int bytes) {
    MPI_Send(out, bytes, MPI_BYTE, 1, TAG, MPI_COMM_WORLD);
}
MEASURED void measured_post(int bytes) {
    MPI_Irecv(in, bytes, MPI_BYTE, 0, TAG, MPI_COMM_WORLD, &request);
}
MEASURED void measured_arrival(void) { MPI_Wait(&request, MPI_STATUS_IGNORE); }
MEASURED void measured_receive(int bytes) {
    MPI_Recv(in, bytes, MPI_BYTE, 0, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}
MEASURED void measured_put(int bytes) {
    MPI_Put(out, bytes, MPI_BYTE, 1, 0, bytes, MPI_BYTE, window);
}
MEASURED void measured_flush(void) { MPI_Win_flush(1, window); }

/* How many messages rank 0 has sent, in memory that both map: no MPI call may tell it. */
static uint64_t *sent;

static int run_messages(int rounds, int bytes, int rank) {
    static uint64_t number;
    char go = 0;
    for (int i = 0; i < rounds; ++i) {
        memset(out, i, (size_t)bytes);
        if (rank == 0) {
            MPI_Recv(&go, 1, MPI_BYTE, 1, GO, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            measured_put(bytes);
            measured_flush();
            measured_send(bytes);
            __atomic_store_n(sent, ++number, __ATOMIC_RELEASE);
        } else {
            measured_post(bytes);
            MPI_Send(&go, 1, MPI_BYTE, 0, GO, MPI_COMM_WORLD);
            ++number;
            while (__atomic_load_n(sent, __ATOMIC_ACQUIRE) != number) usleep(200);
            measured_arrival();
            MPI_Win_sync(window);
            if (memcmp(out, in, (size_t)bytes) != 0) return 0;
            if (memcmp(out, window_base, (size_t)bytes) != 0) return 0;
        }
    }
    return 1;
}

static int run_receives(int rounds, int bytes, int rank) {
    static uint64_t number;
    char go = 0;
    for (int i = 0; i < rounds; ++i) {
        memset(out, i, (size_t)bytes);
        if (rank == 0) {
            MPI_Recv(&go, 1, MPI_BYTE, 1, GO, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            measured_send(bytes);
            __atomic_store_n(sent, ++number, __ATOMIC_RELEASE);
        } else {
            MPI_Send(&go, 1, MPI_BYTE, 0, GO, MPI_COMM_WORLD);
            ++number;
            while (__atomic_load_n(sent, __ATOMIC_ACQUIRE) != number) usleep(200);
            measured_receive(bytes);
            if (memcmp(out, in, (size_t)bytes) != 0) return 0;
        }
    }
    return 1;
}

MEASURED int run_counted(int rounds, int bytes, int rank, int receives) {
    return receives ? run_receives(rounds, bytes, rank) : run_messages(rounds, bytes, rank);
}

int main(int argc, char **argv) {
    int rank, fine, rounds, bytes;
    const int receives = argc > 3;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    rounds = argc > 1 ? atoi(argv[1]) : 100;
    bytes = argc > 2 ? atoi(argv[2]) : 8;
    if (bytes < 0 || bytes > (int)sizeof out) MPI_Abort(MPI_COMM_WORLD, 2);
    sent = shared_page(sizeof *sent);
    if (sent == NULL) MPI_Abort(MPI_COMM_WORLD, 2);
    MPI_Win_allocate(sizeof out, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &window_base, &window);
    MPI_Win_lock_all(0, window);
    MPI_Barrier(MPI_COMM_WORLD);
    fine = receives ? run_receives(WARM_UP, bytes, rank) : run_messages(WARM_UP, bytes, rank);
    fine = fine && run_counted(rounds, bytes, rank, receives);
    if (!fine) fprintf(stderr, "messages: wrong contents\n");
    MPI_Win_unlock_all(window);
    MPI_Win_free(&window);
    MPI_Finalize();
    return fine ? 0 : 1;
}
