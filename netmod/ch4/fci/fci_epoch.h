/* SPDX-License-Identifier: BSD-3-Clause */
/* Epochs: what of them is not MPICH's.
 *
 * The start of one between chosen processes (post, start, complete, wait):
 *
 * MPICH counts the posts that arrive, waits until there are exactly as many as it needs, and begins
 * again from none. A quick process may post for its next epoch before this one has begun here, and
 * one turn of progress may bring several: then the count steps over the number waited for. So the
 * waiting is done here, and what came early is put aside and back again. */
#ifndef FCI_EPOCH_H_INCLUDED
#define FCI_EPOCH_H_INCLUDED

#include "fci_impl.h"

#define FCI_POSTS(win) MPIDIG_WIN(win, sync).pw.count

MPL_STATIC_INLINE_PREFIX int MPIDI_NM_mpi_win_start(MPIR_Group * group, int assert, MPIR_Win * win)
{
    int mpi_errno = MPI_SUCCESS;
    const int needed = assert & MPI_MODE_NOCHECK ? 0 : group->size;

    MPIDI_FCI_ENTER();
    MPIDIG_ACCESS_EPOCH_CHECK_NONE(win, mpi_errno, goto fn_fail);
    MPIDIU_PROGRESS_WHILE((int) FCI_POSTS(win) < needed, MPIDI_FCI_VCI);
    const int early = (int) FCI_POSTS(win) - needed;
    FCI_POSTS(win) = needed;
    MPIDI_FCI_EXIT();
    mpi_errno = MPIDIG_mpi_win_start(group, assert, win);
    MPIDI_FCI_ENTER();
    FCI_POSTS(win) += early;

  fn_exit:
    MPIDI_FCI_EXIT();
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

#undef FCI_POSTS

/* MPICH sees whether all have completed and, if not, takes what has come, which counts in the next
 * call only: a caller that tests once, after a barrier behind all completions, would be told that
 * some are missing. */
MPL_STATIC_INLINE_PREFIX int MPIDI_NM_mpi_win_test(MPIR_Win * win, int *flag)
{
    const int mpi_errno = MPIDI_FCI_am_win_test(win, flag);
    return mpi_errno != MPI_SUCCESS || *flag ? mpi_errno : MPIDI_FCI_am_win_test(win, flag);
}

/* While all are locked no access is out of place, and none needs to look. */
MPL_STATIC_INLINE_PREFIX int MPIDI_NM_mpi_win_lock_all(int assert, MPIR_Win * win)
{
    const int mpi_errno = MPIDI_FCI_am_win_lock_all(assert, win);
    if (mpi_errno == MPI_SUCCESS)
        MPIDI_FCI_WIN(win).open = MPIDI_FCI_WIN(win).bases;
    return mpi_errno;
}

MPL_STATIC_INLINE_PREFIX int MPIDI_NM_mpi_win_unlock_all(MPIR_Win * win)
{
    const int mpi_errno = MPIDI_FCI_am_win_unlock_all(win);
    if (mpi_errno == MPI_SUCCESS)
        MPIDI_FCI_WIN(win).open = NULL;
    return mpi_errno;
}

#endif
