/* SPDX-License-Identifier: BSD-3-Clause */
/* sample.h: how often something is measured, and which figure stands for it. A sample lasts at
 * least 1000 ticks of MPI_Wtime and 1 ms (PARKBENCH's TICK1); it is repeated until the three
 * shortest lie within 5 % of the shortest (thesis, section on its benchmarks), or the time or the
 * number is used up. The median is published, with the shortest and the longest. */
#ifndef FCI_PERF_SAMPLE_H
#define FCI_PERF_SAMPLE_H

#include "job.h"

enum { SAMPLES_LEAST = 3, SAMPLES_MOST = 10, SAMPLES_ROOM = 40 };

struct samples {
    double sorted[SAMPLES_ROOM];
    int count;
    double sum;
};

struct figure {
    double median, low, high;
};

static double shortest_sample(void) {
    const double ticks = 1000 * MPI_Wtick();
    return ticks > 1e-3 ? ticks : 1e-3;
}

static void add_sample(struct samples *all, double seconds) {
    int at = all->count++;
    for (; at > 0 && all->sorted[at - 1] > seconds; --at) all->sorted[at] = all->sorted[at - 1];
    all->sorted[at] = seconds;
    all->sum += seconds;
}

/* `most`: at most SAMPLES_ROOM. */
static int is_enough(const struct samples *all, double budget, int most) {
    if (all->count < SAMPLES_LEAST) return 0;
    return all->count == most || all->sum >= budget ||
           all->sorted[SAMPLES_LEAST - 1] - all->sorted[0] < 0.05 * all->sorted[0];
}

static struct figure figure_of(const struct samples *all) {
    const int half = all->count / 2;
    struct figure found = {all->sorted[half], all->sorted[0], all->sorted[all->count - 1]};
    if (all->count % 2 == 0) found.median = (all->sorted[half - 1] + all->sorted[half]) / 2;
    return found;
}

static struct figure scaled(struct figure one, double by) {
    const struct figure found = {one.median * by, one.low * by, one.high * by};
    return found;
}

/* Of bytes that took these times. */
static struct figure rate_of(double bytes, struct figure seconds) {
    const struct figure found = {bytes / seconds.median, bytes / seconds.high,
                                 bytes / seconds.low};
    return found;
}

/* Rounds that last `target`, after `rounds` took `seconds`. */
static long rounds_for(double target, long rounds, double seconds, long most) {
    const double wanted = seconds > 0 ? target / seconds * (double)rounds : (double)most;
    return wanted >= (double)most ? most : wanted < 1 ? 1 : (long)wanted;
}

#endif
