/* SPDX-License-Identifier: BSD-3-Clause */
/* pair.h: two members measure what lies between them: half of a ping-pong of 8 bytes, and the rate
 * of windows of long messages, one way and then the other. The one with the smaller number leads:
 * it says how many rounds or messages the next sample has, 0 at the end. */
#ifndef FCI_PERF_PAIR_H
#define FCI_PERF_PAIR_H

#include "contents.h"
#include "sample.h"
#include "waited.h"

enum { WINDOW = 16, PIECE = 1 << 20, SHORT = 8 };
static const double kLatencyBudget = 0.020, kRateBudget = 0.040, kRateSample = 0.013;

/* Where there are few pairs each may take longer; all members have the same. */
static double patience = 1;

static unsigned char *window_out, *window_in; /* WINDOW pieces each */

struct pair_result {
    int a, b;
    struct figure latency, there, back; /* s; B/s */
    struct wrong at_a, at_b;
};

static void make_windows(void) {
    window_out = memory((size_t)WINDOW * PIECE);
    window_in = memory((size_t)WINDOW * PIECE);
    memset(window_out, 1, (size_t)WINDOW * PIECE);
    memset(window_in, 1, (size_t)WINDOW * PIECE);
}

static int rank_of(int member) { return members[member].rank; }

static void tell(int other, long number) {
    MPI_Send(&number, 1, MPI_LONG, rank_of(other), TAG_CONTROL, MPI_COMM_WORLD);
}

