/* SPDX-License-Identifier: BSD-3-Clause */
/* everyone.c: each rank sends one message to each other one; then all wait for a file.
 *
 *   everyone FILE [fork]
 *
 * Rank 0 prints "ready" and the pid of each rank, and all end well once FILE exists. `fork`: each
 * rank has a child meanwhile. */
#include <fcntl.h>
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

int main(int argc, char **argv) {
    if (argc < 2) return 2;
    int rank, ranks;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    for (int i = 1; i < ranks; ++i) {
        const int to = (rank + i) % ranks, from = (rank - i + ranks) % ranks;
        int got = -1;
        MPI_Sendrecv(&rank, 1, MPI_INT, to, 0, &got, 1, MPI_INT, from, 0, MPI_COMM_WORLD,
                     MPI_STATUS_IGNORE);
        if (got != from) MPI_Abort(MPI_COMM_WORLD, 1);
    }
    const pid_t child = argc > 2 ? fork() : 0;
    if (argc > 2 && child == 0) {
        const pid_t parent = getppid();
        alarm(60);
        while (getppid() == parent) usleep(20000);
        _exit(0);
    }
    int pid = getpid();
    int *pids = calloc((size_t)ranks, sizeof *pids);
    if (pids == NULL) return 2;
    MPI_Gather(&pid, 1, MPI_INT, pids, 1, MPI_INT, 0, MPI_COMM_WORLD);
    if (rank == 0) {
        printf("ready");
        for (int i = 0; i < ranks; ++i) printf(" %d", pids[i]);
        printf("\n");
        fflush(stdout);
    }
    free(pids);
    alarm(60); /* whoever should make the file is gone */
    while (access(argv[1], F_OK) != 0) usleep(20000);
    if (child > 0) {
        kill(child, SIGKILL);
        waitpid(child, NULL, 0);
    }
    MPI_Finalize();
    return 0;
}
