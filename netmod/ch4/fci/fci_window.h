/* SPDX-License-Identifier: BSD-3-Clause */
/* Windows that are mapped here, and the copies to and from them. */
#ifndef FCI_WINDOW_H_INCLUDED
#define FCI_WINDOW_H_INCLUDED

#include "fci_impl.h"

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

/* Of a builtin datatype. */
MPL_STATIC_INLINE_PREFIX void MPIDI_FCI_copy_range(void *to, const void *from, MPI_Aint count,
                                                   MPI_Datatype datatype)
{
    const size_t bytes = (size_t) count * (uint8_t) MPIR_Datatype_get_basic_size(datatype);
    if (likely(bytes == sizeof(uint64_t)))
        memcpy(to, from, sizeof(uint64_t));
    else
        memcpy(to, from, bytes);
}

#endif
