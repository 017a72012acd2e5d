/* SPDX-License-Identifier: BSD-3-Clause */
/* mourner.c: rank 0 hears from all others, never sends to them, and loses them one after the other.
 *
 *   mourner
 *
 * Rank 0 receives from MPI_ANY_SOURCE what all others send, and then waits for more, while each of
 * these ends without MPI_Finalize; and then for more of each of them, several times. What is said
 * of that is for the user to read. It prints
 *
 *   N receives failed
 */
#include <mpi.h>
#include <stdio.h>
#include <unistd.h>

enum { TAG = 3, TIMES = 4 };

int main(int argc, char **argv) {
    int rank, ranks, number = 0, failed = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    if (rank != 0) {
        MPI_Send(&rank, 1, MPI_INT, 0, TAG, MPI_COMM_WORLD);
        usleep(300000 * (unsigned)rank);
        _exit(0);
    }
    for (int other = 1; other < ranks; other++)
        MPI_Recv(&number, 1, MPI_INT, MPI_ANY_SOURCE, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    for (int other = 1; other < ranks; other++)
        failed += MPI_Recv(&number, 1, MPI_INT, MPI_ANY_SOURCE, TAG, MPI_COMM_WORLD,
                           MPI_STATUS_IGNORE) != MPI_SUCCESS;
    for (int time = 0; time < TIMES; time++)
        for (int other = 1; other < ranks; other++)
            failed += MPI_Recv(&number, 1, MPI_INT, other, TAG, MPI_COMM_WORLD,
                               MPI_STATUS_IGNORE) != MPI_SUCCESS;
    printf("%d receives failed\n", failed);
    fflush(stdout);
    _exit(0);
}
