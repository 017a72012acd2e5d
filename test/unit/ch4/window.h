/* SPDX-License-Identifier: BSD-3-Clause */
/* A window that two ranks of one host have in common, as MPICH makes it. */
#ifndef FCI_TEST_CH4_WINDOW_H
#define FCI_TEST_CH4_WINDOW_H

#include "test/unit/ch4/job.h"

enum { kWindowBytes = 64 };

struct window {
    MPIR_Win win;
    MPIDIG_win_shared_info_t table[RANKS_MOST];
    char memory[RANKS_MOST][kWindowBytes]; /* by rank on this host */
};
extern struct window window;

/* For ranks 0 and 1 of three, which are 1 and 0 on their host; rank 2 is elsewhere where
 * `is_spread`. Units are 4 and, unless all have one, 2 bytes. */
void open_window(bool is_spread, bool has_one_unit);
void close_window(void);
/* An access epoch of this type, and that of one target. */
void set_epoch(int type);
MPIDIG_win_target_t* set_target(int rank, int type);

#endif
