/* SPDX-License-Identifier: BSD-3-Clause */
/* mpich_counters.c: reads FCI's counters through MPI_T around messages whose number is known.
 *
 *   mpich_counters [show]
 *
 * Says nothing without `show` while all is well. Exit codes: 0 the counters grew by what was sent,
 * 1 they did not, or there are none. */
#include <mpi.h>
#include <stdio.h>
#include <string.h>

enum { kMessages = 100 };

static MPI_T_pvar_session session;

/* The value of the performance variable of that name; -1: there is none. */
static long long value_of(const char *wanted) {
    int count;
    MPI_T_pvar_get_num(&count);
    for (int i = 0; i < count; ++i) {
        char name[128];
        int length = sizeof name, none = 0, verbosity, class, bind, readonly, continuous, atomic;
        MPI_Datatype type;
        MPI_T_enum values;
        MPI_T_pvar_get_info(i, name, &length, &verbosity, &class, &type, &values, NULL, &none,
                            &bind, &readonly, &continuous, &atomic);
        if (strcmp(name, wanted) != 0) continue;
        unsigned long long value = 0;
        MPI_T_pvar_handle handle;
        int elements;
        MPI_T_pvar_handle_alloc(session, i, NULL, &handle, &elements);
        MPI_T_pvar_read(session, handle, &value);
        MPI_T_pvar_handle_free(session, &handle);
        return (long long)value;
    }
    return -1;
}

int main(int argc, char **argv) {
    int rank, size, provided, bad = 0;
    long word = 0;
    MPI_Init(&argc, &argv);
    MPI_T_init_thread(MPI_THREAD_SINGLE, &provided);
    MPI_T_pvar_session_create(&session);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    const int next = (rank + 1) % size, last = (rank + size - 1) % size;
    MPI_Barrier(MPI_COMM_WORLD);
    const long long before = value_of("fci_sent_inline");
    for (int i = 0; i < kMessages; ++i)
        MPI_Sendrecv_replace(&word, 1, MPI_LONG, next, 0, last, 0, MPI_COMM_WORLD,
                             MPI_STATUS_IGNORE);
    const long long grown = value_of("fci_sent_inline") - before;
    if (before < 0 || grown < (size > 1 ? kMessages : 0) || grown > 2 * kMessages) {
        fprintf(stderr, "rank %d: fci_sent_inline was %lld, grew by %lld\n", rank, before, grown);
        bad = 1;
    }
    if (argc == 2 && rank == 0)
        printf("fci_sent_inline grew by %lld in %d messages\n", grown, kMessages);
    MPI_T_pvar_session_free(&session);
    MPI_T_finalize();
    MPI_Finalize();
    return bad;
}
