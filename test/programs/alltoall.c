/* SPDX-License-Identifier: BSD-3-Clause */
/* alltoall.c: everybody sends to everybody, before anybody has met, and every byte is checked.
 *   alltoall BYTES ROUNDS [barrier|bcast|allreduce|beside]
 * The collective that is named comes before all else. After all else, "beside" has the ranks meet
 * once more by bare system calls (bare_meeting.h).
 * Prints "alltoall: N ranks, all right, met by C calls of which A were answered, in U ms of
 * processor time, B bare", sums over the ranks, U until the first round is over, B 0 if not asked
 * for. Calls are those within a host, counted where this program's functions come before the C
 * library's (-rdynamic). */
#define _GNU_SOURCE
#include <mpi.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include "test/programs/bare_meeting.h"

/* --- what is counted --- */

static atomic_long calls, answered;

/* Whether it is a name of FCI in the abstract space. */
static int is_of_fci(const struct sockaddr_un *name, socklen_t bytes) {
    static const char prefix[] = "\0fci/";
    return bytes >= offsetof(struct sockaddr_un, sun_path) + sizeof prefix - 1 &&
        name->sun_family == AF_UNIX && memcmp(name->sun_path, prefix, sizeof prefix - 1) == 0;
}

int connect(int socket, const struct sockaddr *to, socklen_t bytes) {
    if (is_of_fci((const struct sockaddr_un *)to, bytes)) atomic_fetch_add(&calls, 1);
    return (int)syscall(SYS_connect, socket, to, bytes);
}

int accept4(int listening, struct sockaddr *from, socklen_t *bytes, int flags) {
    struct sockaddr_un own = {0};
    socklen_t own_bytes = sizeof own;
    const int made = (int)syscall(SYS_accept4, listening, from, bytes, flags);
    if (made >= 0 && getsockname(made, (struct sockaddr *)&own, &own_bytes) == 0)
        if (is_of_fci(&own, own_bytes)) atomic_fetch_add(&answered, 1);
    return made;
}

static double processor_ms(void) {
    struct rusage used;
    getrusage(RUSAGE_SELF, &used);
    return (double)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) * 1e3 +
        (double)(used.ru_utime.tv_usec + used.ru_stime.tv_usec) * 1e-3;
}

static double bare_ms(int rank, int size) {
    int key = (int)getpid();
    MPI_Bcast(&key, 1, MPI_INT, 0, MPI_COMM_WORLD);
    const int door = open_door(key, rank, size);
    MPI_Barrier(MPI_COMM_WORLD);
    const double before = processor_ms();
    meet_bare(door, key, rank, size);
    return processor_ms() - before;
}

/* --- what is sent --- */

static unsigned char content(int from, int to, int at, int round) {
    return (unsigned char)(from * 31 + to * 17 + at * 7 + round * 3 + (at >> 8));
}

static void begin_with(const char *collective) {
    int word = 1, sum;
    if (strcmp(collective, "barrier") == 0)
        MPI_Barrier(MPI_COMM_WORLD);
    else if (strcmp(collective, "bcast") == 0)
        MPI_Bcast(&word, 1, MPI_INT, 0, MPI_COMM_WORLD);
    else if (strcmp(collective, "allreduce") == 0)
        MPI_Allreduce(&word, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
}

int main(int argc, char **argv) {
    int rank, size;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    const int bytes = argc >= 3 ? atoi(argv[1]) : 0;
    const int rounds = argc >= 3 ? atoi(argv[2]) : 0;
    unsigned char *out = malloc((size_t)bytes * (size_t)size + 1);
    unsigned char *in = calloc((size_t)bytes * (size_t)size + 1, 1);
    if (bytes <= 0 || rounds <= 0 || out == NULL || in == NULL) {
        fprintf(stderr, "usage: alltoall BYTES ROUNDS [COLLECTIVE]\n");
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    if (argc == 4) begin_with(argv[3]);
    double of_all[4] = {-processor_ms(), 0, 0, 0};
    for (int round = 0; round < rounds; ++round) {
        for (int to = 0; to < size; ++to)
            for (int i = 0; i < bytes; ++i) out[to * bytes + i] = content(rank, to, i, round);
        MPI_Alltoall(out, bytes, MPI_BYTE, in, bytes, MPI_BYTE, MPI_COMM_WORLD);
        if (round == 0) of_all[0] += processor_ms();
        for (int from = 0; from < size; ++from)
            for (int i = 0; i < bytes; ++i)
                if (in[from * bytes + i] != content(from, rank, i, round)) {
                    fprintf(stderr, "alltoall: rank %d, round %d: byte %d from rank %d is %d\n",
                            rank, round, i, from, in[from * bytes + i]);
                    MPI_Abort(MPI_COMM_WORLD, 1);
                }
    }
    free(out);
    free(in);
    of_all[1] = (double)calls, of_all[2] = (double)answered;
    if (argc == 4 && strcmp(argv[3], "beside") == 0) of_all[3] = bare_ms(rank, size);
    MPI_Allreduce(MPI_IN_PLACE, of_all, 4, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    if (rank == 0) {
        printf("alltoall: %d ranks, all right, met by %.0f calls of which %.0f were answered, in "
               "%.0f ms of processor time, %.0f bare\n",
               size, of_all[1], of_all[2], of_all[0], of_all[3]);
    }
    MPI_Finalize();
    return 0;
}
