/* SPDX-License-Identifier: BSD-3-Clause */
/* together.h: all members at once: each sends to the one half around, and a barrier. Figures that
 * one pair alone cannot show: a switch with too little inside, cores that are short. */
#ifndef FCI_PERF_TOGETHER_H
#define FCI_PERF_TOGETHER_H

#include "crowd.h"
#include "pair.h"

static const double kTogetherBudget = 0.3, kBarrierBudget = 0.1;

/* Rank 0 writes all that was received and was wrong, and returns how many messages that were. */
static long gather_wrong(MPI_Comm comm, int count) {
    struct wrong *found = memory((rank == 0 ? (size_t)count : 1) * sizeof *found);
    long bad = 0;
    MPI_Gather(&wrong, sizeof wrong, MPI_BYTE, found, sizeof wrong, MPI_BYTE, 0, comm);
    for (int i = 0; rank == 0 && i < count; ++i) {
        write_wrong(&found[i]);
        bad += found[i].count;
    }
    free(found);
    return bad;
}

/* Messages with wrong bytes, at rank 0. */
static long run_together(void) {
    if (self < 0 || member_count < 2) return 0;
    memset(&wrong, 0, sizeof wrong);
    struct crowd halves = make_crowd(among_members, 4 * PIECE, round_of_halves);
    struct crowd barrier = make_crowd(among_members, 0, round_of_barrier);
    const int step = (member_count + 1) / 2;
    verify_crowd("together", &halves, step, 0);
    const struct samples exchanged = crowd_samples(&halves, kTogetherBudget);
    verify_crowd("together", &halves, step, 1);
    const struct samples passed = crowd_samples(&barrier, kBarrierBudget);
    if (rank == 0) {
        const struct figure rate = rate_of((double)member_count * 4 * PIECE, figure_of(&exchanged));
        const struct figure time = figure_of(&passed);
        write_line("together", ", \"rate\": [%.6g, %.6g, %.6g]", rate.median, rate.low,
                   rate.high);
        write_line("barrier", ", \"seconds\": [%.6g, %.6g, %.6g]", time.median, time.low,
                   time.high);
    }
    free_crowd(&halves);
    free_crowd(&barrier);
    return gather_wrong(among_members, member_count);
}

#endif
