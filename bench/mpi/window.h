/* SPDX-License-Identifier: BSD-3-Clause */
/* window.h: put and get between a buffer of rank 0 and a window of rank 1, each followed by a
 * flush. Their target makes no MPI call meanwhile but waits for the others at the end. All ranks
 * call the same. */
#ifndef FCI_BENCH_WINDOW_H
#define FCI_BENCH_WINDOW_H

#include <mpi.h>
#include <string.h>

#include "bench/mpi/contents.h"

enum { TARGET = 1 };

static MPI_Win window_of_all = MPI_WIN_NULL;
static unsigned char *window_base;

static void window_open(size_t bytes) {
    MPI_Win_allocate((MPI_Aint)bytes, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &window_base,
                     &window_of_all);
    MPI_Win_lock_all(MPI_MODE_NOCHECK, window_of_all);
}

static void window_close(void) {
    MPI_Win_unlock_all(window_of_all);
    MPI_Win_free(&window_of_all);
}

static double window_put(size_t bytes, long rounds) {
    int n = (int)bytes;
    double begin = MPI_Wtime();
    for (long i = 0; rank == 0 && i < rounds; ++i) {
        MPI_Put(out, n, MPI_BYTE, TARGET, 0, n, MPI_BYTE, window_of_all);
        MPI_Win_flush(TARGET, window_of_all);
    }
    return MPI_Wtime() - begin;
}

static double window_get(size_t bytes, long rounds) {
    int n = (int)bytes;
    double begin = MPI_Wtime();
    for (long i = 0; rank == 0 && i < rounds; ++i) {
        MPI_Get(in, n, MPI_BYTE, TARGET, 0, n, MPI_BYTE, window_of_all);
        MPI_Win_flush(TARGET, window_of_all);
    }
    return MPI_Wtime() - begin;
}

/* There is no window yet when this is called before the timing, and none any more afterwards. */
static void window_verify(size_t bytes) {
    const int first = window_of_all == MPI_WIN_NULL;
    if (first) window_open(bytes);
    for (unsigned round = 0; round < 4; ++round) {
        fill(out, bytes, round);
        memset(in, 0xEE, bytes);
        window_put(bytes, 1);
        MPI_Barrier(MPI_COMM_WORLD);
        MPI_Win_sync(window_of_all);
        if (rank == TARGET) check(window_base, bytes, round);
        window_get(bytes, 1);
        if (rank == 0) check(in, bytes, round);
        MPI_Barrier(MPI_COMM_WORLD);
    }
    if (!first) window_close();
}

#endif
