// SPDX-License-Identifier: BSD-3-Clause
#ifndef FCI_PROGRESS_H_INCLUDED
#define FCI_PROGRESS_H_INCLUDED

#include "fci_impl.h"

MPL_STATIC_INLINE_PREFIX int MPIDI_NM_progress(FCI_PROGRESS_ARGS)
{
    if (vci == MPIDI_FCI_VCI)
        FCI_PROGRESS_TELL(MPIDI_FCI_turn());
    if (MPIDI_FCI_waits_in_vain())
        return MPIDI_FCI_error(FCI_ICL_EPEER, MPIDI_FCI_global.dead);
    return MPI_SUCCESS;
}

#endif
