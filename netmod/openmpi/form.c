/* SPDX-License-Identifier: BSD-3-Clause */
/* The groups of a communicator (icl.h): how its members come by them. */
#include "netmod/openmpi/coll_fci.h"

#include <opal/runtime/opal_progress.h>

/* Context ids are shorter. */
#define BEGUN_KEY (UINT64_C(1) << 40)

static bool find_members(ompi_communicator_t *comm, fci_icl_peer *members)
{
    for (int rank = 0; rank < ompi_comm_size(comm); rank++) {
        members[rank] = 0;
        if (rank != ompi_comm_rank(comm) &&
            pml_fci_peer_of(comm, rank, &members[rank]) != OMPI_SUCCESS)
            return false;
    }
    return true;
}

static void leave(coll_fci_group *it)
{
    if (it->group == NULL || pml_fci.context == NULL)
        return;
    pml_fci_enter();
    fci_icl_group_leave(pml_fci.context, it->group);
    pml_fci_exit();
    it->group = NULL;
}

void coll_fci_leave_groups(coll_fci_module *module)
{
    coll_fci_forget(module);
    leave(&module->called);
    leave(&module->begun);
}

/* All have it, or none; and nobody sees it in turns of progress before it is complete. */
static bool form(coll_fci_group *it, ompi_communicator_t *comm, const fci_icl_peer *members,
                 uint64_t key, size_t most)
{
    coll_fci_group made = { NULL };
    int answer;

    pml_fci_begin_turn();
    for (;;) {
        pml_fci_enter();
        pml_fci.in_turn = true;
        answer = fci_icl_group_form(pml_fci.context, members, (uint32_t) ompi_comm_size(comm),
                                    (uint32_t) ompi_comm_rank(comm), key, most, &made.group);
        pml_fci.in_turn = false;
        pml_fci_exit();
        pml_fci_call();
        if (answer != FCI_ICL_OK && answer != FCI_ICL_EAGAIN)
            break;
        if (answer == FCI_ICL_EAGAIN)
            opal_progress();
    }
    if (answer != FCI_ICL_DONE && answer != FCI_ICL_EPEER) {
        leave(&made);
        return false;
    }
    fci_icl_group_limits(made.group, &made.limits);
    *it = made;
    return true;
}

bool coll_fci_form_groups(coll_fci_module *module, ompi_communicator_t *comm)
{
    const uint64_t key = PML_FCI_CONTEXT_ID(comm);
    fci_icl_peer *members;
    bool formed;

    module->asked = true;
    if (pml_fci.context == NULL)
        return false;
    members = calloc((size_t) ompi_comm_size(comm), sizeof *members);
    formed = members != NULL && find_members(comm, members) &&
        form(&module->called, comm, members, key, SIZE_MAX);
    if (formed)
        coll_fci_know(module, comm, key);
    if (formed)
        (void) form(&module->begun, comm, members, BEGUN_KEY | key, COLL_FCI_BEGUN_BYTES);
    free(members);
    return formed;
}
