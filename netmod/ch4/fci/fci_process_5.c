/* SPDX-License-Identifier: BSD-3-Clause */
/* Processes that join, in MPICH 5: MPICH gives them their place, and asks only for their cards. */
#include "mpidimpl.h"
#include "fci_impl.h"

#if FCI_MPICH(5, 0)

int MPIDI_FCI_insert_upid(MPIR_Lpid lpid, const char *upid, int upid_len)
{
    if (upid_len != FCI_ICL_CARD_BYTES)
        return MPIR_Err_create_code(MPI_SUCCESS, MPIR_ERR_RECOVERABLE, __func__, __LINE__,
                                    MPI_ERR_OTHER, "**fci_nm_failed", "**fci_nm_failed %s",
                                    "the other side does not use FCI");
    const int answer =
        fci_icl_add_peer(MPIDI_FCI_global.context, (const unsigned char *) upid,
                         &MPIDI_FCI_AV(FCI_PROCESS_AV(lpid)).peer);
    return answer < 0 ? MPIDI_FCI_error(answer, 0) : MPI_SUCCESS;
}

int MPIDI_FCI_turn_and_yield(void)
{
    (void) MPIDI_FCI_turn();
    MPID_THREAD_CS_YIELD(GLOBAL, MPIR_THREAD_GLOBAL_ALLFUNC_MUTEX);
    MPID_THREAD_CS_YIELD(VCI, FCI_VCI_LOCK(MPIDI_FCI_VCI));
    return MPI_SUCCESS;
}

#endif
