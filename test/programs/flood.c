/* SPDX-License-Identifier: BSD-3-Clause */
/* flood.c: one rank sends what nobody receives yet.
 *
 *   flood MODE COUNT [BYTES]
 *
 *   send      rank 0 calls MPI_Send. Rank 1 looks at other messages for a while, until rank 0 gets
 *             no further, and only then receives
 *   behind    the same, and rank 1 first receives a last message, with another tag. MPI does not
 *             promise that it gets there; through the provider it does, as over other networks
 *   isend     as send, with MPI_Isend, all of them before the first wait
 *   overtake  the same, and a last message by MPI_Send, which rank 1 receives first: COUNT pending
 *             sends may not keep it
 *
 *   both      both ranks call MPI_Send, and receive when all of that came back: COUNT messages of
 *             BYTES. It prints "sent and received N times B bytes, grown by G KiB", the last after
 *             all of it
 *
 * Each message is 8 bytes, its number; rank 1 receives them from any source with any tag and checks
 * that they are in order. It prints how many rank 0 had sent when it was held back, and by how many
 * KiB either process had grown by then:
 *
 *   held after N sends, sender S KiB, receiver R KiB
 */
#define _GNU_SOURCE
#include <inttypes.h>
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "bench/mpi/shared_page.h"

enum { TAG = 7, FIRST = 8, NEVER = 9, QUIET_MS = 500 };

struct page {
    volatile uint64_t sent; /* calls that came back */
    volatile long grown_kib;
};
static struct page *page;

static long resident_kib(void) {
    long pages = 0, resident = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    if (file == NULL || fscanf(file, "%ld %ld", &pages, &resident) != 2) resident = 0;
    if (file != NULL) fclose(file);
    return resident * (sysconf(_SC_PAGESIZE) / 1024);
}

static double now_ms(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static void be_sender(const char *mode, uint64_t count) {
    const int behind = strcmp(mode, "behind") == 0, blocking = behind || strcmp(mode, "send") == 0;
    uint64_t *numbers = malloc(count * sizeof *numbers), last = 4711;
    MPI_Request *requests = blocking ? NULL : malloc(count * sizeof *requests);
    if (numbers == NULL || (!blocking && requests == NULL)) MPI_Abort(MPI_COMM_WORLD, 2);
    for (uint64_t i = 0; i < count; i++) numbers[i] = i;
    if (!blocking) memset(requests, 0, count * sizeof *requests);
    const long before = resident_kib();
    for (uint64_t i = 0; i < count; i++) {
        if (blocking) {
            MPI_Send(&numbers[i], 8, MPI_BYTE, 1, TAG, MPI_COMM_WORLD);
        } else {
            MPI_Isend(&numbers[i], 8, MPI_BYTE, 1, TAG, MPI_COMM_WORLD, &requests[i]);
        }
        page->sent = i + 1;
        if (i % 1024 == 0) page->grown_kib = resident_kib() - before;
    }
    if (behind || strcmp(mode, "overtake") == 0) {
        MPI_Send(&last, 8, MPI_BYTE, 1, FIRST, MPI_COMM_WORLD);
    }
    if (!blocking) MPI_Waitall((int)count, requests, MPI_STATUSES_IGNORE);
    free(requests);
    free(numbers);
}

static void wrong(const char *what, uint64_t at, uint64_t got) {
    fprintf(stderr, "message %" PRIu64 ": %s %" PRIu64 "\n", at, what, got);
    MPI_Abort(MPI_COMM_WORLD, 1);
}

/* Until the sender has not got on for a while; all its messages that can arrive have. */
static void wait_for_calm(uint64_t count) {
    uint64_t seen = 0;
    for (double since = now_ms(); now_ms() - since < QUIET_MS;) {
        int flag = 0;
        MPI_Iprobe(0, NEVER, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
        if (page->sent != seen && seen != count) seen = page->sent, since = now_ms();
    }
}

static void be_receiver(const char *mode, uint64_t count) {
    uint64_t number = 0;
    MPI_Status status;
    const long before = resident_kib();
    wait_for_calm(count);
    printf("held after %" PRIu64 " sends, sender %ld KiB, receiver %ld KiB\n", page->sent,
           page->grown_kib, resident_kib() - before);
    if (strcmp(mode, "overtake") == 0 || strcmp(mode, "behind") == 0) {
        MPI_Recv(&number, 8, MPI_BYTE, 0, FIRST, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        if (number != 4711) wrong("the last is", count, number);
    }
    for (uint64_t i = 0; i < count; i++) {
        MPI_Recv(&number, 8, MPI_BYTE, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
        if (number != i) wrong("got", i, number);
        if (status.MPI_TAG != TAG || status.MPI_SOURCE != 0) wrong("tag or source", i, number);
    }
}

static void send_both_ways(int rank, uint64_t count, size_t bytes) {
    char *const data = calloc(1, bytes + sizeof(uint64_t));
    uint64_t number;
    if (data == NULL) MPI_Abort(MPI_COMM_WORLD, 2);
    const long before = resident_kib();
    for (uint64_t i = 0; i < count; i++) {
        memcpy(data, &i, sizeof i);
        MPI_Send(data, (int)bytes, MPI_BYTE, 1 - rank, TAG, MPI_COMM_WORLD);
    }
    for (uint64_t i = 0; i < count; i++) {
        MPI_Recv(data, (int)bytes, MPI_BYTE, 1 - rank, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        memcpy(&number, data, sizeof number);
        if (number != i) wrong("got", i, number);
    }
    free(data);
    MPI_Barrier(MPI_COMM_WORLD);
    for (const double begin = now_ms(); now_ms() - begin < QUIET_MS;) {
        int flag = 0;
        MPI_Iprobe(1 - rank, NEVER, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
    }
    if (rank == 0) {
        printf("sent and received %" PRIu64 " times %zu bytes, grown by %ld KiB\n", count, bytes,
               resident_kib() - before);
    }
}

int main(int argc, char **argv) {
    int rank, size;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (argc < 3 || argc > 4 || size != 2) MPI_Abort(MPI_COMM_WORLD, 2);
    page = shared_page(sizeof *page);
    if (page == NULL) MPI_Abort(MPI_COMM_WORLD, 2);
    const uint64_t count = strtoull(argv[2], NULL, 10);
    if (argc == 4) {
        send_both_ways(rank, count, strtoul(argv[3], NULL, 10));
    } else if (rank == 0) {
        be_sender(argv[1], count);
    } else {
        be_receiver(argv[1], count);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Finalize();
    return 0;
}
