/* SPDX-License-Identifier: BSD-3-Clause */
/* still.h: how long a process stood still at most, as a stopped virtual machine, a swapping host or
 * one that has far too much to do does. A thread of its own wakes every 10 ms and looks how late it
 * is: those that wait for the host see a pause, too, but not whose it was. */
#ifndef FCI_PERF_STILL_H
#define FCI_PERF_STILL_H

#include <pthread.h>

#include "job.h"

static pthread_t still_thread;
static volatile int still_ends;
static volatile double stood_still; /* s, the longest */

static double now_seconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static void *watch_clock(void *unused) {
    const struct timespec tick = {0, 10000000};
    double last = now_seconds();
    (void)unused;
    while (!still_ends) {
        nanosleep(&tick, NULL);
        const double now = now_seconds();
        if (now - last - 0.010 > stood_still) stood_still = now - last - 0.010;
        last = now;
    }
    return NULL;
}

static void begin_watch(void) {
    if (pthread_create(&still_thread, NULL, watch_clock, NULL) != 0) still_ends = 1;
}

static double end_watch(void) {
    if (!still_ends) {
        still_ends = 1;
        pthread_join(still_thread, NULL);
    }
    return stood_still;
}

#endif
