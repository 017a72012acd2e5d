/* The table of flags of a communicator (icl.h, groups): how its members come by it. */
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

void coll_fci_leave_table(coll_fci_module *module)
{
    if (module->group == NULL || pml_fci.context == NULL)
        return;
    pml_fci_enter();
    fci_icl_group_leave(pml_fci.context, module->group);
    pml_fci_exit();
    module->group = NULL;
}

/* All have it, or none. */
bool coll_fci_find_table(coll_fci_module *module, ompi_communicator_t *comm)
{
    fci_icl_peer members[FCI_ICL_GROUP_MEMBERS];
    int answer;

    module->asked = true;
    if (pml_fci.context == NULL || !find_members(comm, members))
        return false;
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
    if (answer != FCI_ICL_DONE)
        coll_fci_leave_table(module);
    else
        module->longest = fci_icl_group_longest(module->group);
    return answer == FCI_ICL_DONE;
}
