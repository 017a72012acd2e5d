/* SPDX-License-Identifier: BSD-3-Clause */
/* callbacks.c: what Open MPI's own parts may do with a request of a pml: they ask to be called when
 * it is complete, and free it before. Rank 0 of two prints "called once". */
#include <ompi_config.h>

#include <mpi.h>
#include <ompi/request/request.h>
#include <stdio.h>

enum { TAG = 4, GO = 5, ANSWER = 6 };

static int called;

static int answer(ompi_request_t *request) {
    (void)request;
    ++called;
    return 0;
}

int main(int argc, char **argv) {
    static int rank, number, answered;
    MPI_Request request;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank == 0) {
        MPI_Irecv(&number, 1, MPI_INT, 1, TAG, MPI_COMM_WORLD, &request);
        ompi_request_set_callback(request, answer, NULL);
        MPI_Request_free(&request);
        MPI_Send(&rank, 1, MPI_INT, 1, GO, MPI_COMM_WORLD);
        MPI_Recv(&answered, 1, MPI_INT, 1, ANSWER, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        if (called == 1 && number == 11) printf("called once\n");
    } else {
        MPI_Recv(&number, 1, MPI_INT, 0, GO, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        number = 11;
        MPI_Send(&number, 1, MPI_INT, 0, TAG, MPI_COMM_WORLD);
        MPI_Send(&number, 1, MPI_INT, 0, ANSWER, MPI_COMM_WORLD);
    }
    MPI_Finalize();
    return 0;
}
