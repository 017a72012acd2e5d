/* SPDX-License-Identifier: BSD-3-Clause */
/* Flushes. A put or get of mapped memory is done when it returns; a flush waits only for active
 * messages, and MPICH counts those. If it counts none there is nothing to wait for, and a flush is
 * no reason to give the processor away, which a turn of progress may do.
 *
 * A process that does nothing but put and flush must answer others all the same: soon, once any
 * peer has sent an active message to a window here, and else in every 16th flush. */
#ifndef FCI_FLUSH_H_INCLUDED
#define FCI_FLUSH_H_INCLUDED

#include "fci_impl.h"

#define FCI_FLUSHES_BEFORE_TURN 16u     /* a power of two */

/* MPI wants what was put to be there for all, not only in order with what this process does next:
 * two that put, flush and get crosswise must not both miss the other's. */
MPL_STATIC_INLINE_PREFIX void MPIDI_FCI_settle(void)
{
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
}

MPL_STATIC_INLINE_PREFIX int MPIDI_NM_rma_win_cmpl_hook(MPIR_Win * win)
{
    MPIDI_FCI_settle();
    return MPI_SUCCESS;
}

MPL_STATIC_INLINE_PREFIX int MPIDI_NM_rma_target_cmpl_hook(int rank, MPIR_Win * win)
{
    MPIDI_FCI_settle();
    return MPI_SUCCESS;
}

MPL_STATIC_INLINE_PREFIX bool MPIDI_FCI_is_turn_due(void)
{
    return ++MPIDI_FCI_global.flushes % FCI_FLUSHES_BEFORE_TURN == 0 ||
        unlikely(MPL_atomic_relaxed_load_int(&MPIDIG_global.rma_am_flag));
}

/* Whether nothing was sent to any target in this epoch, which locks all. */
MPL_STATIC_INLINE_PREFIX bool MPIDI_FCI_is_win_silent(MPIR_Win * win)
{
    return likely(MPIDIG_WIN(win, sync).access_epoch_type == MPIDIG_EPOTYPE_LOCK_ALL &&
                  MPIDIG_WIN(win, targets) == NULL);
}

/* Whether all that was sent to `rank` has been answered. */
MPL_STATIC_INLINE_PREFIX bool MPIDI_FCI_is_target_silent(int rank, MPIR_Win * win)
{
    const int epoch = MPIDIG_WIN(win, sync).access_epoch_type;
    bool is_silent;

    if (MPIDI_FCI_is_win_silent(win))
        return true;
    if (epoch != MPIDIG_EPOTYPE_LOCK && epoch != MPIDIG_EPOTYPE_LOCK_ALL)
        return false;
    MPIDI_FCI_ENTER();
    const MPIDIG_win_target_t *const target = MPIDIG_win_target_find(win, rank);
    if (target == NULL)
        is_silent = epoch == MPIDIG_EPOTYPE_LOCK_ALL;
    else
        is_silent = (epoch == MPIDIG_EPOTYPE_LOCK_ALL ||
                     target->sync.access_epoch_type == MPIDIG_EPOTYPE_LOCK) &&
            MPIR_cc_get(target->local_cmpl_cnts) == 0 &&
            MPIR_cc_get(target->remote_cmpl_cnts) == 0 &&
            MPIR_cc_get(target->remote_acc_cmpl_cnts) == 0;
    MPIDI_FCI_EXIT();
    return is_silent;
}

/* MPICH's own flushes wait, look out for messages, and report what is no epoch. */
MPL_STATIC_INLINE_PREFIX int MPIDI_NM_mpi_win_flush(int rank, MPIR_Win * win,
                                                    MPIDI_av_entry_t * addr)
{
    if (!MPIDI_FCI_is_target_silent(rank, win) || MPIDI_FCI_is_turn_due())
        return MPIDI_FCI_am_win_flush(rank, win, addr);
    MPIDI_FCI_settle();
    return MPI_SUCCESS;
}

MPL_STATIC_INLINE_PREFIX int MPIDI_NM_mpi_win_flush_all(MPIR_Win * win)
{
    if (!MPIDI_FCI_is_win_silent(win) || MPIDI_FCI_is_turn_due())
        return MPIDI_FCI_am_win_flush_all(win);
    MPIDI_FCI_settle();
    return MPI_SUCCESS;
}

MPL_STATIC_INLINE_PREFIX int MPIDI_NM_mpi_win_flush_local(int rank, MPIR_Win * win,
                                                          MPIDI_av_entry_t * addr)
{
    if (!MPIDI_FCI_is_target_silent(rank, win) || MPIDI_FCI_is_turn_due())
        return MPIDI_FCI_am_win_flush_local(rank, win, addr);
    return MPI_SUCCESS;
}

MPL_STATIC_INLINE_PREFIX int MPIDI_NM_mpi_win_flush_local_all(MPIR_Win * win)
{
    if (!MPIDI_FCI_is_win_silent(win) || MPIDI_FCI_is_turn_due())
        return MPIDI_FCI_am_win_flush_local_all(win);
    return MPI_SUCCESS;
}

#endif
