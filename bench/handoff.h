/* SPDX-License-Identifier: BSD-3-Clause */
/* t_c: the time in which one cache line passes from one core to another, one way. It is the unit
 * of every other figure here, and it tells in which mode a machine is, because virtual processors
 * move: two threads of a core, two cores of an L3, two L3s.
 *
 * Plain C with compiler atomics instead of fci_core/base/flag.h: bench/mpi/probe.c is compiled by
 * whatever mpicc it is asked for.
 */
#ifndef FCI_BENCH_HANDOFF_H
#define FCI_BENCH_HANDOFF_H

#include <sched.h>
#include <stdint.h>
#include <time.h>

/* In memory that both sides map, all zero at first. Each word has two lines for itself, because
 * processors fetch lines in pairs. */
struct fci_handoff {
    uint64_t token;  /* odd: to the pong side, even: back; FCI_HANDOFF_OVER: the session ended */
    char pad1[120];
    uint64_t asked; /* number of the session that the ping side began */
    char pad2[120];
    uint64_t ready; /* number of the session that the pong side joined */
    char pad3[120];
};

#define FCI_HANDOFF_OVER UINT64_MAX
#define FCI_HANDOFF_BATCHES 32
#define FCI_HANDOFF_TRIPS 100
#define FCI_HANDOFF_JOIN_NS 2000000000LL /* for the other side to arrive */
#define FCI_HANDOFF_NS 150000000LL      /* the measurement, where cores are shared; else 2 ms */

static inline int64_t fci_now_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000LL + t.tv_nsec;
}

static inline uint64_t fci_handoff_look(const uint64_t *word) {
    return __atomic_load_n(word, __ATOMIC_ACQUIRE);
}

static inline void fci_handoff_put(uint64_t *word, uint64_t value) {
    __atomic_store_n(word, value, __ATOMIC_RELEASE);
}

/* The token alone is waited for without a pause: how long a pause takes differs by a factor of ten
 * between processors, and the transfer would hide in it. 0: time over. */
static inline int fci_handoff_catch(const uint64_t *token, uint64_t value, int64_t deadline) {
    for (uint64_t turns = 1;; ++turns) {
        uint64_t now = fci_handoff_look(token);
        if (now == value) return 1;
        if (now == FCI_HANDOFF_OVER) return 0;
        if (turns % 4096 == 0 && fci_now_ns() > deadline) return 0;
    }
}

/* Waits until the two words are equal (or are not), for a side that may come late: without
 * burning its core. */
static inline int fci_handoff_await(const uint64_t *a, const uint64_t *b, int equal) {
    int64_t deadline = fci_now_ns() + FCI_HANDOFF_JOIN_NS;
    for (unsigned turns = 1; (fci_handoff_look(a) == fci_handoff_look(b)) != equal; ++turns) {
        if (turns % 64 != 0) continue;
        if (fci_now_ns() > deadline) return 0;
        sched_yield();
    }
    return 1;
}

/* One side calls this, on one core ... Returns t_c in ns: the median of batches, so that a lost
 * time slice does not count. 0: could not be measured. Takes 0.3 to 2 ms. */
static inline double fci_handoff_ping(struct fci_handoff *h) {
    double batch[FCI_HANDOFF_BATCHES];
    int done = 0;

    fci_handoff_put(&h->token, 0);
    fci_handoff_put(&h->asked, h->asked + 1);
    if (!fci_handoff_await(&h->ready, &h->asked, 1)) {
        fci_handoff_put(&h->token, FCI_HANDOFF_OVER);
        return 0;
    }
    int64_t begin = fci_now_ns(), deadline = begin + FCI_HANDOFF_NS;
    for (uint64_t token = 0, more = 1; more && done < FCI_HANDOFF_BATCHES;) {
        for (int i = 0; i < FCI_HANDOFF_TRIPS && more; ++i, token += 2) {
            fci_handoff_put(&h->token, token + 1);
            more = (uint64_t)fci_handoff_catch(&h->token, token + 2, deadline);
        }
        int64_t now = fci_now_ns();
        if (!more) break;
        double one_way = (double)(now - begin) / (2 * FCI_HANDOFF_TRIPS);
        int at = done++; /* kept sorted */
        for (; at > 0 && batch[at - 1] > one_way; --at) batch[at] = batch[at - 1];
        batch[at] = one_way;
        begin = now;
    }
    fci_handoff_put(&h->token, FCI_HANDOFF_OVER);
    return done < 3 ? 0 : batch[done / 2];
}

/* ... and the other side this, on another. */
static inline void fci_handoff_pong(struct fci_handoff *h) {
    if (!fci_handoff_await(&h->asked, &h->ready, 0)) return;
    fci_handoff_put(&h->ready, fci_handoff_look(&h->asked));
    int64_t deadline = fci_now_ns() + 2 * FCI_HANDOFF_NS;
    for (uint64_t token = 1; fci_handoff_catch(&h->token, token, deadline); token += 2)
        fci_handoff_put(&h->token, token + 1);
}

#endif
