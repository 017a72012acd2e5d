/* SPDX-License-Identifier: BSD-3-Clause */
/* crowd.c: small collectives of all kinds in any order, on communicators that come and go, by ranks
 * that compute, sleep, or come at once; every byte is checked.
 *   crowd SEED ROUNDS
 * The same seed makes the same program on every rank. Prints "crowd: N rounds, all right". */
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MOST = 300, COMMS = 9 };

static uint64_t shared_state, own_state;
static int world_rank, world_size;
static long done;
static volatile long *arrived; /* of each rank of the world, in memory that all share, if they do */

static uint64_t next(uint64_t *state) {
    uint64_t x = *state += 0x9e3779b97f4a7c15ull;
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ull;
    x = (x ^ x >> 27) * 0x94d049bb133111ebull;
    return x ^ x >> 31;
}
static int draw(int below) { return (int)(next(&shared_state) % (unsigned)below); }
static int draw_own(int below) { return (int)(next(&own_state) % (unsigned)below); }

static void wrong(const char *what, long got, long wanted) {
    fprintf(stderr, "crowd: rank %d, collective %ld: %s: %ld instead of %ld\n", world_rank, done,
            what, got, wanted);
    MPI_Abort(MPI_COMM_WORLD, 1);
}

/* Now and then one comes late, and seldom so late that the others sleep. */
static void dawdle(void) {
    const int how = draw_own(1000);
    if (how == 0) {
        usleep(20000);
    } else if (how < 10) {
        usleep((unsigned)(100 * how));
    } else if (how < 100) {
        for (volatile int i = 0; i < 100 * how; ++i) {
        }
    }
}

static unsigned char content(long number, int at) { return (unsigned char)(number * 37 + at * 11); }

static void broadcast(MPI_Comm comm, int root, int bytes) {
    unsigned char data[MOST];
    int rank;
    MPI_Comm_rank(comm, &rank);
    for (int i = 0; i < bytes; ++i) data[i] = rank == root ? content(done, i) : 0xee;
    MPI_Bcast(data, bytes, MPI_BYTE, root, comm);
    for (int i = 0; i < bytes; ++i)
        if (data[i] != content(done, i)) wrong("a byte of a broadcast", data[i], content(done, i));
}

static void spread(MPI_Comm comm, int root) { /* of a type with holes */
    MPI_Datatype holes;
    int data[6] = {0, 0, 0, 0, 0, 0}, rank;
    MPI_Comm_rank(comm, &rank);
    MPI_Type_vector(3, 1, 2, MPI_INT, &holes);
    MPI_Type_commit(&holes);
    for (int i = 0; i < 6; ++i) data[i] = rank == root ? (int)done + i : -1;
    MPI_Bcast(data, 1, holes, root, comm);
    for (int i = 0; i < 6; i += 2)
        if (data[i] != (int)done + i) wrong("an integer of a vector", data[i], done + i);
    if (rank != root && data[1] != -1) wrong("a hole of a vector", data[1], -1);
    MPI_Type_free(&holes);
}

static void reduce(MPI_Comm comm, int count, int in_place) {
    long in[MOST], out[MOST];
    int rank, size;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    for (int i = 0; i < count; ++i) in[i] = out[i] = done + (long)rank * (i + 1);
    MPI_Allreduce(in_place ? MPI_IN_PLACE : in, out, count, MPI_LONG, MPI_SUM, comm);
    for (int i = 0; i < count; ++i) {
        const long sum = done * size + (long)size * (size - 1) / 2 * (i + 1);
        if (out[i] != sum) wrong("a sum", out[i], sum);
    }
}

/* All ranks must come to the same bits, in whatever order they add. */
static void reduce_exactly(MPI_Comm comm) {
    long double mine = 1.0L / (1 + draw_own(1000)), sum = 0, least = 0, most = 0;
    MPI_Allreduce(&mine, &sum, 1, MPI_LONG_DOUBLE, MPI_SUM, comm);
    MPI_Allreduce(&sum, &least, 1, MPI_LONG_DOUBLE, MPI_MIN, comm);
    MPI_Allreduce(&sum, &most, 1, MPI_LONG_DOUBLE, MPI_MAX, comm);
    if (least != most) wrong("a sum differs between ranks", 1, 0);
    done += 2;
}

