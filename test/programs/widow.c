/* SPDX-License-Identifier: BSD-3-Clause */
/* widow: a rank ends without a word, or its host does, while all others wait for it. Each of them
 * says when it heard, by CLOCK_MONOTONIC, and what FCI said is for the user to read.
 *   widow kill FOLDER         the last rank kills itself; "rank R heard after S s"
 *   widow barrier V FOLDER    rank V does, a second after all others wait in a barrier, of which
 *                             none need have had a message from it; "rank R heard after S s"
 *   widow cut FOLDER          once ready-R is in FOLDER somebody cuts the last rank's host off;
 *                             "rank R heard at T"
 *   widow heirs               the last rank kills itself, and each waits for the next rank only,
 *                             and ends once it has lost that one, without a word to anybody
 * Those that heard of it leave a file heard-R in FOLDER.
 *
 * The clock of those that wait stands still a tenth of a second after the death, and in a barrier
 * goes slowly before, so that they have waited for no long time by then. They hear by then, as
 * their clock has it, or never, and other work on the machine makes no difference. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <mpi.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static const double kHeard = 0.1; /* seconds */
static const double kSlow = 5;

static double seconds(const struct timespec* time) {
    return (double)time->tv_sec + (double)time->tv_nsec * 1e-9;
}

static double now(void) {
    struct timespec time;
    syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &time);
    return seconds(&time);
}

/* --- the clock of a thread, which may go slowly and stand still --- */

static __thread double slow_since; /* 0: it goes as the kernel's */
static __thread double stands_at;  /* 0: nowhere */

static const volatile double* death_of; /* of the victim of a barrier; 0: it lives */

static double own_clock(double kernels) {
    if (slow_since != 0) {
        const double death = death_of != NULL ? *death_of : 0;
        if (death == 0 || kernels < death) return slow_since + (kernels - slow_since) / kSlow;
        const double since = kernels - death < kHeard ? kernels - death : kHeard;
        return slow_since + (death - slow_since) / kSlow + since;
    }
    return stands_at != 0 && kernels > stands_at ? stands_at : kernels;
}

int clock_gettime(clockid_t clock, struct timespec* time) {
    const int code = (int)syscall(SYS_clock_gettime, clock, time);
    if (clock == CLOCK_MONOTONIC || clock == CLOCK_MONOTONIC_COARSE) {
        const double own = own_clock(seconds(time));
        time->tv_sec = (time_t)own;
        time->tv_nsec = (long)((own - (double)time->tv_sec) * 1e9);
    }
    return code;
}

/* Nothing ends by time after that. */
static int never_ends(double timeout) {
    return stands_at != 0 && timeout > 0 && now() + timeout > stands_at;
}

int epoll_pwait2(int epoll, struct epoll_event* events, int most, const struct timespec* timeout,
                 const sigset_t* signals) {
    if (timeout != NULL && never_ends(seconds(timeout))) timeout = NULL;
    return (int)syscall(SYS_epoll_pwait2, epoll, events, most, timeout, signals, 8);
}

int epoll_wait(int epoll, struct epoll_event* events, int most, int timeout_ms) {
    if (never_ends(timeout_ms * 1e-3)) timeout_ms = -1;
    return (int)syscall(SYS_epoll_pwait, epoll, events, most, timeout_ms, NULL, 8);
}

int ppoll(struct pollfd* of, nfds_t count, const struct timespec* timeout,
          const sigset_t* signals) {
    struct timespec left = {0, 0};
    if (timeout != NULL) left = *timeout;
    if (timeout != NULL && never_ends(seconds(timeout))) timeout = NULL;
    return (int)syscall(SYS_ppoll, of, count, timeout != NULL ? &left : NULL, signals, 8);
}

/* --- the ranks --- */

static void kill_itself_at(double death) {
    while (now() < death) usleep(1000);
    raise(SIGKILL);
}

static const char* named(const char* folder, const char* what, int rank) {
    static char path[4096];
    snprintf(path, sizeof path, "%s/%s-%d", folder, what, rank);
    return path;
}

static void leave_a_file(const char* folder, const char* what, int rank) {
    FILE* const file = fopen(named(folder, what, rank), "w");
    if (file == NULL || fclose(file) != 0) perror(folder);
}

/* death: 0 where nobody was killed. */
static int say(int rank, int error, double death, const char* folder) {
    char text[MPI_MAX_ERROR_STRING];
    int length;
    const double heard = now();
    stands_at = slow_since = 0;
    if (error == MPI_SUCCESS) {
        puts("was told of no death");
        return 1;
    }
    MPI_Error_string(error, text, &length);
    fprintf(stderr, "%s\n", text);
    if (death > 0)
        printf("rank %d heard after %.4f s\n", rank, heard - death);
    else
        printf("rank %d heard at %.4f\n", rank, heard);
    fflush(stdout);
    leave_a_file(folder, "heard", rank);
    usleep(200 * 1000);  // Hydra loses what is said where all of a host end at once
    _exit(0);
}

static int in_a_barrier(int rank, int ranks, int victim, const char* folder) {
    const int file = open(named(folder, "death", 0), O_RDWR | O_CREAT, 0600);
    if (file < 0 || ftruncate(file, sizeof(double)) != 0) MPI_Abort(MPI_COMM_WORLD, 2);
    volatile double* const death =
        mmap(NULL, sizeof(double), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (death == MAP_FAILED) MPI_Abort(MPI_COMM_WORLD, 2);
    slow_since = now(); /* else that others start late passes for a long wait */
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == victim) {
        for (int other = 0; other < ranks; other++)
            while (other != rank && access(named(folder, "waits", other), F_OK) != 0) usleep(1000);
        *death = now() + 1;
        kill_itself_at(*death);
    }
    death_of = death;
    leave_a_file(folder, "waits", rank);
    return say(rank, MPI_Barrier(MPI_COMM_WORLD), *death, folder);
}

static void inherit(int rank, int last) {
    char byte = 0;
    if (rank > 0) MPI_Send(&byte, 1, MPI_CHAR, rank - 1, 0, MPI_COMM_WORLD);
    if (rank < last)
        MPI_Recv(&byte, 1, MPI_CHAR, rank + 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    usleep(500 * 1000);  // all have met
    if (rank == last) raise(SIGKILL);
    const int error =
        MPI_Recv(&byte, 1, MPI_CHAR, rank + 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    char text[MPI_MAX_ERROR_STRING];
    int length;
    MPI_Error_string(error, text, &length);
    fprintf(stderr, "%s\n", text);
    fflush(stderr);
    _exit(0);
}

int main(int argc, char** argv) {
    int rank, ranks;
    double death = 0, never;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    const int kills = argc == 3 && strcmp(argv[1], "kill") == 0, last = ranks - 1;
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    if (argc == 4) return in_a_barrier(rank, ranks, atoi(argv[2]), argv[3]);
    if (argc > 1 && strcmp(argv[1], "heirs") == 0) inherit(rank, last);
    if (rank == last) {
        death = now() + 0.5;
        for (int other = 0; other < last; other++)
            MPI_Send(&death, 1, MPI_DOUBLE, other, 0, MPI_COMM_WORLD);
        if (kills) kill_itself_at(death);
        while (access(named(argv[2], "heard", 0), F_OK) != 0) usleep(10000);
        _exit(0);
    }
    MPI_Recv(&death, 1, MPI_DOUBLE, last, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (!kills) leave_a_file(argv[2], "ready", rank);
    if (kills) stands_at = death + kHeard;
    const int error = MPI_Recv(&never, 1, MPI_DOUBLE, last, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    return say(rank, error, kills ? death : 0, argv[2]);
}
