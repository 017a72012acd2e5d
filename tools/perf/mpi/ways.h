/* SPDX-License-Identifier: BSD-3-Clause */
/* ways.h: benchmarks between two members, one of which leads.
 *
 *   comms1     half of a ping-pong: T for N bytes one way (PARKBENCH)
 *   comms2     both send at the same time and return what came: a quarter of an exchange of four
 *   preposted  both post the receive, then send (dissertation, algorithm 4.2)
 *   oneway     one sends many, the other says once that all came; half of a ping-pong of 0 bytes,
 *              measured beside it, is taken off for that (thesis)
 *   poly3      the other evaluates polynomials over this one's vector (PARKBENCH) */
#ifndef FCI_PERF_WAYS_H
#define FCI_PERF_WAYS_H

#include "pair.h"

enum { ORDERS = 10, ORDER_STEP = 2, POLY_BYTES = 65536 };

struct way {
    const char *name;
    double (*run)(int other, int leads, size_t bytes, long rounds); /* s, of the one that leads */
    double per_round; /* one-way times in a round */
    int leader_receives, has_orders;
};

static unsigned char *row_out, *row_in;
static int poly_order; /* multiplications and additions for each word */

static void put(int other, size_t bytes) {
    MPI_Send(row_out, (int)bytes, MPI_BYTE, rank_of(other), TAG_DATA, MPI_COMM_WORLD);
}

static void take(int other, size_t bytes) {
    MPI_Recv(row_in, (int)bytes, MPI_BYTE, rank_of(other), TAG_DATA, MPI_COMM_WORLD,
             MPI_STATUS_IGNORE);
}

static void exchange(int other, size_t bytes) {
    MPI_Request request;
    MPI_Irecv(row_in, (int)bytes, MPI_BYTE, rank_of(other), TAG_DATA, MPI_COMM_WORLD, &request);
    put(other, bytes);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
}

/* The other returns the very array that it received, and it comes back into the one that was sent:
 * two arrays would cost caches that one does not, as NetPIPE has it, too. */
static double echo(int other, int leads, size_t bytes, long rounds, unsigned char *back) {
    const int to = rank_of(other), count = (int)bytes;
    const double begin = MPI_Wtime();
    for (long round = 0; round < rounds; ++round) {
        if (leads) put(other, bytes);
        MPI_Recv(back, count, MPI_BYTE, to, TAG_DATA, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        if (!leads) MPI_Send(back, count, MPI_BYTE, to, TAG_DATA, MPI_COMM_WORLD);
    }
    return MPI_Wtime() - begin;
}

static double run_comms1(int other, int leads, size_t bytes, long rounds) {
    return echo(other, leads, bytes, rounds, leads ? row_out : row_in);
}

static double run_preposted(int other, int leads, size_t bytes, long rounds) {
    const double begin = MPI_Wtime();
    (void)leads;
    for (long round = 0; round < rounds; ++round) exchange(other, bytes);
    return MPI_Wtime() - begin;
}

static double run_comms2(int other, int leads, size_t bytes, long rounds) {
    return run_preposted(other, leads, bytes, 2 * rounds);
}

static double run_oneway(int other, int leads, size_t bytes, long rounds) {
    enum { ANSWERS = 8 };
    const double begin = MPI_Wtime();
    for (long round = 0; round < rounds; ++round) {
        if (leads)
            put(other, bytes);
        else
            take(other, bytes);
    }
    if (!leads) {
        put(other, 0);
        return run_comms1(other, 0, 0, ANSWERS);
    }
    take(other, 0);
    const double all = MPI_Wtime() - begin;
    const double answer = run_comms1(other, 1, 0, ANSWERS) / (2.0 * ANSWERS);
    return all > answer ? all - answer : 0;
}

/* Horner's rule. Not inlined, so that both members round in the same way. */
__attribute__((noinline)) static double polynomials(const double *x, size_t words, int order) {
    double sum = 0;
    for (size_t i = 0; i < words; ++i) {
        double value = 1;
        for (int k = 0; k < order; k += ORDER_STEP) value = value * x[i] + 0.5;
        sum += value;
    }
    return sum;
}

static double run_poly3(int other, int leads, size_t bytes, long rounds) {
    const double begin = MPI_Wtime();
    for (long round = 0; round < rounds; ++round) {
        if (leads) {
            put(other, bytes);
            take(other, sizeof(double));
        } else {
            take(other, bytes);
            const double sum = polynomials((const double *)row_in, bytes / sizeof sum, poly_order);
            memcpy(row_out, &sum, sizeof sum);
            put(other, sizeof sum);
        }
    }
    return MPI_Wtime() - begin;
}

static const struct way kWays[] = {
    {"comms1", run_comms1, 2, 1, 0}, {"comms2", run_comms2, 4, 1, 0},
    {"preposted", run_preposted, 1, 1, 0}, {"oneway", run_oneway, 1, 0, 0},
    {"poly3", run_poly3, 1, 1, 1}};
enum { WAYS = sizeof kWays / sizeof *kWays };

/* Numbers between 0 and 1 for poly3: bytes of contents may be none. */
static void fill_numbers(size_t bytes) {
    for (size_t i = 0; i < bytes / sizeof(double); ++i) {
        const double x = (double)(word_at(seed, i) >> 11) * 0x1p-53;
        memcpy(row_out + i * sizeof x, &x, sizeof x);
    }
}

/* The one that leads gets back what it sent, into another array here. */
static void verify_comms1(int other, int leads, size_t bytes, long message) {
    const int from = leads ? self : other, to = leads ? other : self;
    fill(row_out, bytes, key_of(self, other, message));
    memset(row_in, 0xee, bytes);
    echo(other, leads, bytes, 1, row_in);
    check_key("comms1", other, key_of(from, to, message), message, row_in, bytes);
}

static void verify_poly3(int other, int leads, size_t bytes, long message) {
    double sum, got;
    if (leads) fill_numbers(bytes);
    run_poly3(other, leads, bytes, 1);
    if (!leads) return;
    sum = polynomials((const double *)row_out, bytes / sizeof sum, poly_order);
    memcpy(&got, row_in, sizeof got);
    if (memcmp(&sum, &got, sizeof sum) != 0)
        note_wrong("poly3", other, message, sizeof sum, 0, ((unsigned char *)&sum)[0], row_in[0]);
}

/* One round of which all that comes is compared. */
static void verify(const struct way *way, int other, int leads, size_t bytes, long message) {
    if (way->has_orders) {
        verify_poly3(other, leads, bytes, message);
        return;
    }
    if (way->run == run_comms1) {
        verify_comms1(other, leads, bytes, message);
        return;
    }
    fill(row_out, bytes, key_of(self, other, message));
    memset(row_in, 0xee, bytes);
    way->run(other, leads, bytes, 1);
    if (!leads || way->leader_receives) check(way->name, other, message, row_in, bytes);
}

#endif
