/* SPDX-License-Identifier: BSD-3-Clause */
/* Probes: what has come and was not received. */
#include "netmod/openmpi/pml_fci.h"

#include <ompi/message/message.h>
#include <opal/runtime/opal_progress.h>

/* One look, and a turn where there was nothing. `claimed`: as in fci_icl_probe(). */
static int look(int rank, int tag, ompi_communicator_t *comm, bool *found,
                fci_icl_message **claimed, ompi_status_public_t *status)
{
    struct fci_icl_status message;
    uint32_t source;
    const int error = pml_fci_source_of(comm, rank, &source);
    *found = false;
    for (int turn = 0; turn < 2 && error == OMPI_SUCCESS && !*found; turn++) {
        if (turn > 0)
            opal_progress();
        pml_fci_enter();
        const int answer = fci_icl_probe(pml_fci.context, source, 0,
                                         pml_fci_receive_match(pml_fci_comm_of(comm), tag),
                                         pml_fci_ignore(tag), &message, claimed);
        if (answer != FCI_ICL_OK && answer != FCI_ICL_ENOMSG) {
            const int failed = pml_fci_error(answer, source);
            pml_fci_exit();
            return failed;
        }
        pml_fci_exit();
        *found = answer == FCI_ICL_OK;
    }
    if (*found && status != MPI_STATUS_IGNORE)
        pml_fci_set_status(status, comm, rank, &message);
    return error;
}

/* A rank that waits for one that it never met would not hear of its loss. The next look tells. */
static void meet(int rank, ompi_communicator_t *comm)
{
    uint32_t source;
    if (pml_fci_source_of(comm, rank, &source) != OMPI_SUCCESS || source == FCI_ICL_ANY_SOURCE)
        return;
    pml_fci_enter();
    (void) fci_icl_meet(pml_fci.context, source);
    pml_fci_exit();
}

int pml_fci_iprobe(int rank, int tag, ompi_communicator_t *comm, int *found,
                   ompi_status_public_t *status)
{
    bool there;
    const int error = look(rank, tag, comm, &there, NULL, status);
    *found = there;
    return error;
}

int pml_fci_probe(int rank, int tag, ompi_communicator_t *comm, ompi_status_public_t *status)
{
    bool found;
    int error = look(rank, tag, comm, &found, NULL, status);
    if (error == OMPI_SUCCESS && !found)
        meet(rank, comm);
    while (error == OMPI_SUCCESS && !found)
        error = look(rank, tag, comm, &found, NULL, status);
    return error;
}

int pml_fci_improbe(int rank, int tag, ompi_communicator_t *comm, int *found,
                    struct ompi_message_t **message, ompi_status_public_t *status)
{
    ompi_status_public_t own;
    fci_icl_message *claimed = NULL;
    bool there;
    const int error = look(rank, tag, comm, &there, &claimed, &own);
    *found = there;
    *message = MPI_MESSAGE_NULL;
    if (error != OMPI_SUCCESS || !there)
        return error;
    ompi_message_t *const handle = ompi_message_alloc();
    if (handle == NULL) {
        pml_fci_enter();
        (void) fci_icl_discard_claimed(pml_fci.context, claimed);
        pml_fci_exit();
        return OMPI_ERR_OUT_OF_RESOURCE;
    }
    handle->comm = comm;
    handle->req_ptr = claimed;
    handle->peer = own.MPI_SOURCE;
    handle->count = own._ucount;
    *message = handle;
    if (status != MPI_STATUS_IGNORE)
        OMPI_COPY_STATUS(status, own, false);
    return OMPI_SUCCESS;
}

int pml_fci_mprobe(int rank, int tag, ompi_communicator_t *comm, struct ompi_message_t **message,
                   ompi_status_public_t *status)
{
    int found;
    int error = pml_fci_improbe(rank, tag, comm, &found, message, status);
    if (error == OMPI_SUCCESS && !found)
        meet(rank, comm);
    while (error == OMPI_SUCCESS && !found)
        error = pml_fci_improbe(rank, tag, comm, &found, message, status);
    return error;
}