static long hear(int other) {
    long number;
    MPI_Recv(&number, 1, MPI_LONG, rank_of(other), TAG_CONTROL, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    return number;
}

/* --- latency --- */

static void send_short(int other, uint64_t word) {
    MPI_Send(&word, SHORT, MPI_BYTE, rank_of(other), TAG_DATA, MPI_COMM_WORLD);
}

static void receive_short(int other, uint64_t key, long round) {
    unsigned char expected[SHORT], got[SHORT];
    const uint64_t word = word_at(key, (size_t)round);
    memcpy(expected, &word, SHORT);
    memset(got, 0, SHORT);
    MPI_Recv(got, SHORT, MPI_BYTE, rank_of(other), TAG_DATA, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (memcmp(got, expected, SHORT) == 0) return;
    for (int i = 0; i < SHORT; ++i)
        if (got[i] != expected[i]) {
            note_wrong("latency", other, round, SHORT, (size_t)i, expected[i], got[i]);
            return;
        }
}

static double ping_pong(int other, int leads, long rounds) {
    const uint64_t there = key_of(self, other, 0), back = key_of(other, self, 0);
    const double begin = MPI_Wtime();
    for (long round = 0; round < rounds; ++round) {
        if (leads) send_short(other, word_at(there, (size_t)round));
        receive_short(other, back, round);
        if (!leads) send_short(other, word_at(there, (size_t)round));
    }
    return MPI_Wtime() - begin;
}

static struct figure latency_lead(int other) {
    struct samples all = {{0}, 0, 0};
    double seconds = 0;
    long rounds = 4;
    for (;;) { /* the first rounds are slow: connections are made, and peers change their path */
        tell(other, rounds);
        seconds = ping_pong(other, 1, rounds);
        if (seconds >= shortest_sample() / 4 || rounds >= 1 << 20) break;
        rounds *= 4;
    }
    tell(other, rounds); /* once more, as one of the hosts may have paused */
    const double second = ping_pong(other, 1, rounds);
    seconds = second < seconds ? second : seconds;
    rounds = rounds_for(shortest_sample() * 1.5, rounds, seconds, 1 << 24);
    while (!is_enough(&all, patience * kLatencyBudget, SAMPLES_ROOM)) {
        tell(other, rounds);
        add_sample(&all, ping_pong(other, 1, rounds));
    }
    tell(other, 0);
    return scaled(figure_of(&all), 1 / (2.0 * (double)rounds));
}

static void latency_follow(int other) {
    for (long rounds; (rounds = hear(other)) > 0;) ping_pong(other, 0, rounds);
}

/* --- rate --- */

static double send_window(int other, int count) {
    MPI_Request requests[WINDOW];
    char ready;
    MPI_Recv(&ready, 1, MPI_BYTE, rank_of(other), TAG_ANSWER, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    const double begin = MPI_Wtime();
    for (int i = 0; i < count; ++i)
        MPI_Isend(window_out + (size_t)i * PIECE, PIECE, MPI_BYTE, rank_of(other), TAG_DATA,
                  MPI_COMM_WORLD, &requests[i]);
    MPI_Waitall(count, requests, MPI_STATUSES_IGNORE);
    MPI_Recv(&ready, 1, MPI_BYTE, rank_of(other), TAG_ANSWER, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    return MPI_Wtime() - begin;
}

static void receive_window(const char *in, int other, int count) {
    MPI_Request requests[WINDOW];
    char ready = 0;
    memset(window_in, 0xee, (size_t)count * PIECE); /* nothing of an earlier window counts */
    for (int i = 0; i < count; ++i)
        MPI_Irecv(window_in + (size_t)i * PIECE, PIECE, MPI_BYTE, rank_of(other), TAG_DATA,
                  MPI_COMM_WORLD, &requests[i]);
    MPI_Send(&ready, 1, MPI_BYTE, rank_of(other), TAG_ANSWER, MPI_COMM_WORLD);
    MPI_Waitall(count, requests, MPI_STATUSES_IGNORE);
    MPI_Send(&ready, 1, MPI_BYTE, rank_of(other), TAG_ANSWER, MPI_COMM_WORLD);
    for (int i = 0; i < count; ++i) check(in, other, i, window_in + (size_t)i * PIECE, PIECE);
}

static void fill_window(int other) {
    for (int i = 0; i < WINDOW; ++i)
        fill(window_out + (size_t)i * PIECE, PIECE, key_of(self, other, i));
}

static struct figure rate_send(int other) {
    struct samples all = {{0}, 0, 0};
    fill_window(other);
    tell(other, 1); /* not counted: a connection for long messages, registered memory */
    send_window(other, 1);
    tell(other, 2);
    const int count = (int)rounds_for(kRateSample, 2, send_window(other, 2), WINDOW);
    while (!is_enough(&all, patience * kRateBudget, SAMPLES_ROOM)) {
        tell(other, count);
        add_sample(&all, send_window(other, count));
    }
    tell(other, 0);
    return rate_of((double)count * PIECE, figure_of(&all));
}

static void rate_receive(int other) {
    for (long count; (count = hear(other)) > 0;) receive_window("rate", other, (int)count);
}

/* --- all of it --- */

/* The one that leads is told what the other received, and the rate at which it sent. */
static void lead_pair(int other, struct pair_result *found) {
    memset(found, 0, sizeof *found);
    found->a = self, found->b = other;
    found->latency = latency_lead(other);
    found->there = rate_send(other);
    rate_receive(other);
    MPI_Recv(&found->back, sizeof found->back, MPI_BYTE, rank_of(other), TAG_RESULT, MPI_COMM_WORLD,
             MPI_STATUS_IGNORE);
    MPI_Recv(&found->at_b, sizeof found->at_b, MPI_BYTE, rank_of(other), TAG_RESULT, MPI_COMM_WORLD,
             MPI_STATUS_IGNORE);
    found->at_a = wrong;
}

static void follow_pair(int other) {
    latency_follow(other);
    rate_receive(other);
    const struct figure back = rate_send(other);
    MPI_Send(&back, sizeof back, MPI_BYTE, rank_of(other), TAG_RESULT, MPI_COMM_WORLD);
    MPI_Send(&wrong, sizeof wrong, MPI_BYTE, rank_of(other), TAG_RESULT, MPI_COMM_WORLD);
}

/* found: for the one that leads only. */
static void measure_pair(int other, struct pair_result *found) {
    const struct waiting since = begin_waiting();
    memset(&wrong, 0, sizeof wrong);
    if (self < other)
        lead_pair(other, found);
    else
        follow_pair(other);
    end_waiting(&since);
}

#endif
