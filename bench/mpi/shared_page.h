/* SPDX-License-Identifier: BSD-3-Clause */
/* shared_page.h: memory that the ranks of one host share besides MPI. Rank 0 makes a memory file,
 * which the others open by its name in /proc: it works with any MPI, and no file is left over,
 * whatever happens. Needs _GNU_SOURCE.
 */
#ifndef FCI_BENCH_MPI_SHARED_PAGE_H
#define FCI_BENCH_MPI_SHARED_PAGE_H

#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

/* Rank 0 fills where[2], which it then tells the others. The descriptor is where[1]; -1: none. */
static inline void shared_page_offer(size_t bytes, int where[2]) {
    where[0] = (int)getpid();
    where[1] = memfd_create("bench", MFD_CLOEXEC);
    if (where[1] >= 0 && ftruncate(where[1], (off_t)bytes) != 0) {
        close(where[1]);
        where[1] = -1;
    }
}

/* Every rank, rank 0 too. NULL: cannot be had here. */
static inline void *shared_page_take(size_t bytes, const int where[2]) {
    char path[64];
    void *at;
    int fd;
    if (where[1] < 0) return NULL;
    snprintf(path, sizeof path, "/proc/%d/fd/%d", where[0], where[1]);
    fd = open(path, O_RDWR | O_CLOEXEC);
    if (fd < 0) return NULL;
    at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    close(fd);
    return at == MAP_FAILED ? NULL : at;
}

#ifdef MPI_VERSION /* for programs that include mpi.h first */
/* Called by all ranks of MPI_COMM_WORLD, which get the same memory; NULL: one of them cannot. */
static inline void *shared_page(size_t bytes) {
    int rank, where[2] = {-1, -1}, mine, all;
    void *page;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank == 0) shared_page_offer(bytes, where);
    MPI_Bcast(where, 2, MPI_INT, 0, MPI_COMM_WORLD);
    page = shared_page_take(bytes, where);
    mine = page != NULL;
    MPI_Allreduce(&mine, &all, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    if (rank == 0 && where[1] >= 0) close(where[1]);
    return all ? page : NULL;
}
#endif

#endif
