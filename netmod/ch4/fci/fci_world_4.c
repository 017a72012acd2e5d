/* SPDX-License-Identifier: BSD-3-Clause */
/* How the processes of a job get acquainted in MPICH 4: all at once, when MPI is initialized. */
#include "mpidimpl.h"
#include "fci_impl.h"

#if !FCI_MPICH(5, 0)

#include "mpidu_bc.h"

static int add_rank(int rank, const void *card)
{
    int mpi_errno = MPI_SUCCESS;
    uint32_t *const peer = &MPIDI_FCI_AV(&MPIDIU_get_av(0, rank)).peer;
    const int answer = fci_icl_add_peer(MPIDI_FCI_global.context, card, peer);

    if (answer < 0)
        mpi_errno = MPIDI_FCI_error(answer, 0);
    else
        mpi_errno = MPIDI_FCI_set_gpid(*peer, MPIDIU_GPID_CREATE(0, rank));
    return mpi_errno;
}

static int exchange_cards(void)
{
    int mpi_errno = MPI_SUCCESS;
    unsigned char own[FCI_ICL_CARD_BYTES];
    void *table = NULL;
    int length = sizeof own;    /* all have one length, so MPICH leaves it alone */
    const int size = MPIR_Process.size;
    MPIR_Comm *init_comm = NULL;

    fci_icl_card(MPIDI_FCI_global.context, own);
    mpi_errno = MPIDU_bc_table_create(MPIR_Process.rank, size, MPIR_Process.node_map, own,
                                      sizeof own, TRUE, MPIR_CVAR_CH4_ROOTS_ONLY_PMI, &table,
                                      &length);
    MPIR_ERR_CHECK(mpi_errno);
    if (MPIR_CVAR_CH4_ROOTS_ONLY_PMI) {
        int *rank_map;
        for (int i = 0; i < MPIR_Process.num_nodes; i++) {
            mpi_errno = add_rank(MPIR_Process.node_root_map[i],
                                 (char *) table + (size_t) i * length);
            MPIR_ERR_CHECK(mpi_errno);
        }
        /* The roots can talk now, and pass on the cards of their nodes. */
        mpi_errno = MPIDI_create_init_comm(&init_comm);
        MPIR_ERR_CHECK(mpi_errno);
        mpi_errno = MPIDU_bc_allgather(init_comm, own, sizeof own, TRUE, &table, &rank_map,
                                       &length);
        MPIR_ERR_CHECK(mpi_errno);
        for (int i = 0; i < size; i++) {
            if (rank_map[i] < 0)
                continue;
            mpi_errno = add_rank(i, (char *) table + (size_t) rank_map[i] * length);
            MPIR_ERR_CHECK(mpi_errno);
        }
    } else {
        for (int i = 0; i < size; i++) {
            mpi_errno = add_rank(i, (char *) table + (size_t) i * length);
            MPIR_ERR_CHECK(mpi_errno);
        }
    }

  fn_exit:
    if (table != NULL)
        MPIDU_bc_table_destroy();
    if (init_comm != NULL)
        MPIDI_destroy_init_comm(&init_comm);
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

int MPIDI_FCI_init_world(void)
{
    return exchange_cards();
}

int MPIDI_FCI_post_init(void)
{
    return MPI_SUCCESS;
}

#if FCI_MPICH(4, 2)
int MPIDI_FCI_init_vcis(int num_vcis, int *num_vcis_actual)
{
    *num_vcis_actual = 1;
    return MPI_SUCCESS;
}
#endif

int MPIDI_FCI_mpi_comm_commit_pre_hook(MPIR_Comm * comm)
{
    MPIDI_FCI_set_ignored();
    return MPI_SUCCESS;
}

#endif
