/* SPDX-License-Identifier: BSD-3-Clause */
/* Put and get in general: any epoch, any datatype, mapped or by active messages. */
#include "mpidimpl.h"
#include "fci_impl.h"
#include "fci_window.h"

static int copy(const void *from, MPI_Aint from_count, MPI_Datatype from_type, void *to,
                MPI_Aint to_count, MPI_Datatype to_type, int target_rank, MPIR_Win * win)
{
    int mpi_errno = MPI_SUCCESS;
    MPIDIG_RMA_OP_CHECK_SYNC(target_rank, win);
    if (from_type == to_type && from_count == to_count && HANDLE_IS_BUILTIN(from_type))
        MPIDI_FCI_copy_range(to, from, from_count, from_type);
    else
        mpi_errno = MPIR_Localcopy(from, from_count, from_type, to, to_count, to_type);

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

int MPIDI_FCI_put_any(const void *origin_addr, FCI_RMA_COUNT origin_count,
                      MPI_Datatype origin_datatype, int target_rank, MPI_Aint target_disp,
                      FCI_RMA_COUNT target_count, MPI_Datatype target_datatype, MPIR_Win * win)
{
    char *const there = MPIDI_FCI_win_address(win, target_rank, target_disp);
    if (there == NULL)
        return MPIDIG_mpi_put(origin_addr, origin_count, origin_datatype, target_rank, target_disp,
                              target_count, target_datatype, win);
    return copy(origin_addr, origin_count, origin_datatype, there, target_count, target_datatype,
                target_rank, win);
}

int MPIDI_FCI_get_any(void *origin_addr, FCI_RMA_COUNT origin_count, MPI_Datatype origin_datatype,
                      int target_rank, MPI_Aint target_disp, FCI_RMA_COUNT target_count,
                      MPI_Datatype target_datatype, MPIR_Win * win)
{
    char *const there = MPIDI_FCI_win_address(win, target_rank, target_disp);
    if (there == NULL)
        return MPIDIG_mpi_get(origin_addr, origin_count, origin_datatype, target_rank, target_disp,
                              target_count, target_datatype, win);
    return copy(there, target_count, target_datatype, origin_addr, origin_count, origin_datatype,
                target_rank, win);
}
