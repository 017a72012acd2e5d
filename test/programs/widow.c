/* widow: the last rank ends without a word, or its host does, while all others wait for it. Each
 * of them says when it heard, by CLOCK_MONOTONIC, and what FCI said is for the user to read.
 *   widow kill      it kills itself; "rank R heard after S s"
 *   widow cut       after "ready" somebody cuts its host off; "rank R heard at T" */
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

int main(int argc, char** argv) {
    int rank, ranks;
    double death = 0, never;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    const int kills = argc > 1 && strcmp(argv[1], "kill") == 0, last = ranks - 1;
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    if (rank == last) {
        death = now() + 0.5;
        for (int other = 0; other < last; other++)
            MPI_Send(&death, 1, MPI_DOUBLE, other, 0, MPI_COMM_WORLD);
        while (kills && now() < death) usleep(1000);
        if (kills) raise(SIGKILL);
        usleep(25 * 1000000);
        _exit(0);
    }
    MPI_Recv(&death, 1, MPI_DOUBLE, last, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (!kills) puts("ready");
    fflush(stdout);
    const int error = MPI_Recv(&never, 1, MPI_DOUBLE, last, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (error == MPI_SUCCESS) {
        puts("received what nobody sent");
        return 1;
    }
    char text[MPI_MAX_ERROR_STRING];
    int length;
    MPI_Error_string(error, text, &length);
    fprintf(stderr, "%s\n", text);
    if (kills) printf("rank %d heard after %.4f s\n", rank, now() - death);
    else printf("rank %d heard at %.4f\n", rank, now());
    fflush(stdout);
    usleep(200 * 1000);  // Hydra loses what is said where all of a host end at once
    _exit(0);
}
