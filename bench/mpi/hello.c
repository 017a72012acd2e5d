/* SPDX-License-Identifier: BSD-3-Clause */
/* hello.c: where the time of a program goes that does nothing: how long after STARTUP_BEGAN_NS (of
 * CLOCK_MONOTONIC, in the environment) it was running, and how long MPI_Init, the first message to
 * everybody and MPI_Finalize take. Rank 0 prints the longest of all ranks, in ms; of MPI_Finalize
 * its own.
 *
 *   mpicc -O2 bench/mpi/hello.c -o hello; bench/startup starts it
 */
#define _GNU_SOURCE
#include <link.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { LAUNCHED, INIT, MEETING, LIBRARIES, FIGURES };

static double now_ms(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static int count_library(struct dl_phdr_info *info, size_t size, void *count) {
    (void)info, (void)size;
    ++*(double *)count;
    return 0;
}

int main(int argc, char **argv) {
    const char *began = getenv("STARTUP_BEGAN_NS");
    double figures[FIGURES] = {0}, longest[FIGURES];
    double start = now_ms(), next;
    int rank, sum, one = 1, size;
    figures[LAUNCHED] = began != NULL ? start - strtod(began, NULL) / 1e6 : 0;
    MPI_Init(&argc, &argv);
    next = now_ms();
    figures[INIT] = next - start;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Barrier(MPI_COMM_WORLD);  /* the wait for the last one is not the time of messages */
    start = now_ms();
    MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    figures[MEETING] = now_ms() - start;
    dl_iterate_phdr(count_library, &figures[LIBRARIES]);
    MPI_Reduce(figures, longest, FIGURES, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
    if (sum != size) MPI_Abort(MPI_COMM_WORLD, 1);
    start = now_ms();
    MPI_Finalize();
    if (rank == 0)
        printf("startup {\"launched\": %.3f, \"init\": %.3f, \"first\": %.3f, \"finalize\": %.3f,"
               " \"libraries\": %.0f}\n",
               longest[LAUNCHED], longest[INIT], longest[MEETING], now_ms() - start,
               longest[LIBRARIES]);
    return 0;
}
