// SPDX-License-Identifier: BSD-3-Clause
#ifndef FCI_PROC_H_INCLUDED
#define FCI_PROC_H_INCLUDED

#include "fci_impl.h"

MPL_STATIC_INLINE_PREFIX int MPIDI_NM_rank_is_local(int rank, MPIR_Comm * comm)
{
    return FCI_RANK_IS_LOCAL(rank, comm);
}

#endif
