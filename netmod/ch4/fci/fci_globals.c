#include "mpidimpl.h"
#include "fci_impl.h"

MPIDI_FCI_global_t MPIDI_FCI_global;

/* MPICH's script that collects error messages wants classes and texts as literals. */
int MPIDI_FCI_error(int code, uint32_t peer)
{
    const bool gone = code == FCI_ICL_EPEER || code == FCI_ICL_EUNREACHABLE;
    const char *reason = NULL;
    if (gone || code == FCI_ICL_EMISMATCH)
        reason = fci_icl_peer_reason(MPIDI_FCI_global.context, peer);
    if (reason == NULL || *reason == '\0')
        reason = fci_icl_strerror(code);
    if (gone)
        return MPIR_Err_create_code(MPI_SUCCESS, MPIR_ERR_RECOVERABLE, __func__, __LINE__,
                                    MPIX_ERR_PROC_FAILED, "**fci_nm_peer", "**fci_nm_peer %s",
                                    reason);
    return MPIR_Err_create_code(MPI_SUCCESS, MPIR_ERR_RECOVERABLE, __func__, __LINE__,
                                MPI_ERR_OTHER, "**fci_nm_failed", "**fci_nm_failed %s", reason);
}
