/* SPDX-License-Identifier: BSD-3-Clause */
/* collectives.h: operations among all ranks, and looks between small steps; each with a way that
 * verifies what it brought. All ranks call the same. */
#ifndef FCI_BENCH_COLLECTIVES_H
#define FCI_BENCH_COLLECTIVES_H

#include <mpi.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include "bench/handoff.h"
#include "bench/mpi/contents.h"

enum { STEPS = 1000, STEP_TAG = 9 };

static int ranks;

static double barrier(size_t bytes, long rounds) {
    (void)bytes;
    double begin = MPI_Wtime();
    for (long i = 0; i < rounds; ++i) MPI_Barrier(MPI_COMM_WORLD);
    return MPI_Wtime() - begin;
}

static double allreduce(size_t bytes, long rounds) {
    double begin = MPI_Wtime();
    for (long i = 0; i < rounds; ++i)
        MPI_Allreduce(out, in, (int)(bytes / 8), MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    return MPI_Wtime() - begin;
}

static double bcast(size_t bytes, long rounds) {
    double begin = MPI_Wtime();
    for (long i = 0; i < rounds; ++i)
        MPI_Bcast(in, (int)bytes, MPI_BYTE, (int)(i % ranks), MPI_COMM_WORLD);
    return MPI_Wtime() - begin;
}

/* The same, begun and then waited for. */

static double ibarrier(size_t bytes, long rounds) {
    MPI_Request request;
    (void)bytes;
    double begin = MPI_Wtime();
    for (long i = 0; i < rounds; ++i) {
        MPI_Ibarrier(MPI_COMM_WORLD, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
    return MPI_Wtime() - begin;
}

static double iallreduce(size_t bytes, long rounds) {
    MPI_Request request;
    double begin = MPI_Wtime();
    for (long i = 0; i < rounds; ++i) {
        MPI_Iallreduce(out, in, (int)(bytes / 8), MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
    return MPI_Wtime() - begin;
}

static double ibcast(size_t bytes, long rounds) {
    MPI_Request request;
    double begin = MPI_Wtime();
    for (long i = 0; i < rounds; ++i) {
        MPI_Ibcast(in, (int)bytes, MPI_BYTE, (int)(i % ranks), MPI_COMM_WORLD, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
    return MPI_Wtime() - begin;
}

static double alltoall(size_t bytes, long rounds) {
    int n = (int)bytes;
    double begin = MPI_Wtime();
    for (long i = 0; i < rounds; ++i)
        MPI_Alltoall(out, n, MPI_BYTE, in, n, MPI_BYTE, MPI_COMM_WORLD);
    return MPI_Wtime() - begin;
}

/* Each rank sends the result of its steps to the next one, which must have the same. */
static double look(size_t bytes, long rounds) {
    const int before = (rank + ranks - 1) % ranks, after = (rank + 1) % ranks;
    (void)bytes;
    double begin = MPI_Wtime();
    for (long i = 0; i < rounds; ++i) {
        MPI_Request request;
        int here = 0, step;
        uint64_t taken = 0, theirs = 0;
        MPI_Irecv(&theirs, 1, MPI_UINT64_T, before, STEP_TAG, MPI_COMM_WORLD, &request);
        for (step = 0; step < STEPS; ++step) {
            if (!here) MPI_Test(&request, &here, MPI_STATUS_IGNORE);
            for (int work = 0; work < 16; ++work) taken += (taken >> 3 ^ (uint64_t)work) & 1;
        }
        taken = taken << 16 | (uint64_t)step;
        MPI_Send(&taken, 1, MPI_UINT64_T, after, STEP_TAG, MPI_COMM_WORLD);
        if (!here) MPI_Wait(&request, MPI_STATUS_IGNORE);
        wrong += theirs != taken;
    }
    return MPI_Wtime() - begin;
}

/* Nobody may leave a barrier before the last one entered it. */
static void verify_barrier(size_t bytes) {
    (void)bytes;
    for (int late = 0; late < ranks && late < 4; ++late) {
        MPI_Barrier(MPI_COMM_WORLD);
        if (rank == late) usleep(2000);
        int64_t entered = fci_now_ns();
        MPI_Barrier(MPI_COMM_WORLD);
        int64_t left = fci_now_ns();
        /* One host, one clock: MPI_Allreduce carries it as a double, to 0.1 µs. */
        double mine = (double)(entered % 1000000000000LL), most = 0;
        MPI_Allreduce(&mine, &most, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
        if (left % 1000000000000LL + 1000 < (int64_t)most) ++wrong;
    }
}

static void verify_sum(double (*reduce)(size_t bytes, long rounds), size_t bytes) {
    double *from = (double *)out, *sum = (double *)in;
    size_t count = bytes / 8;
    for (size_t i = 0; i < count; ++i) from[i] = rank + 1 + (double)i, sum[i] = -1;
    reduce(bytes, 1);
    for (size_t i = 0; i < count; ++i)
        wrong += sum[i] != ranks * (ranks + 1) / 2.0 + (double)i * ranks;
}

static void verify_allreduce(size_t bytes) { verify_sum(allreduce, bytes); }
static void verify_iallreduce(size_t bytes) { verify_sum(iallreduce, bytes); }

static void verify_bcast(size_t bytes) {
    for (int root = 0; root < ranks; ++root) {
        if (rank == root)
            fill(in, bytes, (unsigned)root);
        else
            memset(in, 0xEE, bytes);
        MPI_Bcast(in, (int)bytes, MPI_BYTE, root, MPI_COMM_WORLD);
        check(in, bytes, (unsigned)root);
    }
}

static void verify_ibcast(size_t bytes) {
    if (rank == 0)
        fill(in, bytes, 1);
    else
        memset(in, 0xEE, bytes);
    ibcast(bytes, 1);
    check(in, bytes, 1);
}

static void verify_alltoall(size_t bytes) {
    for (int to = 0; to < ranks; ++to)
        fill(out + (size_t)to * bytes, bytes, (unsigned)(rank * ranks + to));
    memset(in, 0xEE, bytes * (size_t)ranks);
    alltoall(bytes, 1);
    for (int from = 0; from < ranks; ++from)
        check(in + (size_t)from * bytes, bytes, (unsigned)(from * ranks + rank));
}

static void verify_look(size_t bytes) { look(bytes, 1); }

#endif
