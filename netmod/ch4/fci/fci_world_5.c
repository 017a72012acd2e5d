/* SPDX-License-Identifier: BSD-3-Clause */
/* How the processes of a job get acquainted in MPICH 5: with each communicator that was not made
 * from another one. That is MPI_COMM_WORLD, or what a session made from a group; a process may be
 * in several. */
#include "mpidimpl.h"
#include "fci_impl.h"

#if FCI_MPICH(5, 0)

/* MPICH's own way is the launcher for one process of each host, and a shmmod for the others. There
 * is no shmmod: within a host messages are ours, too, and need the cards first. */
static int gather_cards(MPIR_Comm * comm, const unsigned char *card, unsigned char *cards)
{
    int mpi_errno = MPI_SUCCESS;
    int *ranks = NULL;

    /* Launchers know barriers of all more often than barriers of some. */
    if (comm->stringtag == NULL && comm->local_size == MPIR_Process.size)
        return MPIR_pmi_allgather(card, FCI_ICL_CARD_BYTES, cards, FCI_ICL_CARD_BYTES,
                                  MPIR_PMI_DOMAIN_ALL);

    ranks = MPL_malloc(comm->local_size * sizeof(int), MPL_MEM_ADDRESS);
    MPIR_ERR_CHKANDJUMP(ranks == NULL, mpi_errno, MPI_ERR_OTHER, "**nomem");
    for (int i = 0; i < comm->local_size; i++)
        ranks[i] = MPIDIU_get_grank(i, comm);
    mpi_errno = MPIR_pmi_allgather_group("FCI", card, FCI_ICL_CARD_BYTES, cards,
                                         FCI_ICL_CARD_BYTES, ranks, comm->local_size,
                                         comm->stringtag);
    MPIR_ERR_CHECK(mpi_errno);

  fn_exit:
    MPL_free(ranks);
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

static int get_acquainted(MPIR_Comm * comm)
{
    int mpi_errno = MPI_SUCCESS;
    const int size = comm->local_size;
    unsigned char card[FCI_ICL_CARD_BYTES];
    unsigned char *cards = NULL;

    if (size == 1)              /* peer 0 is the process itself, and MPICH's tables begin with 0 */
        return MPI_SUCCESS;
    cards = MPL_malloc((size_t) size * FCI_ICL_CARD_BYTES, MPL_MEM_ADDRESS);
    MPIR_ERR_CHKANDJUMP(cards == NULL, mpi_errno, MPI_ERR_OTHER, "**nomem");
    fci_icl_card(MPIDI_FCI_global.context, card);
    mpi_errno = gather_cards(comm, card, cards);
    MPIR_ERR_CHECK(mpi_errno);

    MPIDI_FCI_ENTER();
    for (int i = 0; i < size && mpi_errno == MPI_SUCCESS; i++) {
        const int answer =
            fci_icl_add_peer(MPIDI_FCI_global.context, cards + (size_t) i * FCI_ICL_CARD_BYTES,
                             &MPIDI_FCI_COMM_TO_PEER(comm, i));
        if (answer < 0)
            mpi_errno = MPIDI_FCI_error(answer, 0);
    }
    MPIDI_FCI_EXIT();
    MPIR_ERR_CHECK(mpi_errno);

  fn_exit:
    MPL_free(cards);
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

int MPIDI_FCI_mpi_comm_commit_pre_hook(MPIR_Comm * comm)
{
    MPIDI_FCI_set_ignored();
    return comm->attr & MPIR_COMM_ATTR__BOOTSTRAP ? get_acquainted(comm) : MPI_SUCCESS;
}

/* Every process has one (fci_init.c), and knows so of the others without asking. */
int MPIDI_FCI_comm_set_vcis(MPIR_Comm * comm, int num_implicit, int num_reserved,
                            MPIDI_num_vci_t * all_num_vcis)
{
    for (int i = 0; i < comm->local_size; i++) {
        all_num_vcis[i].n_vcis = 1;
        all_num_vcis[i].n_total_vcis = 1;
    }
    return MPI_SUCCESS;
}

#endif
