// SPDX-License-Identifier: BSD-3-Clause
#ifndef FCI_PROBE_H_INCLUDED
#define FCI_PROBE_H_INCLUDED

#include "fci_match.h"

/* fci_icl_probe() in MPI's terms. `claimed`: as there. */
MPL_STATIC_INLINE_PREFIX int MPIDI_FCI_probe(int source, int tag, MPIR_Comm * comm,
                                             int attr, MPIDI_av_entry_t * addr,
                                             MPI_Status * status, fci_icl_message ** claimed)
{
    struct fci_icl_status found;
    const int answer =
        fci_icl_probe(MPIDI_FCI_global.context,
                      source == MPI_ANY_SOURCE ? FCI_ICL_ANY_SOURCE : MPIDI_FCI_AV(addr).peer,
                      MPIDI_FCI_SPACE_TAGGED,
                      MPIDI_FCI_receive_match(comm->recvcontext_id + FCI_CONTEXT_OFFSET(attr),
                                              tag),
                      MPIDI_FCI_ignore(tag), &found, claimed);
    if (answer != FCI_ICL_OK)
        return 0;
    if (status != MPI_STATUS_IGNORE) {
        status->MPI_SOURCE = MPIDI_FCI_rank_of(found.match, found.source,
                                               MPIDI_FCI_ranks_ambiguous(comm) ? comm : NULL);
        status->MPI_TAG = MPIDI_FCI_tag_of(found.match);
        MPIR_STATUS_SET_COUNT(*status, found.length);
    }
    return 1;
}

MPL_STATIC_INLINE_PREFIX int MPIDI_NM_mpi_improbe(int source, int tag, MPIR_Comm * comm,
                                                  int attr, MPIDI_av_entry_t * addr,
                                                  int *flag, MPIR_Request ** message,
                                                  MPI_Status * status)
{
    int mpi_errno = MPI_SUCCESS;
    MPIR_Request *req = NULL;
    fci_icl_message *claimed = NULL;

    MPIDI_FCI_ENTER();
    *flag = MPIDI_FCI_probe(source, tag, comm, attr, addr, status, &claimed);
    if (*flag) {
        req = MPIR_Request_create_from_pool(MPIR_REQUEST_KIND__MPROBE, MPIDI_FCI_VCI, 2);
        MPIR_ERR_CHKANDSTMT(req == NULL, mpi_errno, MPIX_ERR_NOREQ, goto fn_fail, "**nomemreq");
        FCI_REQUEST_SET_COMM(req, comm);
        MPIDI_REQUEST_SET_LOCAL(req, 0, NULL);
        MPIDI_FCI_REQ(req).message = claimed;
        MPIDI_FCI_REQ(req).comm = NULL;
        if (MPIDI_FCI_ranks_ambiguous(comm)) {
            MPIR_Comm_add_ref(comm);
            MPIDI_FCI_REQ(req).comm = comm;
        }
    }
    *message = req;

  fn_exit:
    MPIDI_FCI_EXIT();
    return mpi_errno;
  fn_fail:
    (void) fci_icl_discard_claimed(MPIDI_FCI_global.context, claimed);
    goto fn_exit;
}

MPL_STATIC_INLINE_PREFIX int MPIDI_NM_mpi_iprobe(int source, int tag, MPIR_Comm * comm,
                                                 int attr, MPIDI_av_entry_t * addr,
                                                 int *flag, MPI_Status * status)
{
    MPIDI_FCI_ENTER();
    *flag = MPIDI_FCI_probe(source, tag, comm, attr, addr, status, NULL);
    MPIDI_FCI_EXIT();
    return MPI_SUCCESS;
}

#endif
