/* The group of a communicator (icl.h): how its members come by it. */
#include "netmod/openmpi/coll_fci.h"

#include <opal/runtime/opal_progress.h>

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

void coll_fci_leave_group(coll_fci_module *module)
{
    if (module->group == NULL || pml_fci.context == NULL)
        return;
    pml_fci_enter();
    fci_icl_group_leave(pml_fci.context, module->group);
    pml_fci_exit();
    module->group = NULL;
}

/* All have it, or none. */
static bool form(coll_fci_module *module, ompi_communicator_t *comm, const fci_icl_peer *members)
{
    int answer;

    pml_fci_begin_turn();
    for (;;) {
        pml_fci_enter();
        pml_fci.in_turn = true;
        answer = fci_icl_group_form(pml_fci.context, members, (uint32_t) ompi_comm_size(comm),
                                    (uint32_t) ompi_comm_rank(comm), PML_FCI_CONTEXT_ID(comm),
                                    &module->group);
        pml_fci.in_turn = false;
        pml_fci_exit();
        pml_fci_call();
        if (answer != FCI_ICL_OK && answer != FCI_ICL_EAGAIN)
            break;
        if (answer == FCI_ICL_EAGAIN)
            opal_progress();
    }
    if (answer != FCI_ICL_DONE && answer != FCI_ICL_EPEER) {
        coll_fci_leave_group(module);
        return false;
    }
    fci_icl_group_limits(module->group, &module->limits);
    return true;
}

bool coll_fci_form_group(coll_fci_module *module, ompi_communicator_t *comm)
{
    fci_icl_peer *members;
    bool formed;

    module->asked = true;
    if (pml_fci.context == NULL)
        return false;
    members = calloc((size_t) ompi_comm_size(comm), sizeof *members);
    formed = members != NULL && find_members(comm, members) && form(module, comm, members);
    free(members);
    return formed;
}
