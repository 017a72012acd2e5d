/* SPDX-License-Identifier: BSD-3-Clause */
/* ahead.c: two ranks that send many messages before either receives. MPI allows that for buffered
 * sends only; but programs live with it over other transports, where short messages are local in
 * whatever way they are sent.
 *
 *   ahead MODE COUNT
 *
 * Modes: send, rsend, isend, irsend, bsend, ibsend, each waited for, and persistent ones: start,
 * bstart. COUNT messages of four bytes, and fewer of others, in one piece and in many; each is
 * looked at. Prints "ahead: all right". */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LONGEST = 8192, FEW = 64 };  /* what FCI sends without being asked, on one host */

typedef int (*send_fn)(const void *, int, MPI_Datatype, int, int, MPI_Comm);
typedef int (*begin_fn)(const void *, int, MPI_Datatype, int, int, MPI_Comm, MPI_Request *);

static const struct {
    const char *name;
    send_fn send;
    begin_fn begin, init;
    int is_buffered;
} modes[] = {
    { "send", MPI_Send, NULL, NULL, 0 },        { "rsend", MPI_Rsend, NULL, NULL, 0 },
    { "isend", NULL, MPI_Isend, NULL, 0 },      { "irsend", NULL, MPI_Irsend, NULL, 0 },
    { "start", NULL, NULL, MPI_Send_init, 0 },  { "bsend", MPI_Bsend, NULL, NULL, 1 },
    { "ibsend", NULL, MPI_Ibsend, NULL, 1 },    { "bstart", NULL, NULL, MPI_Bsend_init, 1 },
};

static char from[2 * LONGEST], to[LONGEST];

static void fail(const char *why, int number) {
    fprintf(stderr, "ahead: message %d: %s\n", number, why);
    MPI_Abort(MPI_COMM_WORLD, 1);
}

static void *buffer_for(int count, int bytes) {
    const int most = count * (MPI_BSEND_OVERHEAD + bytes + 64);
    void *const buffer = malloc((size_t)most);
    if (buffer == NULL) fail("no memory", 0);
    MPI_Buffer_attach(buffer, most);
    return buffer;
}

static void begin(int how, MPI_Datatype type, int other, MPI_Request *request) {
    if (modes[how].send != NULL)
        modes[how].send(from, 1, type, other, 7, MPI_COMM_WORLD);
    else if (modes[how].begin != NULL)
        modes[how].begin(from, 1, type, other, 7, MPI_COMM_WORLD, request);
    else
        MPI_Start(request);
}

static void receive(int other, int bytes, int number) {
    MPI_Status status;
    int length;
    MPI_Recv(to, LONGEST, MPI_CHAR, other, 7, MPI_COMM_WORLD, &status);
    MPI_Get_count(&status, MPI_CHAR, &length);
    if (length != bytes) fail("wrong length", number);
    if (bytes != 0 && to[bytes - 1] != (char)(number % 251)) fail("wrong end", number);
    if (bytes > 1 && to[0] != (char)number) fail("wrong begin", number);
}

static void all(int how, int other, int bytes, int step, int count) {
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Datatype type;
    void *buffer = NULL;
    int most;
    MPI_Type_vector(bytes, 1, step, MPI_CHAR, &type);
    MPI_Type_commit(&type);
    if (modes[how].is_buffered) buffer = buffer_for(count, bytes);
    if (modes[how].init != NULL)
        modes[how].init(from, 1, type, other, 7, MPI_COMM_WORLD, &request);
    MPI_Barrier(MPI_COMM_WORLD);
    for (int i = 0; i < count; ++i) {
        if (bytes != 0) from[0] = (char)i, from[(bytes - 1) * step] = (char)(i % 251);
        begin(how, type, other, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        from[0] = 'x';  /* it is the program's again */
    }
    for (int i = 0; i < count; ++i) receive(other, bytes, i);
    if (buffer != NULL) MPI_Buffer_detach(&buffer, &most);
    if (modes[how].init != NULL) MPI_Request_free(&request);
    MPI_Type_free(&type);
    MPI_Barrier(MPI_COMM_WORLD);
    free(buffer);
}

int main(int argc, char **argv) {
    static const int lengths[] = { 0, 4, 64, 1024, LONGEST };
    const int known = sizeof modes / sizeof *modes;
    int rank, how = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    while (how < known && argc == 3 && strcmp(modes[how].name, argv[1]) != 0) ++how;
    if (how == known || argc != 3) MPI_Abort(MPI_COMM_WORLD, 2);
    for (unsigned i = 0; i < sizeof lengths / sizeof *lengths; ++i) {
        const int many = atoi(argv[2]), few = lengths[i] == 4 ? many : many / 5;
        const int count = lengths[i] <= FEW ? few : many * FEW / lengths[i];
        for (int step = 1; step <= 2; ++step) all(how, rank ^ 1, lengths[i], step, count);
    }
    if (rank == 0) puts("ahead: all right");
    MPI_Finalize();
    return 0;
}
