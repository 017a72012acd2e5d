/* SPDX-License-Identifier: BSD-3-Clause */
/* Windows of MPI: puts, gets and accumulates of all lengths, locks, counters that all ranks take
 * numbers from, everything checked. Says "windows right" at the end.
 *   windows [swap]    also MPI_Compare_and_swap, of which Open MPI 4.1 dies over any btl/ofi */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LONGS = 1 << 19, ROUNDS = 300 };

static int rank, ranks, next, previous;
static long *memory, *buffer;
static MPI_Win window;

static void check(int right, const char *what, long at)
{
    if (right)
        return;
    fprintf(stderr, "rank %d: %s, %ld\n", rank, what, at);
    MPI_Abort(MPI_COMM_WORLD, 1);
}

static long value(int from, long length, long i)
{
    return from * 1000003L + length * 31 + i;
}

static void puts_and_gets(void)
{
    for (long length = 1; length <= LONGS; length = length * 3 + length % 2) {
        for (long i = 0; i < length; i++)
            buffer[i] = value(rank, length, i);
        MPI_Win_fence(0, window);
        MPI_Put(buffer, (int) length, MPI_LONG, next, LONGS - length, (int) length, MPI_LONG,
                window);
        MPI_Win_fence(0, window);
        for (long i = 0; i < length; i++)
            check(memory[LONGS - length + i] == value(previous, length, i), "put", i);
        MPI_Win_fence(0, window);
        memset(buffer, 0, length * sizeof *buffer);
        MPI_Get(buffer, (int) length, MPI_LONG, next, LONGS - length, (int) length, MPI_LONG,
                window);
        MPI_Win_fence(0, window);
        for (long i = 0; i < length; i++)
            check(buffer[i] == value(rank, length, i), "get", i);
    }
}

/* Every second element there, so that one put is many ranges. */
static void strided(void)
{
    MPI_Datatype stripes;
    enum { COUNT = 1000 };
    MPI_Type_vector(COUNT, 1, 2, MPI_LONG, &stripes);
    MPI_Type_commit(&stripes);
    for (long i = 0; i < 2 * COUNT; i++)
        memory[i] = -1;
    for (long i = 0; i < COUNT; i++)
        buffer[i] = value(rank, 0, i);
    MPI_Win_fence(0, window);
    MPI_Put(buffer, COUNT, MPI_LONG, next, 0, 1, stripes, window);
    MPI_Win_fence(0, window);
    for (long i = 0; i < 2 * COUNT; i++)
        check(memory[i] == (i % 2 ? -1 : value(previous, 0, i / 2)), "strided put", i);
    MPI_Type_free(&stripes);
}

static void accumulates(void)
{
    const int lengths[] = { 1, 100, 1000, 50000 };
    double *const sums = (double *) memory, *const mine = (double *) buffer;
    for (int l = 0; l < 4; l++) {
        for (long i = 0; i < lengths[l]; i++) {
            sums[i] = 0;
            mine[i] = (double) (rank + i);
        }
        MPI_Win_fence(0, window);
        for (int to = 0; to < ranks; to++)
            MPI_Accumulate(mine, lengths[l], MPI_DOUBLE, to, 0, lengths[l], MPI_DOUBLE, MPI_SUM,
                           window);
        MPI_Win_fence(0, window);
        for (long i = 0; i < lengths[l]; i++)
            check(sums[i] == (double) (ranks * i + ranks * (ranks - 1) / 2), "accumulate", i);
    }
}

/* Numbers from one counter, or two; each comes once. */
static void counters(int swaps)
{
    const long one = 1;
    long got = 0, last = -1, total = 0;
    memory[0] = memory[1] = 0;
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_lock_all(0, window);
    for (int i = 0; i < ROUNDS; i++) {
        MPI_Fetch_and_op(&one, &got, MPI_LONG, 0, 0, MPI_SUM, window);
        MPI_Win_flush(0, window);
        check(got > last, "numbers that do not grow", got);
        last = got;
        for (long seen = -1, wanted = 0; swaps && seen != wanted;) {
            wanted = seen < 0 ? 0 : seen;
            const long more = wanted + 1;
            MPI_Compare_and_swap(&more, &wanted, &seen, MPI_LONG, 0, 1, window);
            MPI_Win_flush(0, window);
        }
    }
    MPI_Win_unlock_all(window);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, window);
    for (int word = 0; word <= swaps; word++) {
        MPI_Get(&total, 1, MPI_LONG, 0, word, 1, MPI_LONG, window);
        MPI_Win_flush(0, window);
        check(total == (long) ROUNDS * ranks, "a counter", total);
    }
    MPI_Win_unlock(0, window);
    MPI_Barrier(MPI_COMM_WORLD);
}

/* A value of two words that only holders of the lock change. */
static void locks(void)
{
    long pair[2];
    memory[0] = memory[1] = 0;
    MPI_Barrier(MPI_COMM_WORLD);
    for (int i = 0; i < ROUNDS / 3; i++) {
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, window);
        MPI_Get(pair, 2, MPI_LONG, 0, 0, 2, MPI_LONG, window);
        MPI_Win_flush(0, window);
        check(pair[0] == pair[1], "a lock that does not hold", pair[0]);
        pair[0]++;
        pair[1]++;
        MPI_Put(pair, 2, MPI_LONG, 0, 0, 2, MPI_LONG, window);
        MPI_Win_unlock(0, window);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) {
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, window);
        check(memory[0] == (long) (ROUNDS / 3) * ranks, "a sum under a lock", memory[0]);
        MPI_Win_unlock(0, window);
    }
    MPI_Barrier(MPI_COMM_WORLD);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    next = (rank + 1) % ranks;
    previous = (rank + ranks - 1) % ranks;
    memory = calloc(LONGS, sizeof *memory);
    buffer = calloc(LONGS, sizeof *buffer);
    MPI_Win_create(memory, LONGS * sizeof *memory, sizeof *memory, MPI_INFO_NULL, MPI_COMM_WORLD,
                   &window);
    puts_and_gets();
    strided();
    accumulates();
    counters(argc > 1 && strcmp(argv[1], "swap") == 0);
    locks();
    MPI_Win_free(&window);
    if (rank == 0)
        printf("windows right\n");
    MPI_Finalize();
    free(memory);
    free(buffer);
    return 0;
}
