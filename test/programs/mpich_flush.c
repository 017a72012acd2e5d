/* SPDX-License-Identifier: BSD-3-Clause */
/* mpich_flush.c: windows that are mapped, where put and get are copies and a flush waits for
 * nobody: contents, order, and that who does nothing else answers others. Two ranks. Says "flush
 * right" at the end, or what is wrong. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { kBytes = 4096, kLongest = 1030, kRaces = 5000 };

static int rank, other;
static MPI_Win window;
static unsigned char *memory, *at_other;

static void check(int right, const char *what, long at) {
    if (right) return;
    printf("rank %d: %s, %ld\n", rank, what, at);
    fflush(stdout);
    MPI_Abort(MPI_COMM_WORLD, 1);
}

/* Each rank has one half of the other's window, and reads it back. */
static void contents(void) {
    unsigned char out[kLongest], in[kLongest];
    for (int n = 0; n <= kLongest; n = n < 20 ? n + 1 : n * 3 / 2) {
        for (int i = 0; i < n; ++i) out[i] = (unsigned char)(i * 7 + n + rank);
        memset(in, 0xEE, sizeof in);
        MPI_Put(out, n, MPI_BYTE, other, rank * kBytes / 2 + n, n, MPI_BYTE, window);
        MPI_Win_flush(other, window);
        check(memcmp(at_other + rank * kBytes / 2 + n, out, (size_t)n) == 0, "put", n);
        MPI_Get(in, n, MPI_BYTE, other, rank * kBytes / 2 + n, n, MPI_BYTE, window);
        if (n % 2 == 0)
            MPI_Win_flush_local(other, window);
        else
            MPI_Win_flush_all(window);
        check(memcmp(in, out, (size_t)n) == 0, "get", n);
    }
}

/* Every other byte: many ranges in one put, and a count and type that are others at the target. */
static void stripes(void) {
    enum { kCount = 100 };
    MPI_Datatype every_other;
    unsigned char out[2 * kCount], in[kCount];
    for (int i = 0; i < 2 * kCount; ++i) out[i] = (unsigned char)(i + rank);
    MPI_Type_vector(kCount, 1, 2, MPI_BYTE, &every_other);
    MPI_Type_commit(&every_other);
    MPI_Put(out, 1, every_other, other, rank * kBytes / 2, kCount, MPI_BYTE, window);
    MPI_Get(in, kCount / 4, MPI_INT, other, rank * kBytes / 2, kCount, MPI_BYTE, window);
    MPI_Win_flush_local_all(window);
    for (int i = 0; i < kCount; ++i) check(in[i] == out[2 * i], "stripes", i);
    MPI_Type_free(&every_other);
}

/* Both put, flush, and get what the other one put: at least one must see it. */
static void races(void) {
    static unsigned char saw[kRaces], other_saw[kRaces];
    const unsigned char one = 1;
    MPI_Barrier(MPI_COMM_WORLD); /* the other one may still read what it put here */
    for (int i = 0; i < kRaces; ++i) {
        MPI_Win_sync(window);
        if (i % kBytes == 0) memset(memory, 0, kBytes);
        MPI_Win_sync(window);
        MPI_Barrier(MPI_COMM_WORLD);
        MPI_Put(&one, 1, MPI_BYTE, other, i % kBytes, 1, MPI_BYTE, window);
        MPI_Win_flush(other, window);
        MPI_Get(&saw[i], 1, MPI_BYTE, rank, i % kBytes, 1, MPI_BYTE, window);
        MPI_Win_flush(rank, window);
        MPI_Barrier(MPI_COMM_WORLD);
    }
    MPI_Sendrecv(saw, kRaces, MPI_BYTE, other, 0, other_saw, kRaces, MPI_BYTE, other, 0,
                 MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    for (int i = 0; i < kRaces; ++i) check(saw[i] || other_saw[i], "both missed a put", i);
}

/* Rank 0 puts and flushes until rank 1's accumulate is there: an active message, which nobody but
 * rank 0 can carry out. */
static void answers(void) {
    const long one = 1;
    long *const word = (long *)memory;
    *word = 0;
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 1) {
        MPI_Accumulate(&one, 1, MPI_LONG, 0, 0, 1, MPI_LONG, MPI_SUM, window);
        MPI_Win_flush(0, window);
    } else {
        while (__atomic_load_n(word, __ATOMIC_ACQUIRE) == 0) {
            MPI_Put(&one, 1, MPI_LONG, 1, 64, 1, MPI_LONG, window);
            MPI_Win_flush(1, window);
        }
    }
    MPI_Barrier(MPI_COMM_WORLD);
}

int main(int argc, char **argv) {
    MPI_Aint bytes;
    int unit;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    other = 1 - rank;
    MPI_Win_allocate_shared(kBytes, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &window);
    MPI_Win_shared_query(window, other, &bytes, &unit, &at_other);
    MPI_Win_lock_all(0, window);
    contents();
    stripes();
    races();
    answers();
    contents(); /* now that active messages have come */
    MPI_Win_unlock_all(window);
    MPI_Win_lock(MPI_LOCK_SHARED, other, 0, window);
    MPI_Put(&rank, 1, MPI_INT, other, 0, 1, MPI_INT, window);
    MPI_Win_flush(other, window);
    check(*(int *)at_other == rank, "put in a lock", 0);
    MPI_Win_unlock(other, window);
    MPI_Win_free(&window);
    if (rank == 0) printf("flush right\n");
    MPI_Finalize();
    return 0;
}
