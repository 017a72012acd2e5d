/* SPDX-License-Identifier: BSD-3-Clause */
/* One-sided communication (the dissertation's direct mode, §2.3.1): a window that MPICH allocated
 * on this host is mapped here, so put and get are copies by this process, and complete when they
 * return. All else is MPICH's, over active messages: it orders accumulates, and waits for a lock
 * before it lets an operation start. */
#ifndef FCI_RMA_H_INCLUDED
#define FCI_RMA_H_INCLUDED

#include "fci_impl.h"
#include "fci_window.h"

/* MPICH's fallback for all of them; those that are renamed do more, here or in the files below. */
#define MPIDI_NM_mpi_put MPIDI_FCI_am_put
#define MPIDI_NM_mpi_get MPIDI_FCI_am_get
#define MPIDI_NM_mpi_rput MPIDI_FCI_am_rput
#define MPIDI_NM_mpi_rget MPIDI_FCI_am_rget
#define MPIDI_NM_mpi_win_start MPIDI_FCI_am_win_start
#define MPIDI_NM_mpi_win_test MPIDI_FCI_am_win_test
#define MPIDI_NM_mpi_win_lock_all MPIDI_FCI_am_win_lock_all
#define MPIDI_NM_mpi_win_unlock_all MPIDI_FCI_am_win_unlock_all
#define MPIDI_NM_mpi_win_flush MPIDI_FCI_am_win_flush
#define MPIDI_NM_mpi_win_flush_all MPIDI_FCI_am_win_flush_all
#define MPIDI_NM_mpi_win_flush_local MPIDI_FCI_am_win_flush_local
#define MPIDI_NM_mpi_win_flush_local_all MPIDI_FCI_am_win_flush_local_all
#define MPIDI_NM_rma_win_cmpl_hook MPIDI_FCI_am_win_cmpl_hook
#define MPIDI_NM_rma_target_cmpl_hook MPIDI_FCI_am_target_cmpl_hook
#include "netmod_am_fallback_rma.h"
#undef MPIDI_NM_mpi_put
#undef MPIDI_NM_mpi_get
#undef MPIDI_NM_mpi_rput
#undef MPIDI_NM_mpi_rget
#undef MPIDI_NM_mpi_win_start
#undef MPIDI_NM_mpi_win_test
#undef MPIDI_NM_mpi_win_lock_all
#undef MPIDI_NM_mpi_win_unlock_all
#undef MPIDI_NM_mpi_win_flush
#undef MPIDI_NM_mpi_win_flush_all
#undef MPIDI_NM_mpi_win_flush_local
#undef MPIDI_NM_mpi_win_flush_local_all
#undef MPIDI_NM_rma_win_cmpl_hook
#undef MPIDI_NM_rma_target_cmpl_hook
#include "fci_epoch.h"
#include "fci_flush.h"

#define FCI_RMA_ARGS FCI_RMA_COUNT origin_count, MPI_Datatype origin_datatype, int target_rank, \
    MPI_Aint target_disp, FCI_RMA_COUNT target_count, MPI_Datatype target_datatype, \
    MPIR_Win * win, MPIDI_av_entry_t * addr, MPIDI_winattr_t winattr
#define FCI_RMA_PASS origin_count, origin_datatype, target_rank, target_disp, target_count, \
    target_datatype, win, addr, winattr

#define FCI_RMA_PASS_ANY origin_count, origin_datatype, target_rank, target_disp, target_count, \
    target_datatype, win

/* The usual case is here: little of it, and no call, since all of MPI_Put is made for it then. */
MPL_STATIC_INLINE_PREFIX int MPIDI_NM_mpi_put(const void *origin_addr, FCI_RMA_ARGS)
{
    if (likely(origin_datatype == target_datatype && HANDLE_IS_BUILTIN(origin_datatype))) {
        char **const bases = MPIDI_FCI_WIN(win).open;
        if (likely(origin_count == target_count && bases != NULL)) {
            char *const there = bases[target_rank] + target_disp * MPIDI_FCI_WIN(win).unit;
            MPIDI_FCI_copy_range(there, origin_addr, origin_count, origin_datatype);
            return MPI_SUCCESS;
        }
    }
    return MPIDI_FCI_put_any(origin_addr, FCI_RMA_PASS_ANY);
}

MPL_STATIC_INLINE_PREFIX int MPIDI_NM_mpi_get(void *origin_addr, FCI_RMA_ARGS)
{
    if (likely(origin_datatype == target_datatype && HANDLE_IS_BUILTIN(origin_datatype))) {
        char **const bases = MPIDI_FCI_WIN(win).open;
        if (likely(origin_count == target_count && bases != NULL)) {
            const char *const there = bases[target_rank] + target_disp * MPIDI_FCI_WIN(win).unit;
            MPIDI_FCI_copy_range(origin_addr, there, origin_count, origin_datatype);
            return MPI_SUCCESS;
        }
    }
    return MPIDI_FCI_get_any(origin_addr, FCI_RMA_PASS_ANY);
}

MPL_STATIC_INLINE_PREFIX int MPIDI_NM_mpi_rput(const void *origin_addr, FCI_RMA_ARGS,
                                               MPIR_Request ** request)
{
    if (MPIDI_FCI_win_address(win, target_rank, target_disp) == NULL)
        return MPIDI_FCI_am_rput(origin_addr, FCI_RMA_PASS, request);
    const int mpi_errno = MPIDI_NM_mpi_put(origin_addr, FCI_RMA_PASS);
    if (mpi_errno == MPI_SUCCESS)
        *request = MPIR_Request_create_complete(MPIR_REQUEST_KIND__RMA);
    return mpi_errno;
}

MPL_STATIC_INLINE_PREFIX int MPIDI_NM_mpi_rget(void *origin_addr, FCI_RMA_ARGS,
                                               MPIR_Request ** request)
{
    if (MPIDI_FCI_win_address(win, target_rank, target_disp) == NULL)
        return MPIDI_FCI_am_rget(origin_addr, FCI_RMA_PASS, request);
    const int mpi_errno = MPIDI_NM_mpi_get(origin_addr, FCI_RMA_PASS);
    if (mpi_errno == MPI_SUCCESS)
        *request = MPIR_Request_create_complete(MPIR_REQUEST_KIND__RMA);
    return mpi_errno;
}

#undef FCI_RMA_ARGS
#undef FCI_RMA_PASS
#undef FCI_RMA_PASS_ANY

#endif
