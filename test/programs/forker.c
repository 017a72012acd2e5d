/* SPDX-License-Identifier: BSD-3-Clause */
/* forker.c: an MPI program that calls system() and fork() while messages are under way.
 *
 *   forker ROUNDS [send|dup]
 *
 * With a second word a child of rank 0 calls MPI afterwards, which it must not: it sends, or makes
 * a communicator. It has to end, with an error, and its parent to go on.
 *
 * Prints, from rank 0, the signals whose handlers MPI_Init and what follows changed: over FCI there
 * must be no more of them than over any other transport. Ends with 1 where data was wrong.
 */
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { kLongest = 300000 };

static void remember(struct sigaction *handlers) {
    memset(handlers, 0, NSIG * sizeof *handlers);
    for (int number = 1; number < NSIG; number++) sigaction(number, NULL, &handlers[number]);
}

static void print_changes(const struct sigaction *before, const char *when) {
    struct sigaction after[NSIG];
    remember(after);
    printf("changed %s:", when);
    for (int number = 1; number < NSIG; number++) {
        if (before[number].sa_handler != after[number].sa_handler) printf(" %d", number);
    }
    printf("\n");
}

static void make_process(int round) {
    if (round % 3 == 0) {
        if (system("exit 0") != 0) abort();
        return;
    }
    const pid_t child = fork();
    if (child == 0) {
        if (round % 3 == 1) _exit(0);
        execlp("true", "true", (char *)NULL);
        _exit(1);
    }
    int status = 1;
    if (child < 0 || waitpid(child, &status, 0) != child || status != 0) abort();
}

static void stray_child(int sends) {
    const pid_t child = fork();
    if (child == 0) {
        int word = 0;
        MPI_Comm own;
        alarm(10);
        if (sends) MPI_Send(&word, 1, MPI_INT, 1, 4711, MPI_COMM_WORLD);
        if (!sends) MPI_Comm_dup(MPI_COMM_SELF, &own);
        _exit(0);
    }
    int status = 0;
    if (child < 0 || waitpid(child, &status, 0) != child) abort();
    printf("stray child: %s %d\n", WIFEXITED(status) ? "exit" : "signal",
           WIFEXITED(status) ? WEXITSTATUS(status) : WTERMSIG(status));
    fflush(stdout);
}

int main(int argc, char **argv) {
    static struct sigaction before[NSIG];
    remember(before);
    MPI_Init(&argc, &argv);
    int rank, size;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (rank == 0) print_changes(before, "by MPI_Init");
    static unsigned char out[kLongest], in[kLongest];
    const int rounds = argc > 1 ? atoi(argv[1]) : 30;
    const int to = (rank + 1) % size, from = (rank + size - 1) % size;
    for (int round = 0; round < rounds; round++) {
        const int bytes = round % 2 == 0 ? kLongest : 100 + round;
        memset(out, rank + round, sizeof out);
        memset(in, 0xee, sizeof in);
        MPI_Request requests[2];
        MPI_Irecv(in, bytes, MPI_BYTE, from, round, MPI_COMM_WORLD, &requests[0]);
        MPI_Isend(out, bytes, MPI_BYTE, to, round, MPI_COMM_WORLD, &requests[1]);
        make_process(round);
        MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
        for (int i = 0; i < bytes; i++) {
            if (in[i] != (unsigned char)(from + round)) {
                fprintf(stderr, "rank %d: round %d, byte %d is wrong\n", rank, round, i);
                MPI_Abort(MPI_COMM_WORLD, 1);
            }
        }
    }
    if (rank == 0) print_changes(before, "at the end");
    if (argc > 2 && rank == 0) stray_child(strcmp(argv[2], "send") == 0);
    int sum = 0;
    MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (sum != size * (size - 1) / 2) MPI_Abort(MPI_COMM_WORLD, 1);
    MPI_Finalize();
    return 0;
}
