/* SPDX-License-Identifier: BSD-3-Clause */
/* crowd.h: what more than two members do at the same time, all of them in step: the time of a round
 * is the slowest one's, which all know, so all decide alike how often it is measured. */
#ifndef FCI_PERF_CROWD_H
#define FCI_PERF_CROWD_H

#include "contents.h"
#include "sample.h"

struct crowd {
    MPI_Comm comm;
    int self, count;
    void (*round)(const struct crowd *crowd);
    unsigned char *out, *in; /* in: a place for each member's message */
    size_t bytes;
    MPI_Request *requests;   /* two for each member */
};

static double crowd_rounds(const struct crowd *crowd, long rounds) {
    double own, slowest;
    MPI_Barrier(crowd->comm);
    const double begin = MPI_Wtime();
    for (long round = 0; round < rounds; ++round) crowd->round(crowd);
    own = MPI_Wtime() - begin;
    MPI_Allreduce(&own, &slowest, 1, MPI_DOUBLE, MPI_MAX, crowd->comm);
    return slowest;
}

/* Seconds of one round, so many samples. */
static struct samples crowd_samples(const struct crowd *crowd, double budget) {
    struct samples all = {{0}, 0, 0};
    const double least = shortest_sample(), part = budget / SAMPLES_MOST;
    crowd_rounds(crowd, 1);
    const long rounds = rounds_for(part > least ? part : least, 2, crowd_rounds(crowd, 2), 1 << 20);
    while (!is_enough(&all, budget, SAMPLES_MOST)) add_sample(&all, crowd_rounds(crowd, rounds));
    for (int i = 0; i < all.count; ++i) all.sorted[i] /= (double)rounds;
    return all;
}

/* --- rounds --- */

static void round_of_barrier(const struct crowd *crowd) { MPI_Barrier(crowd->comm); }

static void crowd_send(const struct crowd *crowd, int step, MPI_Request *requests) {
    const int from = (crowd->self + crowd->count - step) % crowd->count;
    const int to = (crowd->self + step) % crowd->count;
    MPI_Irecv(crowd->in + (size_t)from * crowd->bytes, (int)crowd->bytes, MPI_BYTE, from, TAG_DATA,
              crowd->comm, &requests[0]);
    MPI_Isend(crowd->out, (int)crowd->bytes, MPI_BYTE, to, TAG_DATA, crowd->comm, &requests[1]);
}

/* COMMS3: each sends to all others and waits for what they send. */
static void round_of_comms3(const struct crowd *crowd) {
    for (int step = 1; step < crowd->count; ++step)
        crowd_send(crowd, step, crowd->requests + 2 * (step - 1));
    MPI_Waitall(2 * (crowd->count - 1), crowd->requests, MPI_STATUSES_IGNORE);
}

/* Each sends to the one half around: the way through the middle of a network. */
static void round_of_halves(const struct crowd *crowd) {
    crowd_send(crowd, (crowd->count + 1) / 2, crowd->requests);
    MPI_Waitall(2, crowd->requests, MPI_STATUSES_IGNORE);
}

/* --- one of them --- */

static struct crowd make_crowd(MPI_Comm comm, size_t bytes,
                               void (*round)(const struct crowd *crowd)) {
    struct crowd made;
    memset(&made, 0, sizeof made);
    made.comm = comm, made.round = round, made.bytes = bytes;
    MPI_Comm_rank(comm, &made.self);
    MPI_Comm_size(comm, &made.count);
    made.out = memory(bytes);
    made.in = memory(bytes * (size_t)made.count);
    made.requests = memory(2 * (size_t)made.count * sizeof *made.requests);
    memset(made.in, 0xee, bytes * (size_t)made.count);
    return made;
}

static void free_crowd(struct crowd *crowd) {
    free(crowd->out);
    free(crowd->in);
    free(crowd->requests);
}

/* A round, with contents: all get the same of a member, so its key names no other. `step`: of the
 * one it comes from; 0: of all. */
static void verify_crowd(const char *in, const struct crowd *crowd, int step, long message) {
    fill(crowd->out, crowd->bytes, key_of(crowd->self, -1, message));
    memset(crowd->in, 0xee, crowd->bytes * (size_t)crowd->count);
    crowd_rounds(crowd, 1);
    for (int each = step > 0 ? step : 1; each < crowd->count; ++each) {
        const int from = (crowd->self + crowd->count - each) % crowd->count;
        check_key(in, from, key_of(from, -1, message), message,
                  crowd->in + (size_t)from * crowd->bytes, crowd->bytes);
        if (step > 0) return;
    }
}

#endif
