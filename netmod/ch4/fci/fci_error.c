/* SPDX-License-Identifier: BSD-3-Clause */
#include "mpidimpl.h"
#include "fci_impl.h"
#include <unistd.h>

MPIDI_FCI_global_t MPIDI_FCI_global;

/* "rank 3 of MPI_COMM_WORLD: ", where it is one of them. */
static void name_rank(uint32_t peer, char *text, size_t size)
{
    int rank = 0;
    while (rank < MPIR_Process.size && MPIDI_FCI_AV(FCI_WORLD_AV(rank)).peer != peer)
        rank++;
    *text = '\0';
    if (rank < MPIR_Process.size)
        snprintf(text, size, "rank %d of MPI_COMM_WORLD: ", rank);
}

/* Hydra ends at the first abort, and drops what it has not read by then. */
#define LAUNCHER_READS_US 50000

/* Most programs end of it, and then the launcher drops the sentences of MPICH's abort now and then;
 * of a collective the reason may drown in what MPICH makes of the requests that are left. So it is
 * said here, once. */
static void say_lost(const char *what, const char *rank, const char *reason)
{
    static bool is_said;
    if (!is_said) {
        fprintf(stderr, "fci: %s %s%s\n", what, rank, reason);
        usleep(LAUNCHER_READS_US);
    }
    is_said = true;
}

/* MPICH's script that collects error messages wants classes and texts as literals. */
int MPIDI_FCI_error(int code, uint32_t peer)
{
    const bool gone =
        code == FCI_ICL_EPEER || code == FCI_ICL_EUNREACHABLE || code == FCI_ICL_EMISMATCH;
    const char *reason = NULL;
    char rank[64];
    if (gone)
        reason = fci_icl_peer_reason(MPIDI_FCI_global.context, peer);
    if (reason == NULL || *reason == '\0')
        reason = fci_icl_strerror(code);
    name_rank(peer, rank, sizeof rank);
    if (gone)
        say_lost(code == FCI_ICL_EPEER ? "lost" : "cannot speak to", rank, reason);
    /* Processes of a world that have two versions of FCI never get on with each other. */
    if (code == FCI_ICL_EMISMATCH && *rank != '\0')
        MPID_Abort(MPIR_Process.comm_world, MPI_SUCCESS, 1,
                   "fci: ranks of one job cannot speak to each other");
    if (gone)
        return MPIR_Err_create_code(MPI_SUCCESS, MPIR_ERR_RECOVERABLE, __func__, __LINE__,
                                    MPIX_ERR_PROC_FAILED, "**fci_nm_peer", "**fci_nm_peer %s %s",
                                    rank, reason);
    return MPIR_Err_create_code(MPI_SUCCESS, MPIR_ERR_RECOVERABLE, __func__, __LINE__,
                                MPI_ERR_OTHER, "**fci_nm_failed", "**fci_nm_failed %s", reason);
}

void MPIDI_FCI_peer_died(void *user, fci_icl_peer peer)
{
    if (MPIDI_FCI_global.broken)
        return;
    MPIDI_FCI_global.broken = true;
    MPIDI_FCI_global.dead = peer;
    MPL_wtime(&MPIDI_FCI_global.death);
}

bool MPIDI_FCI_is_grace_over(void)
{
    MPL_time_t now;
    double seconds;
    MPL_wtime(&now);
    MPL_wtime_diff(&MPIDI_FCI_global.death, &now, &seconds);
    return seconds > 0.1;
}
