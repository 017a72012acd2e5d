/* SPDX-License-Identifier: BSD-3-Clause */
/* mpich_death.c: the last rank dies while the others are about to need it, in the way of argv[1].
 *
 * Each of the others prints one line: the class of the error it got, and MPI's text. Exit codes:
 * 0 it got one, 1 it got none, 2 wrong use. */
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static int rank, size, dead;
static MPI_Win window;
static long *memory;

static int failed(int code, const char *call) {
    if (code == MPI_SUCCESS) return 0;
    char text[MPI_MAX_ERROR_STRING];
    int length, class;
    MPI_Error_class(code, &class);
    MPI_Error_string(code, text, &length);
    for (char *c = text; *c; ++c)
        if (*c == '\n') *c = ' ';
    printf("survivor %d: %s: class %d: %s\n", rank, call, class, text);
    fflush(stdout);
    sleep(1); /* so that the others see the same death, and not this end */
    _exit(0);
}

static void die_if_last(void) {
    if (rank == dead) raise(SIGKILL);
}

/* The others have asked by then, and nobody answers. */
static void die_soon_if_last(void) {
    if (rank == dead) usleep(300000);
    die_if_last();
}

/* Memory that nobody can map, so that everything goes by messages to the target. */
static void open_window(void) {
    MPI_Win_create(memory, 8 * sizeof *memory, sizeof *memory, MPI_INFO_NULL, MPI_COMM_WORLD,
                   &window);
    MPI_Win_set_errhandler(window, MPI_ERRORS_RETURN);
    MPI_Barrier(MPI_COMM_WORLD);
}

static void receive(void) {
    long word;
    die_if_last();
    failed(MPI_Recv(&word, 1, MPI_LONG, dead, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE), "MPI_Recv");
}

static void any_source(void) {
    long word;
    MPI_Barrier(MPI_COMM_WORLD);
    die_if_last();
    failed(MPI_Recv(&word, 1, MPI_LONG, MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE),
           "MPI_Recv");
}

/* Nobody has ever spoken to the dead. */
static void strangers(void) {
    long word;
    if (rank == dead) sleep(3);
    die_if_last();
    failed(MPI_Recv(&word, 1, MPI_LONG, MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE),
           "MPI_Recv");
}

static void synchronous(void) {
    long word = 0;
    die_if_last();
    failed(MPI_Ssend(&word, 1, MPI_LONG, dead, 0, MPI_COMM_WORLD), "MPI_Ssend");
}

static void barrier(void) {
    die_if_last();
    failed(MPI_Barrier(MPI_COMM_WORLD), "MPI_Barrier");
    /* It ends well for those who did not have to hear of the dead. */
    failed(MPI_Barrier(MPI_COMM_WORLD), "MPI_Barrier");
}

static void lock(void) {
    open_window();
    die_soon_if_last();
    long word = 1;
    failed(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, dead, 0, window), "MPI_Win_lock");
    failed(MPI_Put(&word, 1, MPI_LONG, dead, 0, 1, MPI_LONG, window), "MPI_Put");
    failed(MPI_Win_unlock(dead, window), "MPI_Win_unlock");
}

static void flush(void) {
    open_window();
    failed(MPI_Win_lock_all(0, window), "MPI_Win_lock_all");
    long word = 1, result;
    if (rank == 0) MPI_Fetch_and_op(&word, &result, MPI_LONG, dead, 0, MPI_SUM, window);
    if (rank == 0) MPI_Win_flush(dead, window);
    MPI_Barrier(MPI_COMM_WORLD);
    die_soon_if_last();
    usleep(100000); /* the last rank is out of the barrier, and makes no progress any more */
    failed(MPI_Fetch_and_op(&word, &result, MPI_LONG, dead, 0, MPI_SUM, window),
           "MPI_Fetch_and_op");
    failed(MPI_Win_flush(dead, window), "MPI_Win_flush");
}

static void fence(void) {
    open_window();
    MPI_Win_fence(0, window);
    die_if_last();
    failed(MPI_Win_fence(0, window), "MPI_Win_fence");
    failed(MPI_Win_fence(0, window), "MPI_Win_fence");
}

static void complete(void) {
    MPI_Group all, others;
    open_window();
    MPI_Comm_group(MPI_COMM_WORLD, &all);
    MPI_Group_incl(all, 1, &dead, &others);
    die_soon_if_last();
    failed(MPI_Win_start(others, 0, window), "MPI_Win_start");
    failed(MPI_Win_complete(window), "MPI_Win_complete");
}

/* Its partitions were promised, and never come. */
static void partitioned(void) {
    MPI_Request request;
    long words[4] = {0};
    if (rank == dead) {
        for (int other = 0; other < dead; ++other) {
            MPI_Psend_init(words, 4, 1, MPI_LONG, other, 0, MPI_COMM_WORLD, MPI_INFO_NULL,
                           &request);
            MPI_Start(&request);
        }
        die_soon_if_last();
    }
    MPI_Precv_init(words, 4, 1, MPI_LONG, dead, 0, MPI_COMM_WORLD, MPI_INFO_NULL, &request);
    failed(MPI_Start(&request), "MPI_Start");
    failed(MPI_Wait(&request, MPI_STATUS_IGNORE), "MPI_Wait");
}

/* The first collective is one like others; later ones may go ways of their own, and who waits there
 * for long is asleep by then. */
static void be_used_to_collectives(void) {
    for (int i = 0; i < 20; ++i) MPI_Barrier(MPI_COMM_WORLD);
    die_soon_if_last();
}

static void later_barrier(void) {
    be_used_to_collectives();
    failed(MPI_Barrier(MPI_COMM_WORLD), "MPI_Barrier");
}

static void later_bcast(void) {
    long word = 0;
    be_used_to_collectives();
    failed(MPI_Bcast(&word, 1, MPI_LONG, dead, MPI_COMM_WORLD), "MPI_Bcast");
}

/* Its root need not wait for anybody, but not for ever so. */
static void later_bcast_to(void) {
    long word = 0;
    be_used_to_collectives();
    for (int i = 0; i < 1000; ++i)
        failed(MPI_Bcast(&word, 1, MPI_LONG, 0, MPI_COMM_WORLD), "MPI_Bcast");
    failed(MPI_Barrier(MPI_COMM_WORLD), "MPI_Barrier");
}

static void later_allreduce(void) {
    long word = 1, sum = 0;
    be_used_to_collectives();
    failed(MPI_Allreduce(&word, &sum, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD), "MPI_Allreduce");
}

int main(int argc, char **argv) {
    static const struct {
        const char *name;
        void (*run)(void);
    } ways[] = {{"receive", receive},   {"any-source", any_source}, {"strangers", strangers},
                {"ssend", synchronous}, {"barrier", barrier},       {"lock", lock},
                {"flush", flush},       {"fence", fence},           {"complete", complete},
                {"partitioned", partitioned},
                {"later-barrier", later_barrier},
                {"later-bcast", later_bcast},
                {"later-bcast-to", later_bcast_to},
                {"later-allreduce", later_allreduce}};
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Alloc_mem(8 * sizeof *memory, MPI_INFO_NULL, &memory);
    memset(memory, 0, 8 * sizeof *memory);
    dead = size - 1;
    for (size_t i = 0; argc == 2 && i < sizeof ways / sizeof ways[0]; ++i) {
        if (strcmp(argv[1], ways[i].name) != 0) continue;
        ways[i].run();
        printf("survivor %d: no error\n", rank);
        fflush(stdout);
        _exit(1);
    }
    return 2;
}
