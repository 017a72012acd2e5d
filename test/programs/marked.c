/* SPDX-License-Identifier: BSD-3-Clause */
/* marked.c: broadcasts whose data anybody would recognise, of which every byte is compared, until a
 * file is there.
 *
 *   marked FILE
 *
 * They have 8 bytes, 1 KiB, 64 KiB and 1 MiB, from one rank after the other. Each eight bytes are
 * the word "opened" and sixteen bits that tell the broadcast and the place in it.
 *
 * Prints "marked: COUNT right, PROCESSOR us of processor each"; the latter is that of all ranks. */
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { MOST = 1 << 20, UNIT = 8, TOGETHER = 64 };

static void fill(unsigned char* data, size_t bytes, uint64_t number) {
    for (size_t at = 0; at < bytes; at += UNIT) {
        const uint16_t place = (uint16_t)(number * 40503 + at / UNIT);
        memcpy(data + at, "opened", 6);
        memcpy(data + at + 6, &place, 2);
    }
}

static double processor_us(void) {
    struct timespec used;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
    return (double)used.tv_sec * 1e6 + (double)used.tv_nsec * 1e-3;
}

int main(int argc, char** argv) {
    static const int lengths[] = {8, 1024, 8, 1 << 16, 1024, 8, MOST, 8};
    int rank, size, goes_on = 1;
    MPI_Init(&argc, &argv);
    if (argc != 2) MPI_Abort(MPI_COMM_WORLD, 2);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    unsigned char *const data = malloc(MOST), *const right = malloc(MOST);
    uint64_t number = 0;
    const double before = processor_us();
    while (goes_on) {
        for (int i = 0; i < TOGETHER; ++i, ++number) {
            const int bytes = lengths[number % (sizeof lengths / sizeof *lengths)];
            const int root = (int)(number / 16 % (uint64_t)size);
            fill(right, (size_t)bytes, number);
            if (rank == root)
                memcpy(data, right, (size_t)bytes);
            else
                memset(data, 0x5a, (size_t)bytes);
            MPI_Bcast(data, bytes, MPI_BYTE, root, MPI_COMM_WORLD);
            if (memcmp(data, right, (size_t)bytes) == 0) continue;
            fprintf(stderr, "marked: number %llu of %d bytes is wrong at rank %d: %.64s\n",
                    (unsigned long long)number, bytes, rank, (const char*)data);
            MPI_Abort(MPI_COMM_WORLD, 1);
        }
        const int mine = access(argv[1], F_OK) != 0;
        MPI_Allreduce(&mine, &goes_on, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    }
    const double own = processor_us() - before;
    double all = 0;
    MPI_Reduce(&own, &all, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
    if (rank == 0) {
        printf("marked: %llu right, %.1f us of processor each\n", (unsigned long long)number,
               all / (double)number);
    }
    free(right);
    free(data);
    MPI_Finalize();
    return 0;
}
