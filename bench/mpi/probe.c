/* SPDX-License-Identifier: BSD-3-Clause */
/* probe.c: one small MPI program that every MPI is measured with. Plain C; MPI-1 calls, but
 * for the cases with windows.
 *
 *   mpicc -O2 -I. bench/mpi/probe.c -o probe
 *   mpirun -np 2 ./probe --ms 20 latency:8 rate:8 stream:1048576
 *
 * Each argument is a case, CASE[:BYTES]:
 *   latency   one way, send then receive against receive then send (dissertation, algorithm 4.1)
 *   posted    one way, both post the receive before they send (algorithm 4.2)
 *   walk      as latency, but the buffers walk through 64 MiB, so nothing is in a cache
 *   malloced  as latency, but with buffers as of malloc(), 16 bytes behind a page
 *   rewritten as latency, but the sender writes all of its buffer before each send; with that time
 *   depth-posted, depth-unexpected
 *             as latency with 8 bytes, behind BYTES (a number here) receives that never match, or
 *             messages that nobody has received yet, at both ranks
 *   rate      messages per second, in windows of 64 nonblocking sends and receives, of 64 MiB at
 *             most, each followed by an answer; stream: GB/s of the same
 *   wire, wire-rate, wire-stream
 *             as latency, rate and stream, over a bare TCP socket: the floor between hosts;
 *             wire-more: as wire-rate, the kernel told that more follows
 *   put, get  MPI_Put or MPI_Get and a flush, between rank 0 and a window at rank 1
 *   barrier, allreduce, bcast (the root moves on), alltoall (BYTES for each pair of ranks), among
 *             all ranks; the time of the slowest rank; ibarrier, iallreduce, ibcast: begun first
 *   look      an MPI_Test that finds nothing, before each of many small steps, on all ranks; a
 *             message ends each 1000 of them
 * One line is printed for each: "probe " and a JSON object. t_c is taken between ranks 0 and 1
 * before and after each sample, in memory that they share besides MPI; where they are on different
 * hosts, within rank 0, by a thread that takes another core (0: there is none). Contents are
 * verified outside of the timed loops, through the same buffers; a wrong byte ends the program with
 * exit code 1. */
#define _GNU_SOURCE
#include <mpi.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "bench/handoff.h"
#include "bench/mpi/collectives.h"
#include "bench/mpi/contents.h"
#include "bench/mpi/pile.h"
#include "bench/mpi/shared_page.h"
#include "bench/mpi/window.h"
#include "bench/mpi/wire.h"

enum { WINDOW = 64, TAG = 7, ANSWER = 8, BATCHES = 20, CROWDED_BATCHES = 5, ENOUGH = 3 };
static const size_t kWalkBytes = (size_t)64 << 20;

static long budget_ms = 20;
static int batches = BATCHES; /* in which a sample is taken */

/* --- t_c --- */

struct shared {
    struct fci_handoff token;
    uint64_t phase; /* how often rank 0 measured; the others wait for it asleep */
};
static struct shared *shared;
static uint64_t phase;

/* Ranks that were not bound to one core each borrow two different ones. */
static void borrow_core(cpu_set_t *before) {
    cpu_set_t one;
    int wanted, core = -1;
    CPU_ZERO(before);
    sched_getaffinity(0, sizeof *before, before);
    wanted = CPU_COUNT(before) > 1 ? rank : 0;
    while (core < CPU_SETSIZE - 1 && wanted >= 0)
        if (CPU_ISSET(++core, before)) --wanted;
    CPU_ZERO(&one);
    CPU_SET(core, &one);
    sched_setaffinity(0, sizeof one, &one);
}

/* The other side of rank 0 where the ranks share no memory. */
static void *other_side(void *token) {
    cpu_set_t one;
    int here = sched_getcpu(), core = 0;
    do {
        CPU_ZERO(&one);
        CPU_SET(core == here ? ++core : core, &one);
    } while (sched_setaffinity(0, sizeof one, &one) != 0 && ++core < CPU_SETSIZE);
    if (core < CPU_SETSIZE) fci_handoff_pong(token);
    return NULL;
}

