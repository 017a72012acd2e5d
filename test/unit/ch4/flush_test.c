/* SPDX-License-Identifier: BSD-3-Clause */
/* Flushes: nobody is waited for where nothing was sent, and others are answered all the same. */
#include "test/unit/ch4/window.h"

#define WIN (&window.win)

enum way { FLUSH, FLUSH_ALL, FLUSH_LOCAL, FLUSH_LOCAL_ALL, WAYS };

static int flush(enum way way) {
    switch (way) {
        case FLUSH:
            return MPIDI_NM_mpi_win_flush(1, WIN, av(job.world, 1));
        case FLUSH_ALL:
            return MPIDI_NM_mpi_win_flush_all(WIN);
        case FLUSH_LOCAL:
            return MPIDI_NM_mpi_win_flush_local(1, WIN, av(job.world, 1));
        default:
            return MPIDI_NM_mpi_win_flush_local_all(WIN);
    }
}

/* One that ends; it took so many turns. */
static unsigned turns_of(enum way way) {
    MPIDI_FCI_global.flushes = 0;
    (void)tap_count(TAP_PROGRESS);
    EXPECT_EQ(flush(way), MPI_SUCCESS);
    return tap_count(TAP_PROGRESS);
}

TEST(Flush, of_a_window_to_which_nothing_was_sent__turns_every_16th_time) {
    for (int way = 0; way < WAYS; way++) {
        open_window(false, true);
        set_epoch(MPIDIG_EPOTYPE_LOCK_ALL);
        for (int i = 1; i <= 33; i++) {
            EXPECT_EQ(flush(way), MPI_SUCCESS);
            EXPECT_EQ(tap_count(TAP_PROGRESS), i % 16 == 0);
        }
        close_window();
    }
}

TEST(Flush, where_others_have_sent_to_a_window__turns_each_time) {
    for (int way = 0; way < WAYS; way++) {
        open_window(false, true);
        set_epoch(MPIDIG_EPOTYPE_LOCK_ALL);
        MPL_atomic_relaxed_store_int(&MPIDIG_global.rma_am_flag, 1);
        EXPECT_EQ(turns_of(way), 1);
        EXPECT_EQ(turns_of(way), 1);
        close_window();
    }
}

TEST(Flush, outside_of_an_epoch__is_an_error) {
    const int types[] = {MPIDIG_EPOTYPE_NONE, MPIDIG_EPOTYPE_FENCE, MPIDIG_EPOTYPE_START};
    for (int way = 0; way < WAYS; way++) {
        open_window(false, true);
        for (int i = 0; i < 3; i++) {
            set_epoch(types[i]);
            EXPECT_EQ(flush(way), MPI_ERR_RMA_SYNC);
        }
        close_window();
    }
}

/* Of one target, in an epoch of each kind: turns where all that was sent to it was answered. */
TEST(Flush, of_a_target_that_has_answered__takes_no_turn) {
    const enum way ways[] = {FLUSH, FLUSH_LOCAL};
    for (int i = 0; i < 2; i++) {
        open_window(false, true);
        set_epoch(MPIDIG_EPOTYPE_LOCK_ALL);
        (void)set_target(0, MPIDIG_EPOTYPE_NONE);
        EXPECT_EQ(turns_of(ways[i]), 0); /* another one was spoken to */
        (void)set_target(1, MPIDIG_EPOTYPE_NONE);
        EXPECT_EQ(turns_of(ways[i]), 0);
        set_epoch(MPIDIG_EPOTYPE_LOCK);
        (void)set_target(1, MPIDIG_EPOTYPE_LOCK);
        EXPECT_EQ(turns_of(ways[i]), 0);
        close_window();
    }
}

TEST(Flush, of_a_target_that_is_not_locked__is_mpichs) {
    const enum way ways[] = {FLUSH, FLUSH_LOCAL};
    for (int i = 0; i < 2; i++) {
        open_window(false, true);
        set_epoch(MPIDIG_EPOTYPE_LOCK);
        EXPECT_EQ(turns_of(ways[i]), 1);
        (void)set_target(1, MPIDIG_EPOTYPE_NONE);
        MPIDI_FCI_global.flushes = 0;
        EXPECT_EQ(flush(ways[i]), MPI_ERR_RMA_SYNC);
        close_window();
    }
}

static MPIDIG_win_target_t* target;
static int until;
static void answers(void) {
    if (--until > 0) return;
    MPIR_cc_set(&target->local_cmpl_cnts, 0);
    MPIR_cc_set(&target->remote_cmpl_cnts, 0);
    MPIR_cc_set(&target->remote_acc_cmpl_cnts, 0);
}

TEST(Flush, of_a_target_that_has_not_answered__waits) {
    const int epochs[] = {MPIDIG_EPOTYPE_LOCK, MPIDIG_EPOTYPE_LOCK_ALL};
    for (int epoch = 0; epoch < 2; epoch++) {
        for (int way = 0; way < WAYS; way++) {
            for (int which = 0; which < 3; which++) {
                const bool is_local = way == FLUSH_LOCAL || way == FLUSH_LOCAL_ALL;
                open_window(false, true);
                set_epoch(epochs[epoch]);
                target = set_target(1, epochs[epoch] == MPIDIG_EPOTYPE_LOCK ? MPIDIG_EPOTYPE_LOCK
                                                                            : MPIDIG_EPOTYPE_NONE);
                MPIR_cc_set(which == 0   ? &target->local_cmpl_cnts
                            : which == 1 ? &target->remote_cmpl_cnts
                                         : &target->remote_acc_cmpl_cnts,
                            1);
                until = 3;
                tap.between = answers;
                /* MPICH looks out once where it need not wait for this kind of answer. */
                EXPECT_EQ(turns_of(way), is_local == (which == 0) ? 4 : 1);
                close_window();
            }
        }
    }
}

TEST(Flush, of_all__is_mpichs_where_anything_was_sent) {
    const enum way ways[] = {FLUSH_ALL, FLUSH_LOCAL_ALL};
    for (int i = 0; i < 2; i++) {
        open_window(false, true);
        set_epoch(MPIDIG_EPOTYPE_LOCK_ALL);
        (void)set_target(1, MPIDIG_EPOTYPE_NONE);
        EXPECT_EQ(turns_of(ways[i]), 1);
        set_epoch(MPIDIG_EPOTYPE_LOCK);
        EXPECT_EQ(turns_of(ways[i]), 1);
        close_window();
    }
}

TEST(Flush, hooks_of_completion__have_nothing_to_wait_for) {
    open_window(false, true);
    EXPECT_EQ(MPIDI_NM_rma_win_cmpl_hook(WIN), MPI_SUCCESS);
    EXPECT_EQ(MPIDI_NM_rma_target_cmpl_hook(1, WIN), MPI_SUCCESS);
    EXPECT_EQ(tap_count(TAP_PROGRESS), 0);
    close_window();
}
