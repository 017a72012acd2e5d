/* calm.c: what ranks cost that wait, and whether those that work get the cores.
 *
 *   calm MODE SECONDS
 *   calm steps COUNT
 *
 *   recv     all ranks but 0 wait in MPI_Recv
 *   barrier  ... in MPI_Barrier
 *   probe    ... in MPI_Probe
 *   compute  ... in MPI_Barrier, but rank 1 computes as well as rank 0, and never calls MPI
 *   mixed    ... in a loop of MPI_Test that also looks at a word of shared memory
 *   window   as recv, after a window was made and freed
 *
 * Rank 0 lets them wait for a second, looks at the processor time of each over SECONDS, and then
 * ends their wait, one by one but for barriers. It prints
 *
 *   rank R used P % of a core
 *   answer after U us         the slowest, from the end of its wait to what it answers
 *   rank R computed P %       compute only: of a core
 *
 * With `steps` nobody waits: all ranks take COUNT small steps and look for messages before each, by
 * MPI_Testany: all others send them one when they are through. Rank 0 prints
 *
 *   N steps in S s            of the slowest
 */
#define _GNU_SOURCE
#include <mpi.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "bench/mpi/shared_page.h"

enum { TAG = 7, ANSWER = 8, MOST = 256 };

struct page {
    atomic_int ended; /* the wait of ranks below this one */
    atomic_int measured;
};
static struct page *page;
static int rank, ranks;

static double seconds_of(clockid_t clock) {
    struct timespec t;
    clock_gettime(clock, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static double now(void) { return seconds_of(CLOCK_MONOTONIC); }

static void compute_until(double end) {
    volatile double x = 1;
    while (now() < end)
        for (int i = 0; i < 10000; i++) x = x * 1.0000001 + 1e-9;
}

/* Sleeps, or computes, for so long, and says what all others have used meanwhile. */
static void look(const int *pids, double seconds, int computes) {
    clockid_t clock[MOST];
    double before[MOST], begin = now();
    for (int other = 0; other < ranks; other++) {
        if (clock_getcpuclockid(pids[other], &clock[other]) != 0) MPI_Abort(MPI_COMM_WORLD, 3);
        before[other] = seconds_of(clock[other]);
    }
    if (computes) {
        compute_until(begin + seconds);
    } else {
        usleep((useconds_t)(seconds * 1e6));
    }
    const double span = now() - begin;
    for (int other = 0; other < ranks; other++) {
        const double share = 100 * (seconds_of(clock[other]) - before[other]) / span;
        if (computes && other < 2) {
            printf("rank %d computed %.2f %%\n", other, share);
        } else if (other > 0) {
            printf("rank %d used %.2f %% of a core\n", other, share);
        }
    }
}

static void wait_for_end(const char *mode) {
    int number = 0, done = 0;
    MPI_Request request;
    if (strcmp(mode, "recv") == 0 || strcmp(mode, "window") == 0) {
        MPI_Recv(&number, 1, MPI_INT, 0, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    } else if (strcmp(mode, "probe") == 0) {
        MPI_Probe(0, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Recv(&number, 1, MPI_INT, 0, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    } else if (strcmp(mode, "mixed") == 0) {
        MPI_Irecv(&number, 1, MPI_INT, 0, TAG, MPI_COMM_WORLD, &request);
        while (!done && atomic_load(&page->ended) < rank) {
            MPI_Test(&request, &done, MPI_STATUS_IGNORE);
        }
    } else {
        MPI_Barrier(MPI_COMM_WORLD);
    }
    MPI_Send(&rank, 1, MPI_INT, 0, ANSWER, MPI_COMM_WORLD);
    if (strcmp(mode, "mixed") == 0) MPI_Wait(&request, MPI_STATUS_IGNORE);
}

static void end_waits(const char *mode) {
    const int together = strcmp(mode, "barrier") == 0 || strcmp(mode, "compute") == 0;
    const int mixed = strcmp(mode, "mixed") == 0;
    double slowest = 0, begin = now();
    if (together) MPI_Barrier(MPI_COMM_WORLD);
    for (int other = 1; other < ranks; other++) {
        int number = other;
        if (!together) begin = now();
        if (mixed) atomic_store(&page->ended, other);
        if (!together && !mixed) MPI_Send(&number, 1, MPI_INT, other, TAG, MPI_COMM_WORLD);
        MPI_Recv(&number, 1, MPI_INT, other, ANSWER, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        if (now() - begin > slowest) slowest = now() - begin;
        if (mixed) MPI_Send(&number, 1, MPI_INT, other, TAG, MPI_COMM_WORLD);
    }
    printf("answer after %.0f us\n", slowest * 1e6);
}

static void make_and_free_window(void) {
    MPI_Win window;
    void *memory;
    MPI_Win_allocate(64, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &window);
    MPI_Win_fence(0, window);
    MPI_Win_free(&window);
}

static void take_steps(long count) {
    MPI_Request requests[MOST];
    int numbers[MOST], done = 0, at, others = 0;
    volatile double x = 1;
    for (int other = 0; other < ranks; other++) {
        if (other == rank) continue;
        MPI_Irecv(&numbers[others], 1, MPI_INT, other, TAG, MPI_COMM_WORLD, &requests[others]);
        others++;
    }
    MPI_Barrier(MPI_COMM_WORLD);
    double seconds = now();
    for (long step = 0; step < count; step++) {
        MPI_Testany(others, requests, &at, &done, MPI_STATUS_IGNORE);
        for (int i = 0; i < 20; i++) x = x * 1.0000001 + 1e-9;
    }
    seconds = now() - seconds;
    for (int other = 0; other < ranks; other++)
        if (other != rank) MPI_Send(&rank, 1, MPI_INT, other, TAG, MPI_COMM_WORLD);
    MPI_Waitall(others, requests, MPI_STATUSES_IGNORE);
    for (int i = 0; i < others; i++)
        if (numbers[i] != (i < rank ? i : i + 1)) MPI_Abort(MPI_COMM_WORLD, 1);
    MPI_Allreduce(MPI_IN_PLACE, &seconds, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    if (rank == 0) printf("%ld steps in %.2f s\n", count, seconds);
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    if (argc != 3 || ranks < 2 || ranks > MOST) MPI_Abort(MPI_COMM_WORLD, 2);
    const char *const mode = argv[1];
    const double seconds = atof(argv[2]);
    if (strcmp(mode, "steps") == 0) {
        take_steps(atol(argv[2]));
        MPI_Finalize();
        return 0;
    }
    const int computes = strcmp(mode, "compute") == 0;
    int pid = (int)getpid(), pids[MOST];
    MPI_Gather(&pid, 1, MPI_INT, pids, 1, MPI_INT, 0, MPI_COMM_WORLD);
    if (strcmp(mode, "window") == 0) make_and_free_window();
    page = shared_page(sizeof *page);
    if (page == NULL) MPI_Abort(MPI_COMM_WORLD, 2);
    if (rank == 0) {
        usleep(1000000);
        look(pids, seconds, computes);
        atomic_store(&page->measured, 1);
        end_waits(mode);
    } else {
        while (computes && rank == 1 && !atomic_load(&page->measured)) compute_until(now() + 0.01);
        wait_for_end(mode);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Finalize();
    return 0;
}