static void barrier(MPI_Comm comm) {
    MPI_Group group, world;
    int size, ranks[256], all[256];
    MPI_Comm_group(comm, &group);
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    MPI_Comm_size(comm, &size);
    for (int i = 0; i < size; ++i) ranks[i] = i;
    MPI_Group_translate_ranks(group, size, ranks, world, all);
    if (arrived != NULL) __atomic_store_n(&arrived[world_rank], done, __ATOMIC_SEQ_CST);
    MPI_Barrier(comm);
    for (int i = 0; i < size && arrived != NULL; ++i) {
        const long there = __atomic_load_n(&arrived[all[i]], __ATOMIC_SEQ_CST);
        if (there < done) wrong("who has come to a barrier", there, done);
    }
    MPI_Group_free(&group);
    MPI_Group_free(&world);
}

/* --- several at a time --- */

struct begun {
    int kind, root, count;
    long number;
    long in[9], out[9];
    unsigned char bytes[MOST];
    int holes[6];
};

static void add(void *in, void *inout, int *count, MPI_Datatype *type) {
    (void)type;
    for (int i = 0; i < *count; ++i) ((long *)inout)[i] += ((long *)in)[i];
}

/* What it needs besides its data may go before it ends. */
static MPI_Request begin(MPI_Comm comm, int rank, struct begun *it) {
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Datatype type;
    MPI_Op sum;
    switch (it->kind) {
        case 0: MPI_Ibarrier(comm, &request); break;
        case 1:
            for (int i = 0; i < it->count; ++i)
                it->bytes[i] = rank == it->root ? content(it->number, i) : 0xee;
            MPI_Ibcast(it->bytes, it->count, MPI_BYTE, it->root, comm, &request);
            break;
        case 2:
            for (int i = 0; i < 6; ++i) it->holes[i] = rank == it->root ? (int)it->number + i : -1;
            MPI_Type_vector(3, 1, 2, MPI_INT, &type);
            MPI_Type_commit(&type);
            MPI_Ibcast(it->holes, 1, type, it->root, comm, &request);
            MPI_Type_free(&type);
            break;
        default:
            for (int i = 0; i < 9; ++i) it->in[i] = it->number + (long)rank * (i + 1);
            MPI_Op_create(add, 1, &sum);
            if (it->kind == 3)
                MPI_Iallreduce(it->in, it->out, 9, MPI_LONG, sum, comm, &request);
            else
                MPI_Ireduce(it->in, it->out, 9, MPI_LONG, sum, it->root, comm, &request);
            MPI_Op_free(&sum);
    }
    return request;
}

static void check(int rank, int size, const struct begun *it) {
    for (int i = 0; it->kind == 1 && i < it->count; ++i)
        if (it->bytes[i] != content(it->number, i))
            wrong("a byte of one of several", it->bytes[i], content(it->number, i));
    for (int i = 0; it->kind == 2 && i < 6; ++i) {
        const int wanted = rank == it->root || i % 2 == 0 ? (int)it->number + i : -1;
        if (it->holes[i] != wanted) wrong("an integer of one of several", it->holes[i], wanted);
    }
    for (int i = 0; (it->kind == 3 || (it->kind == 4 && rank == it->root)) && i < 9; ++i) {
        const long sum = it->number * size + (long)size * (size - 1) / 2 * (i + 1);
        if (it->out[i] != sum) wrong("a sum of several", it->out[i], sum);
    }
}

static void several(MPI_Comm comm, int size) {
    enum { AT_ONCE = 7 };
    struct begun them[AT_ONCE];
    MPI_Request requests[AT_ONCE];
    const int n = 1 + draw(AT_ONCE);
    int rank, over = 0;
    MPI_Comm_rank(comm, &rank);
    for (int i = 0; i < n; ++i) {
        them[i] = (struct begun){.kind = draw(5), .root = draw(size), .count = 1 + draw(MOST)};
        them[i].number = done++;
        requests[i] = begin(comm, rank, &them[i]);
        if (draw(4) == 0) broadcast(comm, draw(size), 8);
        ++done;
    }
    switch (draw_own(3)) {
        case 0: MPI_Waitall(n, requests, MPI_STATUSES_IGNORE); break;
        case 1:
            for (int i = n; i-- > 0;) MPI_Wait(&requests[i], MPI_STATUS_IGNORE);
            break;
        default:
            while (!over) MPI_Testall(n, requests, &over, MPI_STATUSES_IGNORE);
    }
    for (int i = 0; i < n; ++i) check(rank, size, &them[i]);
}

