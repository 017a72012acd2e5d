#include "mpidimpl.h"
#include "fci_impl.h"

MPIDI_FCI_global_t MPIDI_FCI_global;

/* "rank 3 of MPI_COMM_WORLD: ", where it is one of them. */
static void name_rank(uint32_t peer, char *text, size_t size)
{
    const uint64_t gpid = peer < MPIDI_FCI_global.gpid_count ? MPIDI_FCI_global.gpids[peer]
        : MPIDI_FCI_NO_GPID;
    *text = '\0';
    if (gpid == MPIDI_FCI_NO_GPID)
        return;
    if (MPIDIU_GPID_GET_AVTID(gpid) == 0)
        snprintf(text, size, "rank %d of MPI_COMM_WORLD: ", (int) MPIDIU_GPID_GET_LPID(gpid));
    else
        snprintf(text, size, "rank %d of a job that was spawned or connected: ",
                 (int) MPIDIU_GPID_GET_LPID(gpid));
}

/* MPICH's script that collects error messages wants classes and texts as literals. */
int MPIDI_FCI_error(int code, uint32_t peer)
{
    const bool gone = code == FCI_ICL_EPEER || code == FCI_ICL_EUNREACHABLE;
    const char *reason = NULL;
    char rank[64];
    if (gone || code == FCI_ICL_EMISMATCH)
        reason = fci_icl_peer_reason(MPIDI_FCI_global.context, peer);
    if (reason == NULL || *reason == '\0')
        reason = fci_icl_strerror(code);
    name_rank(peer, rank, sizeof rank);
    if (gone)
        return MPIR_Err_create_code(MPI_SUCCESS, MPIR_ERR_RECOVERABLE, __func__, __LINE__,
                                    MPIX_ERR_PROC_FAILED, "**fci_nm_peer", "**fci_nm_peer %s %s",
                                    rank, reason);
    return MPIR_Err_create_code(MPI_SUCCESS, MPIR_ERR_RECOVERABLE, __func__, __LINE__,
                                MPI_ERR_OTHER, "**fci_nm_failed", "**fci_nm_failed %s", reason);
}

int MPIDI_FCI_set_gpid(uint32_t peer, uint64_t gpid)
{
    if (peer >= MPIDI_FCI_global.gpid_count) {
        const uint32_t count = MPL_MAX(peer + 1, 2 * MPIDI_FCI_global.gpid_count);
        uint64_t *const more =
            MPL_realloc(MPIDI_FCI_global.gpids, count * sizeof(uint64_t), MPL_MEM_ADDRESS);
        if (more == NULL)
            return MPIR_Err_create_code(MPI_SUCCESS, MPIR_ERR_RECOVERABLE, __func__, __LINE__,
                                        MPI_ERR_OTHER, "**nomem", 0);
        for (uint32_t i = MPIDI_FCI_global.gpid_count; i < count; i++)
            more[i] = MPIDI_FCI_NO_GPID;
        MPIDI_FCI_global.gpids = more;
        MPIDI_FCI_global.gpid_count = count;
    }
    MPIDI_FCI_global.gpids[peer] = gpid;
    return MPI_SUCCESS;
}

void MPIDI_FCI_peer_died(void *user, fci_icl_peer peer)
{
    if (!MPIDI_FCI_global.broken)
        MPIDI_FCI_global.dead = peer;
    MPIDI_FCI_global.broken = true;
}
