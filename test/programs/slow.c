/* SPDX-License-Identifier: BSD-3-Clause */
/* slow.c: a network with a fault, by a preload over PMPI, so under every MPI and without root.
 * SLOW names it, by commas:
 *   from=HOST, to=HOST, or pair=HOST:HOST (the first sends): of which messages
 *   rate=0.25        windows of long messages take four times as long
 *   latency=0.001    short ones are sent so many s late
 *   flip=1e-4        of the messages which a process receives that part has a wrong byte, and one
 *                    of the first FIRST has in any case, as a busy machine may send few
 *   wire=1e8         long messages of MPI_Send take turns on a wire of so many B/s, one for each
 *                    direction; half=1: one for both. SLOW_WIRE is the folder of their locks
 *   stop=5           from=HOST's processes are stopped for so many s, a second after MPI_Init */
#define _GNU_SOURCE
#include <fcntl.h>
#include <mpi.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <time.h>
#include <unistd.h>

extern char **environ;

enum { DATA = 4, LONG = 65536, PENDING = 64, FIRST = 8 }; /* DATA: their tag; LONG: in bytes */

static char from_host[64], to_host[64];
static double rate = 1, latency, flip, stop, wire, half;
static char (*hosts)[64]; /* of the ranks */
static int own_rank;
static double began;      /* when the first message of a window was sent; 0: none is slow */
static unsigned short dice[3];
static long until_flip; /* messages */

static struct pending {
    MPI_Request *request;
    unsigned char *data;
    int bytes;
} receives[PENDING];

static int is_one(const char *wanted, int rank) {
    return wanted[0] == '\0' || strcmp(wanted, hosts[rank]) == 0;
}

static int concerns(int from, int to) { return is_one(from_host, from) && is_one(to_host, to); }

static void wait_for(double seconds) {
    const double until = PMPI_Wtime() + seconds;
    while (PMPI_Wtime() < until) {}
}

static int takes(const char *word, const char *name, double *to) {
    const size_t length = strlen(name);
    if (strncmp(word, name, length) != 0 || word[length] != '=') return 0;
    *to = strtod(word + length + 1, NULL);
    return 1;
}

static void read_faults(void) {
    const char *given = getenv("SLOW");
    char *text = strdup(given != NULL ? given : "");
    for (char *word; (word = strtok_r(text, ",", &text)) != NULL;) {
        const int is_host = sscanf(word, "pair=%63[^:]:%63s", from_host, to_host) == 2 ||
                            sscanf(word, "from=%63s", from_host) == 1 ||
                            sscanf(word, "to=%63s", to_host) == 1;
        if (is_host || takes(word, "rate", &rate) || takes(word, "latency", &latency) ||
            takes(word, "flip", &flip) || takes(word, "stop", &stop) ||
            takes(word, "wire", &wire) || takes(word, "half", &half))
            continue;
        fprintf(stderr, "slow: SLOW has '%s'\n", word);
        exit(2);
    }
}

static void stop_for_a_while(void) {
    char script[200];
    char *words[] = {"sh", "-c", script, NULL};
    pid_t child;
    snprintf(script, sizeof script, "sleep 1; kill -STOP %d; sleep %g; kill -CONT %d",
             (int)getpid(), stop, (int)getpid());
    if (posix_spawn(&child, "/bin/sh", NULL, NULL, words, environ) != 0) exit(2);
}

static void set_up(void) {
    char own[MPI_MAX_PROCESSOR_NAME + 64] = "";
    int length, ranks;
    read_faults();
    PMPI_Comm_rank(MPI_COMM_WORLD, &own_rank);
    PMPI_Comm_size(MPI_COMM_WORLD, &ranks);
    PMPI_Get_processor_name(own, &length);
    hosts = calloc((size_t)ranks, sizeof *hosts);
    PMPI_Allgather(own, 64, MPI_BYTE, hosts, 64, MPI_BYTE, MPI_COMM_WORLD);
    dice[0] = (unsigned short)own_rank;
    dice[1] = (unsigned short)(getenv("SLOW_SEED") ? atoi(getenv("SLOW_SEED")) : 1);
    until_flip = nrand48(dice) % FIRST;
    if (stop > 0 && is_one(from_host, own_rank)) stop_for_a_while();
}

int MPI_Init(int *argc, char ***argv) {
    const int code = PMPI_Init(argc, argv);
    if (code == MPI_SUCCESS) set_up();
    return code;
}

static int bytes_of(int count, MPI_Datatype type) {
    int size = 0;
    PMPI_Type_size(type, &size);
    return count * size;
}

static void flip_byte(void *data, int bytes) {
    if (bytes > 0 && flip > 0 && (until_flip-- == 0 || erand48(dice) < flip))
        ((unsigned char *)data)[nrand48(dice) % bytes] ^= 1u << nrand48(dice) % 8;
}

static void pass_wire(int bytes, int to) {
    const double seconds = bytes / wire;
    const struct timespec time = {(time_t)seconds, (long)((seconds - (time_t)seconds) * 1e9)};
    char path[512];
    snprintf(path, sizeof path, "%s/wire-%d", getenv("SLOW_WIRE"), half > 0 ? 0 : to);
    const int lock = open(path, O_CREAT | O_RDWR, 0600);
    if (lock < 0 || flock(lock, LOCK_EX) != 0) exit(2);
    nanosleep(&time, NULL);
    close(lock);
}

int MPI_Send(const void *data, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm) {
    if (wire > 0 && bytes_of(count, type) >= LONG) pass_wire(bytes_of(count, type), to);
    if (latency > 0 && bytes_of(count, type) < LONG && concerns(own_rank, to)) wait_for(latency);
    return PMPI_Send(data, count, type, to, tag, comm);
}

int MPI_Recv(void *data, int count, MPI_Datatype type, int from, int tag, MPI_Comm comm,
             MPI_Status *status) {
    const int code = PMPI_Recv(data, count, type, from, tag, comm, status);
    if (tag == DATA && concerns(from, own_rank)) flip_byte(data, bytes_of(count, type));
    return code;
}

int MPI_Isend(const void *data, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm,
              MPI_Request *request) {
    if (rate < 1 && began == 0 && bytes_of(count, type) >= LONG && concerns(own_rank, to))
        began = PMPI_Wtime();
    return PMPI_Isend(data, count, type, to, tag, comm, request);
}

int MPI_Irecv(void *data, int count, MPI_Datatype type, int from, int tag, MPI_Comm comm,
              MPI_Request *request) {
    const int code = PMPI_Irecv(data, count, type, from, tag, comm, request);
    for (int i = 0; tag == DATA && concerns(from, own_rank) && i < PENDING; ++i) {
        if (receives[i].request != NULL) continue;
        receives[i].request = request;
        receives[i].data = data;
        receives[i].bytes = bytes_of(count, type);
        break;
    }
    return code;
}

int MPI_Waitall(int count, MPI_Request *requests, MPI_Status *statuses) {
    const int code = PMPI_Waitall(count, requests, statuses);
    for (int i = 0; i < PENDING; ++i) {
        if (receives[i].request < requests || receives[i].request >= requests + count) continue;
        flip_byte(receives[i].data, receives[i].bytes);
        receives[i].request = NULL;
    }
    if (began > 0) wait_for((PMPI_Wtime() - began) * (1 / rate - 1));
    began = 0;
    return code;
}
