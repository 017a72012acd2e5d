/* SPDX-License-Identifier: BSD-3-Clause */
/* Windows are MPICH's; if it maps them into all processes of a host, fci_rma.h uses that. They are
 * counted, since a process that has one waits for others in ways that only active messages end. */
#include "mpidimpl.h"
#include "fci_impl.h"

int MPIDI_FCI_mpi_win_set_info(MPIR_Win * win, MPIR_Info * info)
{
    return MPIDIG_mpi_win_set_info(win, info);
}

int MPIDI_FCI_mpi_win_get_info(MPIR_Win * win, MPIR_Info ** info)
{
    return MPIDIG_mpi_win_get_info(win, info);
}

int MPIDI_FCI_mpi_win_free(MPIR_Win ** win)
{
    return MPIDIG_mpi_win_free(win);
}

int MPIDI_FCI_mpi_win_create(void *base, MPI_Aint length, int disp_unit, MPIR_Info * info,
                             MPIR_Comm * comm, MPIR_Win ** win)
{
    return MPIDIG_mpi_win_create(base, length, disp_unit, info, comm, win);
}

int MPIDI_FCI_mpi_win_attach(MPIR_Win * win, void *base, MPI_Aint size)
{
    return MPIDIG_mpi_win_attach(win, base, size);
}

int MPIDI_FCI_mpi_win_detach(MPIR_Win * win, const void *base)
{
    return MPIDIG_mpi_win_detach(win, base);
}

int MPIDI_FCI_mpi_win_allocate_shared(MPI_Aint size, int disp_unit, MPIR_Info * info,
                                      MPIR_Comm * comm, void **base, MPIR_Win ** win)
{
    return MPIDIG_mpi_win_allocate_shared(size, disp_unit, info, comm, base, win);
}

int MPIDI_FCI_mpi_win_allocate(MPI_Aint size, int disp_unit, MPIR_Info * info, MPIR_Comm * comm,
                               void *base, MPIR_Win ** win)
{
    return MPIDIG_mpi_win_allocate(size, disp_unit, info, comm, base, win);
}

int MPIDI_FCI_mpi_win_create_dynamic(MPIR_Info * info, MPIR_Comm * comm, MPIR_Win ** win)
{
    return MPIDIG_mpi_win_create_dynamic(info, comm, win);
}

/* The bases that MPICH finds through two tables, one of them the communicator's, are here in one
 * table, as short as it can be, if the window allows that. */
static char **new_bases(MPIR_Win * win)
{
    const MPIDIG_win_shared_info_t *const table = MPIDIG_WIN(win, shared_table);
    const int ranks = win->comm_ptr->local_size;
    char **const bases = table == NULL ? NULL : MPL_malloc(ranks * sizeof *bases, MPL_MEM_RMA);

    for (int rank = 0; bases != NULL && rank < ranks; rank++) {
        const int rank_on_host = FCI_RANK_ON_HOST(win->comm_ptr, rank);
        if (rank_on_host < 0 || table[rank_on_host].disp_unit != table[0].disp_unit) {
            MPL_free(bases);
            return NULL;
        }
        bases[rank] = table[rank_on_host].shm_base_addr;
    }
    return bases;
}

static void new_window(MPIR_Win * win)
{
    MPIDI_FCI_WIN(win).bases = new_bases(win);
    MPIDI_FCI_WIN(win).open = NULL;
    if (MPIDI_FCI_WIN(win).bases != NULL)
        MPIDI_FCI_WIN(win).unit = MPIDIG_WIN(win, shared_table)[0].disp_unit;
    MPIDI_FCI_global.windows++;
}

int MPIDI_FCI_mpi_win_create_hook(MPIR_Win * win)
{
    new_window(win);
    return MPI_SUCCESS;
}

int MPIDI_FCI_mpi_win_allocate_hook(MPIR_Win * win)
{
    new_window(win);
    return MPI_SUCCESS;
}

int MPIDI_FCI_mpi_win_allocate_shared_hook(MPIR_Win * win)
{
    new_window(win);
    return MPI_SUCCESS;
}

int MPIDI_FCI_mpi_win_create_dynamic_hook(MPIR_Win * win)
{
    new_window(win);
    return MPI_SUCCESS;
}

int MPIDI_FCI_mpi_win_attach_hook(MPIR_Win * win, void *base, MPI_Aint size)
{
    return MPI_SUCCESS;
}

int MPIDI_FCI_mpi_win_detach_hook(MPIR_Win * win, const void *base)
{
    return MPI_SUCCESS;
}

int MPIDI_FCI_mpi_win_free_hook(MPIR_Win * win)
{
    MPL_free(MPIDI_FCI_WIN(win).bases);
    MPIDI_FCI_global.windows--;
    return MPI_SUCCESS;
}