/* The others are asleep meanwhile, as they would disturb it. */
static double take_tc_alone(void) {
    static struct fci_handoff token;
    double tc = 0;
    cpu_set_t before;
    pthread_t other;
    if (rank == 0) {
        borrow_core(&before);
        if (pthread_create(&other, NULL, other_side, &token) == 0) {
            tc = fci_handoff_ping(&token);
            pthread_join(other, NULL);
        }
        sched_setaffinity(0, sizeof before, &before);
        for (int i = 1; i < ranks; ++i) MPI_Send(NULL, 0, MPI_BYTE, i, TAG, MPI_COMM_WORLD);
        return tc;
    }
    for (int over = 0; !over; usleep(500))
        MPI_Iprobe(0, TAG, MPI_COMM_WORLD, &over, MPI_STATUS_IGNORE);
    MPI_Recv(NULL, 0, MPI_BYTE, 0, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    return 0;
}

static double take_tc(void) {
    double tc = 0;
    if (ranks < 2) return 0;
    if (shared == NULL) return take_tc_alone();
    ++phase;
    if (rank > 1) {
        while (fci_handoff_look(&shared->phase) < phase) usleep(500);
        return 0;
    }
    cpu_set_t before;
    borrow_core(&before);
    if (rank == 0) {
        tc = fci_handoff_ping(&shared->token);
        fci_handoff_put(&shared->phase, phase);
    } else {
        fci_handoff_pong(&shared->token);
    }
    sched_setaffinity(0, sizeof before, &before);
    return tc;
}

/* --- cases --- */

struct test {
    const char *name;
    int pairwise;                              /* ranks 0 and 1 only */
    double (*run)(size_t bytes, long rounds);  /* seconds for all rounds */
    void (*verify)(size_t bytes);
    double per_round;                          /* one-way times, messages or operations in it */
    int shows;                                 /* 't' time in ns, 'r' rate in 1/s, 'b' GB/s */
};

static double latency(size_t bytes, long rounds) {
    int n = (int)bytes;
    double begin = MPI_Wtime();
    for (long i = 0; i < rounds; ++i) {
        if (rank == 0) {
            MPI_Send(out, n, MPI_BYTE, 1, TAG, MPI_COMM_WORLD);
            MPI_Recv(in, n, MPI_BYTE, 1, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        } else {
            MPI_Recv(in, n, MPI_BYTE, 0, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            MPI_Send(out, n, MPI_BYTE, 0, TAG, MPI_COMM_WORLD);
        }
    }
    return MPI_Wtime() - begin;
}

static double depth_posted(size_t depth, long rounds) {
    if (piled == 0) pile_receives(depth, 1 - rank);
    return latency(PIECE, rounds);
}

static double depth_unexpected(size_t depth, long rounds) {
    if (piled == 0) pile_messages(depth, 1 - rank);
    return latency(PIECE, rounds);
}

static double posted(size_t bytes, long rounds) {
    int n = (int)bytes;
    double begin = MPI_Wtime();
    for (long i = 0; i < rounds; ++i) {
        MPI_Request request;
        MPI_Irecv(in, n, MPI_BYTE, 1 - rank, TAG, MPI_COMM_WORLD, &request);
        MPI_Send(out, n, MPI_BYTE, 1 - rank, TAG, MPI_COMM_WORLD);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
    return MPI_Wtime() - begin;
}

static double walk(size_t bytes, long rounds) {
    size_t at = 0, step = (bytes + 4095) & ~(size_t)4095;
    int n = (int)bytes;
    double begin = MPI_Wtime();
    for (long i = 0; i < rounds; ++i) {
        if (rank == 0) {
            MPI_Send(out + at, n, MPI_BYTE, 1, TAG, MPI_COMM_WORLD);
            MPI_Recv(in + at, n, MPI_BYTE, 1, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        } else {
            MPI_Recv(in + at, n, MPI_BYTE, 0, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            MPI_Send(out + at, n, MPI_BYTE, 0, TAG, MPI_COMM_WORLD);
        }
        at += step;
        if (at + bytes > kWalkBytes) at = 0;
    }
    return MPI_Wtime() - begin;
}

static double rewritten(size_t bytes, long rounds) {
    int n = (int)bytes;
    double begin = MPI_Wtime();
    for (long i = 0; i < rounds; ++i) {
        if (rank == 1)
            MPI_Recv(in, n, MPI_BYTE, 0, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        memset(out, (int)(i & 0xff), bytes);
        MPI_Send(out, n, MPI_BYTE, 1 - rank, TAG, MPI_COMM_WORLD);
        if (rank == 0)
            MPI_Recv(in, n, MPI_BYTE, 1, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    return MPI_Wtime() - begin;
}

/* So few where they are long that a batch ends before the kernel wants the core for itself. */
static int window_of(size_t bytes) {
    if (bytes * WINDOW <= kWalkBytes) return WINDOW;
    return bytes < kWalkBytes ? (int)(kWalkBytes / bytes) : 1;
}

/* One buffer for the whole window: a rate, not the memory, is measured. */
static double window(size_t bytes, long rounds) {
    const int count = window_of(bytes);
    MPI_Request request[WINDOW];
    char answer = 0;
    double begin = MPI_Wtime();
    for (long i = 0; i < rounds; ++i) {
        for (int k = 0; k < count; ++k) {
            if (rank == 0)
                MPI_Isend(out, (int)bytes, MPI_BYTE, 1, TAG, MPI_COMM_WORLD, &request[k]);
            else
                MPI_Irecv(in, (int)bytes, MPI_BYTE, 0, TAG, MPI_COMM_WORLD, &request[k]);
        }
        MPI_Waitall(count, request, MPI_STATUSES_IGNORE);
        if (rank == 0)
            MPI_Recv(&answer, 1, MPI_BYTE, 1, ANSWER, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        else
            MPI_Send(&answer, 1, MPI_BYTE, 0, ANSWER, MPI_COMM_WORLD);
    }
    return MPI_Wtime() - begin;
}

/* --- the same ways, once more with contents --- */

static void verify_both(size_t bytes, double (*one_round)(size_t, long)) {
    for (unsigned round = 0; round < 4; ++round) {
        fill(out, bytes, round * 2 + (unsigned)rank);
        memset(in, 0xEE, bytes);
        one_round(bytes, 1);
        check(in, bytes, round * 2 + 1 - (unsigned)rank);
    }
}
static void verify_latency(size_t bytes) { verify_both(bytes, latency); }
static void verify_posted(size_t bytes) { verify_both(bytes, posted); }
static void verify_depth(size_t depth) {
    (void)depth;
    verify_both(PIECE, latency);
    pile_clear(1 - rank); /* the first time there is none yet */
}
static void verify_walk(size_t bytes) { verify_both(bytes, walk); }

/* Every message of the window is another one, into a place of its own where they fit. */
static void verify_window(size_t bytes) {
    MPI_Request request[WINDOW];
    const int count = window_of(bytes);
    for (int k = 0; k < count; ++k) {
        fill(out + k * bytes, bytes, (unsigned)k);
        memset(in + k * bytes, 0xEE, bytes);
        if (rank == 0)
            MPI_Isend(out + k * bytes, (int)bytes, MPI_BYTE, 1, TAG, MPI_COMM_WORLD, &request[k]);
        else
            MPI_Irecv(in + k * bytes, (int)bytes, MPI_BYTE, 0, TAG, MPI_COMM_WORLD, &request[k]);
    }
    MPI_Waitall(count, request, MPI_STATUSES_IGNORE);
    for (int k = 0; rank == 1 && k < count; ++k) check(in + k * bytes, bytes, (unsigned)k);
}

static const struct test tests[] = {
    {"latency", 1, latency, verify_latency, 2, 't'},
    {"depth-posted", 1, depth_posted, verify_depth, 2, 't'},
    {"depth-unexpected", 1, depth_unexpected, verify_depth, 2, 't'},
    {"posted", 1, posted, verify_posted, 1, 't'},
    {"walk", 1, walk, verify_walk, 2, 't'},
    {"malloced", 1, latency, verify_latency, 2, 't'},
    {"rewritten", 1, rewritten, verify_latency, 2, 't'},
    {"rate", 1, window, verify_window, WINDOW, 'r'},
    {"stream", 1, window, verify_window, WINDOW, 'b'},
    {"wire", 1, wire_latency, wire_verify, 2, 't'},
    {"wire-rate", 1, wire_rate, wire_verify, WINDOW, 'r'},
    {"wire-more", 1, wire_more, wire_verify, WINDOW, 'r'},
    {"wire-stream", 1, wire_rate, wire_verify, WINDOW, 'b'},
    {"put", 0, window_put, window_verify, 1, 't'},
    {"get", 0, window_get, window_verify, 1, 't'},
    {"barrier", 0, barrier, verify_barrier, 1, 't'},
    {"allreduce", 0, allreduce, verify_allreduce, 1, 't'},
    {"bcast", 0, bcast, verify_bcast, 1, 't'},
    {"ibarrier", 0, ibarrier, verify_barrier, 1, 't'},
    {"iallreduce", 0, iallreduce, verify_iallreduce, 1, 't'},
    {"ibcast", 0, ibcast, verify_ibcast, 1, 't'},
    {"alltoall", 0, alltoall, verify_alltoall, 1, 't'},
    {"look", 0, look, verify_look, STEPS, 't'},
};

/* --- running one --- */

/* The slowest rank's seconds, known to all, and whether a foreign process got a core meanwhile. */
static double timed(const struct test *test, size_t bytes, long rounds, int *disturbed) {
    struct rusage usage;
    double mine[2] = {0, 0}, most[2] = {0, 0};
    MPI_Barrier(MPI_COMM_WORLD);
    if (!test->pairwise || rank < 2) {
        getrusage(RUSAGE_THREAD, &usage);
        long before = usage.ru_nivcsw;
        mine[0] = test->run(bytes, rounds);
        getrusage(RUSAGE_THREAD, &usage);
        mine[1] = usage.ru_nivcsw != before;
    }
    MPI_Allreduce(mine, most, 2, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    *disturbed = most[1] > 0;
    return most[0];
}

/* Warms up (peers change their path after some messages), and finds how many rounds fill the
 * time of a batch. */
static long find_rounds(const struct test *test, size_t bytes) {
    long rounds = test->pairwise ? 32 : 8;
    double target = (double)budget_ms / 1000 / batches;
    for (;; rounds *= 4) {
        double least = 1e9;
        int disturbed = 1;
        for (int i = 0; i < 3; ++i) {
            double seconds = timed(test, bytes, rounds, &disturbed);
            if (seconds < least) least = seconds;
        }
        if (least < target / 4 && rounds < 100000000) continue;
        rounds = (long)((double)rounds * target / (least > 1e-9 ? least : 1e-9));
        return rounds < 1 ? 1 : rounds;
    }
}

/* The median of short batches. Where each rank has a core, batches in which another process got
 * one of them are left out while enough others remain: *quiet is how many there are. */
static double sample(const struct test *test, size_t bytes, long rounds, int *quiet) {
    double all[BATCHES], good[BATCHES];
    *quiet = 0;
    for (int i = 0; i < batches; ++i) {
        int disturbed, at = i; /* both are kept sorted */
        double seconds = timed(test, bytes, rounds, &disturbed);
        for (; at > 0 && all[at - 1] > seconds; --at) all[at] = all[at - 1];
        all[at] = seconds;
        if (disturbed) continue;
        for (at = (*quiet)++; at > 0 && good[at - 1] > seconds; --at) good[at] = good[at - 1];
        good[at] = seconds;
    }
    return *quiet >= ENOUGH ? good[*quiet / 2] : all[batches / 2];
}

static int run_case(const char *text) {
    size_t bytes = 8, length = strcspn(text, ":");
    const struct test *test = NULL;
    for (size_t i = 0; i < sizeof tests / sizeof *tests; ++i)
        if (strlen(tests[i].name) == length && strncmp(text, tests[i].name, length) == 0)
            test = &tests[i];
    if (text[length] == ':') bytes = strtoul(text + length + 1, NULL, 10);
    const int alone = test != NULL && ranks < 2 &&
        (test->pairwise || test->verify == window_verify);
    if (test == NULL || bytes > ((size_t)1 << 30) || alone) {
        if (rank == 0) fprintf(stderr, "probe: cannot run the case '%s' here\n", text);
        return 0;
    }

    const size_t used = test->run == alltoall ? bytes * (size_t)ranks : bytes;
    const size_t room = (used > kWalkBytes ? used : kWalkBytes) + 16;
    out = mmap(NULL, room, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    in = mmap(NULL, room, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (out == MAP_FAILED || in == MAP_FAILED) {
        fprintf(stderr, "probe: no memory\n");
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    const size_t behind_page = strcmp(test->name, "malloced") == 0 ? 16 : 0;
    out += behind_page, in += behind_page;
    memset(out, 1, test->run == walk ? room - 16 : used);
    memset(in, 1, test->run == walk ? room - 16 : used);

    if (!test->pairwise || rank < 2) test->verify(bytes);
    long rounds = find_rounds(test, bytes);
    double before = take_tc();
    int quiet;
    double seconds = sample(test, bytes, rounds, &quiet);
    double after = take_tc();
    if (!test->pairwise || rank < 2) test->verify(bytes);

    long all_wrong = 0;
    MPI_Allreduce(&wrong, &all_wrong, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
    if (rank == 0) {
        const int windows = test->run == window || test->run == wire_rate;
        const int per_round = windows ? window_of(bytes) : test->per_round;
        double each = seconds / ((double)rounds * per_round), value = each * 1e9;
        const char *unit = "ns";
        if (test->shows == 'r') value = 1 / each / 1e6, unit = "M/s";
        if (test->shows == 'b') value = (double)bytes / each / 1e9, unit = "GB/s";
        printf("probe {\"case\":\"%s\",\"bytes\":%zu,\"ranks\":%d,\"rounds\":%ld,\"value\":%.6g,"
               "\"unit\":\"%s\",\"tc_before_ns\":%.2f,\"tc_after_ns\":%.2f,\"batches\":%d,"
               "\"quiet\":%d,\"crowded\":%s,\"wrong\":%ld}\n",
               test->name, bytes, ranks, rounds, value, unit, before, after, batches, quiet,
               batches == BATCHES ? "false" : "true", all_wrong);
        fflush(stdout);
    }
    munmap(out - behind_page, room);
    munmap(in - behind_page, room);
    return all_wrong == 0;
}

int main(int argc, char **argv) {
    int fine = 1, first = 1;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    if (argc > 2 && strcmp(argv[1], "--ms") == 0) budget_ms = atol(argv[2]), first = 3;
    if (argc <= first || budget_ms < 1) {
        if (rank == 0)
            fprintf(stderr, "usage: mpirun -np N probe [--ms MILLISECONDS] CASE[:BYTES]...\n");
        MPI_Finalize();
        return 2;
    }
    if (ranks > sysconf(_SC_NPROCESSORS_ONLN)) batches = CROWDED_BATCHES;
    shared = shared_page(sizeof *shared);
    for (int i = first; i < argc; ++i) fine &= run_case(argv[i]);
    MPI_Finalize();
    return fine ? 0 : 1;
}
