/* SPDX-License-Identifier: BSD-3-Clause */
/* Processes that join, in MPICH 4: a process that gets another one's card gives it a place in
 * MPICH's tables. A process that is known already keeps the place that it has. */
#include "mpidimpl.h"
#include "fci_impl.h"

#if !FCI_MPICH(5, 0)

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

/* MPICH frees a table of processes with the last communicator that needs it, and uses its number
 * again: what was noted for a peer holds only where the table still says the same. */
static bool has_gpid(uint32_t peer)
{
    if (peer >= MPIDI_FCI_global.gpid_count ||
        MPIDI_FCI_global.gpids[peer] == MPIDI_FCI_NO_GPID)
        return false;
    const int avtid = MPIDIU_GPID_GET_AVTID(MPIDI_FCI_global.gpids[peer]);
    const int lpid = MPIDIU_GPID_GET_LPID(MPIDI_FCI_global.gpids[peer]);
    return avtid < MPIDIU_get_n_avts() && MPIDIU_get_av_table(avtid) != NULL &&
        lpid < MPIDIU_get_av_table(avtid)->size &&
        MPIDI_FCI_AV(&MPIDIU_get_av(avtid, lpid)).peer == peer;
}

int MPIDI_FCI_upids_to_gpids(int size, int *remote_upid_size, char *remote_upids,
                             uint64_t * remote_gpids)
{
    int mpi_errno = MPI_SUCCESS;
    int fresh = 0, avtid = 0;
    uint32_t *const peers = MPL_malloc(size * sizeof(uint32_t), MPL_MEM_ADDRESS);

    MPIDI_FCI_ENTER();
    MPIR_ERR_CHKANDJUMP(peers == NULL, mpi_errno, MPI_ERR_OTHER, "**nomem");
    for (int i = 0; i < size; i++) {
        MPIR_ERR_CHKANDJUMP1(remote_upid_size[i] != FCI_ICL_CARD_BYTES, mpi_errno, MPI_ERR_OTHER,
                             "**fci_nm_failed", "**fci_nm_failed %s",
                             "the other side does not use FCI");
        const int answer =
            fci_icl_add_peer(MPIDI_FCI_global.context, (unsigned char *) remote_upids, &peers[i]);
        if (answer < 0) {
            mpi_errno = MPIDI_FCI_error(answer, 0);
            goto fn_fail;
        }
        remote_upids += FCI_ICL_CARD_BYTES;
        if (!has_gpid(peers[i])) {
            mpi_errno = MPIDI_FCI_set_gpid(peers[i], MPIDI_FCI_NO_GPID);
            MPIR_ERR_CHECK(mpi_errno);
            fresh++;
        }
    }
    if (fresh > 0) {
        mpi_errno = MPIDIU_new_avt(fresh, &avtid);
        MPIR_ERR_CHECK(mpi_errno);
    }
    for (int i = 0, next = 0; i < size; i++) {
        uint64_t *const gpid = &MPIDI_FCI_global.gpids[peers[i]];
        if (*gpid == MPIDI_FCI_NO_GPID) {
            MPIDI_FCI_AV(&MPIDIU_get_av(avtid, next)).peer = peers[i];
            *gpid = MPIDIU_GPID_CREATE(avtid, next);
            next++;
        }
        remote_gpids[i] = *gpid;
    }

  fn_exit:
    MPIDI_FCI_EXIT();
    MPL_free(peers);
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

#endif
