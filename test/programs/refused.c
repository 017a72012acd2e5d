/* SPDX-License-Identifier: BSD-3-Clause */
/* refused.c: long messages both ways, every byte checked, where the kernel refuses to copy between
 * processes, as a container's seccomp profile does.
 *   refused DIRECTION MOMENT RANKS
 * DIRECTION: read, write or both, of process_vm_readv and process_vm_writev, which end with EPERM.
 * MOMENT: start, before MPI_Init; or middle, while messages are under way. RANKS: all, even or odd:
 * those that are refused. Prints "refused: N ranks, all right". */
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <mpi.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { kAtOnce = 4, kRounds = 2, kMiddle = 1 }; /* kMiddle: the round in which it is refused */
static const int kLengths[] = {16 << 20, 2 << 20, 1 << 20, 300001, 64 << 10};
#define LENGTHS (int)(sizeof kLengths / sizeof kLengths[0])

static _Noreturn void wrong(const char *what) {
    fprintf(stderr, "refused: %s\n", what);
    exit(1);
}

/* For all threads and for ever. `read`, `write`: which of the two. */
static void refuse(int read, int write) {
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_process_vm_readv, read ? 1 : 2, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_process_vm_writev, write ? 0 : 1, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {sizeof code / sizeof code[0], code};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
        syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &program) != 0) {
        printf("refused: no filters here\n");
        exit(77);
    }
}

static unsigned char content(int from, int number, int round, size_t at) {
    return (unsigned char)(from * 31 + number * 17 + round * 3 + at * 7 + (at >> 8) + (at >> 16));
}

/* Some at once, every other receive posted before its message comes. */
static void exchange(int rank, int other, int bytes, int round, const int *refused) {
    static unsigned char *out[kAtOnce], *in[kAtOnce];
    MPI_Request requests[2 * kAtOnce];
    for (int i = 0; i < kAtOnce; i++) {
        if (out[i] == NULL) out[i] = malloc((size_t)kLengths[0]);
        if (in[i] == NULL) in[i] = malloc((size_t)kLengths[0]);
        if (out[i] == NULL || in[i] == NULL) wrong("no memory");
        memset(in[i], 0, (size_t)bytes);
        for (int at = 0; at < bytes; at++) out[i][at] = content(rank, i, round, (size_t)at);
    }
    for (int i = 0; i < kAtOnce; i += 2)
        MPI_Irecv(in[i], bytes, MPI_BYTE, other, i, MPI_COMM_WORLD, &requests[i]);
    MPI_Barrier(MPI_COMM_WORLD);
    for (int i = 0; i < kAtOnce; i++)
        MPI_Isend(out[i], bytes, MPI_BYTE, other, i, MPI_COMM_WORLD, &requests[kAtOnce + i]);
    for (int i = 1; i < kAtOnce; i += 2)
        MPI_Irecv(in[i], bytes, MPI_BYTE, other, i, MPI_COMM_WORLD, &requests[i]);
    if (refused != NULL) {
        int done = 0;
        for (int i = 0; i < 5 && !done; i++)
            MPI_Testall(2 * kAtOnce, requests, &done, MPI_STATUSES_IGNORE);
        refuse(refused[0], refused[1]);
        if (done) return;
    }
    MPI_Waitall(2 * kAtOnce, requests, MPI_STATUSES_IGNORE);
    for (int i = 0; i < kAtOnce; i++)
        for (int at = 0; at < bytes; at++)
            if (in[i][at] != content(other, i, round, (size_t)at)) {
                fprintf(stderr, "refused: rank %d, round %d: byte %d of %d from rank %d is wrong\n",
                        rank, round, at, bytes, other);
                MPI_Abort(MPI_COMM_WORLD, 1);
            }
}

int main(int argc, char **argv) {
    int rank, size;
    if (argc != 4) wrong("usage: refused DIRECTION MOMENT RANKS");
    const int both = strcmp(argv[1], "both") == 0;
    const int what[2] = {both || strcmp(argv[1], "read") == 0,
                         both || strcmp(argv[1], "write") == 0};
    const int in_the_middle = strcmp(argv[2], "middle") == 0;
    const char *const place = getenv("OMPI_COMM_WORLD_RANK");
    const char *const number = place != NULL ? place : getenv("PMI_RANK");
    if (number == NULL) wrong("no rank in the environment");
    const int mine = strcmp(argv[3], "all") == 0 ||
                     (strcmp(argv[3], "odd") == 0) == (atoi(number) % 2 == 1);
    if (mine && !in_the_middle) refuse(what[0], what[1]);
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (size % 2 != 0) wrong("an even number of ranks, please");
    for (int round = 0; round < kRounds; round++)
        for (int i = 0; i < LENGTHS; i++) {
            const int now = mine && in_the_middle && round == kMiddle && i == 0;
            exchange(rank, rank ^ 1, kLengths[i], round, now ? what : NULL);
        }
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) printf("refused: %d ranks, all right\n", size);
    MPI_Finalize();
    return 0;
}