static void one(MPI_Comm comm, int size) {
    static const int lengths[] = {1, 4, 8, 55, 56, 57, 64, 300};
    switch (draw(10)) {
        case 0: case 1: barrier(comm); break;
        case 2: case 3: broadcast(comm, draw(size), lengths[draw(8)]); break;
        case 4: reduce(comm, 1 + draw(9), draw(2)); break;
        case 5: spread(comm, draw(size)); break;
        case 6: reduce_exactly(comm); break;
        case 7: case 8: several(comm, size); break;
        default:
            /* More than anybody keeps, from one root and from all in turn. */
            for (int i = 0, root = draw(size), step = draw(2), n = draw(60); i < n; ++i, ++done)
                broadcast(comm, (root + i * step) % size, 8);
    }
    ++done;
}

int main(int argc, char **argv) {
    MPI_Comm comms[COMMS];
    MPI_Win window;
    void *base;
    MPI_Aint bytes;
    int unit;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &world_rank);
    MPI_Comm_size(MPI_COMM_WORLD, &world_size);
    if (argc != 3 || world_size > 256) {
        fprintf(stderr, "usage: crowd SEED ROUNDS, at most 256 ranks\n");
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    shared_state = strtoull(argv[1], NULL, 10);
    own_state = shared_state * 977 + (unsigned)world_rank + 1;
    const long rounds = atol(argv[2]);
    MPI_Comm near;
    int near_size;
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &near);
    MPI_Comm_size(near, &near_size);
    if (near_size == world_size) {
        MPI_Win_allocate_shared(world_rank == 0 ? world_size * (MPI_Aint)sizeof(long) : 0,
                                sizeof(long), MPI_INFO_NULL, near, &base, &window);
        MPI_Win_shared_query(window, 0, &bytes, &unit, &base);
        arrived = base;
    }
    for (int i = 0; i < COMMS; ++i) comms[i] = MPI_COMM_NULL;
    MPI_Comm_dup(MPI_COMM_WORLD, &comms[0]);
    for (long round = 0; round < rounds; ++round) {
        /* Groups of all sizes; members of one place of the list make one communicator, or several
         * that know nothing of each other. */
        const int which = draw(COMMS);
        if (which != 0 && draw(40) == 0) {
            if (comms[which] != MPI_COMM_NULL) MPI_Comm_free(&comms[which]);
            const int groups = 1 + draw(3), backwards = draw(2), wanted = draw(3);
            if (wanted != 0)
                MPI_Comm_split(comms[0], world_rank % groups, backwards ? -world_rank : 0,
                               &comms[which]);
        }
        if (comms[which] == MPI_COMM_NULL) continue;
        /* What is drawn depends on the size, and groups may differ in that: each has its own. */
        const uint64_t before = shared_state;
        const long done_before = done;
        int size, rank, n = 1 + draw(20);
        MPI_Comm_size(comms[which], &size);
        MPI_Comm_rank(comms[which], &rank);
        for (int i = 0; i < n; ++i) {
            dawdle();
            one(comms[which], size);
        }
        shared_state = before;
        (void)next(&shared_state);
        done = done_before + 2000;
    }
    MPI_Barrier(MPI_COMM_WORLD);
    for (int i = 0; i < COMMS; ++i)
        if (comms[i] != MPI_COMM_NULL) MPI_Comm_free(&comms[i]);
    if (arrived != NULL) MPI_Win_free(&window);
    MPI_Comm_free(&near);
    if (world_rank == 0) printf("crowd: %ld rounds, all right\n", rounds);
    MPI_Finalize();
    return 0;
}
