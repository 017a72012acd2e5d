/* One-sided communication (the dissertation's direct mode, §2.3.1): a window that MPICH allocated
 * on this host is mapped here, so put and get are copies by this process, and complete when they
 * return. All else is MPICH's, over active messages: it orders accumulates, and waits for a lock
 * before it lets an operation start. */
#ifndef FCI_RMA_H_INCLUDED
#define FCI_RMA_H_INCLUDED

#include "fci_impl.h"

/* MPICH's fallback for all of them; those that are renamed do more, here or in fci_epoch.h. */
#define MPIDI_NM_mpi_put MPIDI_FCI_am_put
#define MPIDI_NM_mpi_get MPIDI_FCI_am_get
#define MPIDI_NM_mpi_rput MPIDI_FCI_am_rput
#define MPIDI_NM_mpi_rget MPIDI_FCI_am_rget
#define MPIDI_NM_mpi_win_start MPIDI_FCI_am_win_start
#include "netmod_am_fallback_rma.h"
#undef MPIDI_NM_mpi_put
#undef MPIDI_NM_mpi_get
#undef MPIDI_NM_mpi_rput
#undef MPIDI_NM_mpi_rget
#undef MPIDI_NM_mpi_win_start
#include "fci_epoch.h"

/* Where `disp` of `rank` is mapped in this process; NULL: nowhere. */
MPL_STATIC_INLINE_PREFIX char *MPIDI_FCI_win_address(MPIR_Win * win, int rank, MPI_Aint disp)
{
    const MPIDIG_win_shared_info_t *const table = MPIDIG_WIN(win, shared_table);
    if (table == NULL)
        return NULL;
    const int rank_on_host = FCI_RANK_ON_HOST(win->comm_ptr, rank);
    if (rank_on_host < 0)
        return NULL;
    const MPIDIG_win_shared_info_t *const target = &table[rank_on_host];
    if (target->shm_base_addr == NULL)
        return NULL;
    return (char *) target->shm_base_addr + disp * target->disp_unit;
}

MPL_STATIC_INLINE_PREFIX int MPIDI_FCI_copy(const void *from, MPI_Aint from_count,
                                            MPI_Datatype from_type, void *to, MPI_Aint to_count,
                                            MPI_Datatype to_type, int target_rank, MPIR_Win * win)
{
    int mpi_errno = MPI_SUCCESS;
    MPIDIG_RMA_OP_CHECK_SYNC(target_rank, win);
    mpi_errno = MPIR_Localcopy(from, from_count, from_type, to, to_count, to_type);

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

#define FCI_RMA_ARGS FCI_RMA_COUNT origin_count, MPI_Datatype origin_datatype, int target_rank, \
    MPI_Aint target_disp, FCI_RMA_COUNT target_count, MPI_Datatype target_datatype, \
    MPIR_Win * win, MPIDI_av_entry_t * addr, MPIDI_winattr_t winattr
#define FCI_RMA_PASS origin_count, origin_datatype, target_rank, target_disp, target_count, \
    target_datatype, win, addr, winattr

MPL_STATIC_INLINE_PREFIX int MPIDI_NM_mpi_put(const void *origin_addr, FCI_RMA_ARGS)
{
    char *const there = MPIDI_FCI_win_address(win, target_rank, target_disp);
    if (there == NULL)
        return MPIDI_FCI_am_put(origin_addr, FCI_RMA_PASS);
    return MPIDI_FCI_copy(origin_addr, origin_count, origin_datatype, there, target_count,
                          target_datatype, target_rank, win);
}

MPL_STATIC_INLINE_PREFIX int MPIDI_NM_mpi_get(void *origin_addr, FCI_RMA_ARGS)
{
    char *const there = MPIDI_FCI_win_address(win, target_rank, target_disp);
    if (there == NULL)
        return MPIDI_FCI_am_get(origin_addr, FCI_RMA_PASS);
    return MPIDI_FCI_copy(there, target_count, target_datatype, origin_addr, origin_count,
                          origin_datatype, target_rank, win);
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

#endif
