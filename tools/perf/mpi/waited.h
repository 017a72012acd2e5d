/* SPDX-License-Identifier: BSD-3-Clause */
/* waited.h: for which share of the time that it measured a process waited for a core, which others
 * had (/proc/thread-self/schedstat). Where that is much, figures are those of the scheduler. */
#ifndef FCI_PERF_WAITED_H
#define FCI_PERF_WAITED_H

#include "job.h"

struct waiting {
    double delay, begun; /* s */
};

static double waited_seconds, measured_seconds;

static double delay_now(void) {
    unsigned long long ran, delay = 0;
    char text[128];
    read_word("/proc/thread-self/schedstat", text, sizeof text);
    return sscanf(text, "%llu %llu", &ran, &delay) == 2 ? (double)delay * 1e-9 : 0;
}

static struct waiting begin_waiting(void) {
    const struct waiting now = {delay_now(), MPI_Wtime()};
    return now;
}

static void end_waiting(const struct waiting *since) {
    waited_seconds += delay_now() - since->delay;
    measured_seconds += MPI_Wtime() - since->begun;
}

static double waited_share(void) {
    return measured_seconds > 0 ? waited_seconds / measured_seconds : 0;
}

#endif
