/* SPDX-License-Identifier: BSD-3-Clause */
/* calm.c: what ranks cost that wait, whether they are woken, and whether those that work go on.
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
 * Rank 0 lets them wait for a second, looks at the processor time of each over SECONDS, and at how
 * often it woke up. From then on no sleep of theirs ends by time, but in `mixed`, where nobody
 * wakes them. Once all sleep so, rank 0 ends their wait, one by one but for barriers. It prints
 *
 *   rank R used U us, woke up N times in S s
 *   answers from all          they were woken; else this program hangs
 *
 * With `steps` nobody waits: all ranks take COUNT small steps and look for messages before each, by
 * MPI_Testany: all others send them one when they are through. Each prints, as the kernel counts,
 *
 *   N steps, slept T times for S s, ran for R, waited for a core for W
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
#include "test/programs/sleeps.c"

enum { TAG = 7, ANSWER = 8, MOST = 256 };

struct page {
    atomic_int ended; /* the wait of ranks below this one */
    atomic_int measured;
    atomic_int sleep_for_good; /* ranks that do */
};
static struct page *page;
static int rank, ranks;

/* --- sleeps of a rank that waits --- */

static __thread int waits_for_a_wake;

/* From when it has been measured how the rank waits. */
static int never_ends(int by_time) {
    if (!waits_for_a_wake || !by_time || !atomic_load(&page->measured)) return 0;
    if (waits_for_a_wake == 1) atomic_fetch_add(&page->sleep_for_good, 1);
    waits_for_a_wake = 2;
    return 1;
}

/* --- the ranks --- */

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

/* How often a process has slept so far. */
static long sleeps_of(int pid) {
    char line[256];
    long sleeps = -1;
    snprintf(line, sizeof line, "/proc/%d/status", pid);
    FILE *const status = fopen(line, "r");
    if (status == NULL) MPI_Abort(MPI_COMM_WORLD, 3);
    while (sleeps < 0 && fgets(line, sizeof line, status) != NULL)
        (void)sscanf(line, "voluntary_ctxt_switches: %ld", &sleeps);
    fclose(status);
    return sleeps;
}

/* Sleeps, or computes, for so long, and says what all that wait have done meanwhile. */
static void look(const int *pids, double seconds, int computes) {
    clockid_t clock[MOST];
    double used[MOST], begin = now();
    long slept[MOST];
    for (int other = 0; other < ranks; other++) {
        if (clock_getcpuclockid(pids[other], &clock[other]) != 0) MPI_Abort(MPI_COMM_WORLD, 3);
        used[other] = seconds_of(clock[other]);
        slept[other] = sleeps_of(pids[other]);
    }
    if (computes) {
        compute_until(begin + seconds);
    } else {
        usleep((useconds_t)(seconds * 1e6));
    }
    for (int other = computes ? 2 : 1; other < ranks; other++) {
        used[other] = seconds_of(clock[other]) - used[other];
        printf("rank %d used %.0f us, woke up %ld times in %.2f s\n", other, used[other] * 1e6,
               sleeps_of(pids[other]) - slept[other], now() - begin);
    }
    fflush(stdout);
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
    const int wait = strcmp(mode, "compute") == 0 ? ranks - 2 : ranks - 1;
    while (!mixed && atomic_load(&page->sleep_for_good) < wait) usleep(1000);
    if (together) MPI_Barrier(MPI_COMM_WORLD);
    for (int other = 1; other < ranks; other++) {
        int number = other;
        if (mixed) atomic_store(&page->ended, other);
        if (!together && !mixed) MPI_Send(&number, 1, MPI_INT, other, TAG, MPI_COMM_WORLD);
        MPI_Recv(&number, 1, MPI_INT, other, ANSWER, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        if (mixed) MPI_Send(&number, 1, MPI_INT, other, TAG, MPI_COMM_WORLD);
    }
    puts("answers from all");
}

static void make_and_free_window(void) {
    MPI_Win window;
    void *memory;
    MPI_Win_allocate(64, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &window);
    MPI_Win_fence(0, window);
    MPI_Win_free(&window);
}

/* Seconds for which this thread has run, and for which it stood in a run queue. */
static void own_schedule(double *ran, double *queued) {
    unsigned long long ran_ns = 0, queued_ns = 0;
    FILE *const file = fopen("/proc/thread-self/schedstat", "r");
    if (file == NULL || fscanf(file, "%llu %llu", &ran_ns, &queued_ns) != 2)
        MPI_Abort(MPI_COMM_WORLD, 3);
    fclose(file);
    *ran = (double)ran_ns * 1e-9;
    *queued = (double)queued_ns * 1e-9;
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
    double ran[2], queued[2], begin = now();
    long slept = sleeps_of((int)getpid());
    own_schedule(&ran[0], &queued[0]);
    for (long step = 0; step < count; step++) {
        MPI_Testany(others, requests, &at, &done, MPI_STATUS_IGNORE);
        for (int i = 0; i < 20; i++) x = x * 1.0000001 + 1e-9;
    }
    const double seconds = now() - begin;
    own_schedule(&ran[1], &queued[1]);
    slept = sleeps_of((int)getpid()) - slept;
    for (int other = 0; other < ranks; other++)
        if (other != rank) MPI_Send(&rank, 1, MPI_INT, other, TAG, MPI_COMM_WORLD);
    MPI_Waitall(others, requests, MPI_STATUSES_IGNORE);
    for (int i = 0; i < others; i++)
        if (numbers[i] != (i < rank ? i : i + 1)) MPI_Abort(MPI_COMM_WORLD, 1);
    ran[1] -= ran[0];
    queued[1] -= queued[0];
    printf("%ld steps, slept %ld times for %.3f s, ran for %.3f, waited for a core for %.3f\n",
           count, slept, seconds - ran[1] - queued[1], ran[1], queued[1]);
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
        waits_for_a_wake = strcmp(mode, "mixed") != 0 && !(computes && rank == 1);
        wait_for_end(mode);
        waits_for_a_wake = 0;
    }
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Finalize();
    return 0;
}
