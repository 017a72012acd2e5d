/* SPDX-License-Identifier: BSD-3-Clause */
/* broadcasts.c: long ones, of which every byte is compared, and those around them.
 *
 *   broadcasts SECONDS SEED [lengths]
 *
 * Lengths, roots, communicators and datatypes change; the memory stays the same, so that what comes
 * late would be seen. Some members come late. At last, with `lengths`, one of them says another
 * length, which it alone is told, and nobody waits for it.
 *
 * Prints "broadcasts: COUNT right, BYTES bytes". */
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MOST = 3 << 20, GUARD = 4096, BLOCK = 24, STRIDE = 40 };

static uint64_t state;
static uint64_t drawn(uint64_t below) {
    state ^= state << 13, state ^= state >> 7, state ^= state << 17;
    return state % below;
}

static unsigned char byte_of(uint64_t number, size_t at) {
    return (unsigned char)((at * 0x9e3779b97f4a7c15ull + number * 0xc2b2ae3d27d4eb4full) >> 53);
}

static void wrong(uint64_t number, int rank, size_t at, size_t bytes) {
    fprintf(stderr, "broadcasts: number %llu: rank %d has another byte at %zu of %zu\n",
            (unsigned long long)number, rank, at, bytes);
    MPI_Abort(MPI_COMM_WORLD, 1);
}

/* Where byte `at` of the data lies, if they have gaps. */
static size_t place(size_t at, int gaps) { return gaps ? at / BLOCK * STRIDE + at % BLOCK : at; }

static void differ(unsigned char *data, MPI_Comm comm) {
    static const int lengths[][2] = {{5000, 100}, {100, 5000}, {5000, 4000}, {200000, 8}};
    int rank, size;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; ++i) {
        const int is_other = rank == size - 1;
        int class = MPI_SUCCESS;
        const int error = MPI_Bcast(data, lengths[i][is_other], MPI_BYTE, 0, comm);
        if (error != MPI_SUCCESS) MPI_Error_class(error, &class);
        if ((class == MPI_ERR_TRUNCATE || class == MPI_ERR_OTHER) != is_other) {
            fprintf(stderr, "broadcasts: rank %d: lengths %d and %d: error class %d\n", rank,
                    lengths[i][0], lengths[i][1], class);
            MPI_Abort(MPI_COMM_WORLD, 1);
        }
    }
}

int main(int argc, char **argv) {
    int rank, size, halves_rank;
    MPI_Init(&argc, &argv);
    if (argc != 3 && argc != 4) MPI_Abort(MPI_COMM_WORLD, 2);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm all, turned;
    MPI_Comm_dup(MPI_COMM_WORLD, &all);
    MPI_Comm_split(MPI_COMM_WORLD, 0, size - rank, &turned);
    MPI_Comm_rank(turned, &halves_rank);
    MPI_Datatype with_gaps;
    MPI_Type_vector(1, BLOCK, BLOCK, MPI_BYTE, &with_gaps);
    MPI_Type_create_resized(with_gaps, 0, STRIDE, &with_gaps);
    MPI_Type_commit(&with_gaps);
    const size_t room = (size_t)MOST / BLOCK * STRIDE + 2 * GUARD;
    unsigned char *const memory = malloc(room), *const data = memory + GUARD;
    uint64_t number = 0, sum = 0;
    state = 0x243f6a8885a308d3ull ^ strtoull(argv[2], NULL, 10);
    int goes_on = 1;
    for (const double end = MPI_Wtime() + atof(argv[1]); goes_on; ++number) {
        const int gaps = drawn(4) == 0, is_turned = drawn(3) == 0, waits = drawn(10) == 0;
        const size_t most = drawn(4) == 0 ? MOST : drawn(2) == 0 ? 100000 : 5000;
        const size_t count = 1 + drawn(most / BLOCK), bytes = count * BLOCK;
        const int root = (int)drawn((uint64_t)size), late = (int)drawn((uint64_t)size);
        const unsigned pause = (unsigned)drawn(20000);
        const int own = is_turned ? halves_rank : rank;
        memset(memory, 0xa5, GUARD);
        memset(data + place(bytes - 1, gaps) + 1, 0xa5, GUARD);
        if (own == root) {
            for (size_t i = 0; i < bytes; ++i) data[place(i, gaps)] = byte_of(number, i);
        } else {
            memset(data, 0x5a, place(bytes - 1, gaps) + 1);
        }
        if (waits && own == late) usleep(pause);
        MPI_Bcast(data, gaps ? (int)count : (int)bytes, gaps ? with_gaps : MPI_BYTE, root,
                  is_turned ? turned : all);
        for (size_t i = 0; i < bytes; ++i)
            if (data[place(i, gaps)] != byte_of(number, i)) wrong(number, rank, i, bytes);
        for (size_t i = 0; i < GUARD; ++i) {
            if (memory[i] != 0xa5) wrong(number, rank, (size_t)0 - GUARD + i, bytes);
            if (data[place(bytes - 1, gaps) + 1 + i] != 0xa5) wrong(number, rank, bytes + i, bytes);
        }
        sum += bytes;
        if (number % 8 == 0) {
            goes_on = MPI_Wtime() < end;
            MPI_Bcast(&goes_on, 1, MPI_INT, 0, MPI_COMM_WORLD);
        }
    }
    if (argc == 4) differ(data, all);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0)
        printf("broadcasts: %llu right, %llu bytes\n", (unsigned long long)number,
               (unsigned long long)sum);
    MPI_Type_free(&with_gaps);
    MPI_Comm_free(&turned);
    MPI_Comm_free(&all);
    free(memory);
    MPI_Finalize();
    return 0;
}
