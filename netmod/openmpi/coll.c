/* SPDX-License-Identifier: BSD-3-Clause */
/* The component that Open MPI loads for collectives, and a module for each communicator. */
#include "netmod/openmpi/coll_fci.h"

#include <ompi/version.h>

static int priority;

static int register_parameters(void);
static int init_query(bool progress_threads, bool threads);
static mca_coll_base_module_t *comm_query(ompi_communicator_t *comm, int *its_priority);

__attribute__((visibility("default"))) const mca_coll_base_component_t mca_coll_fci_component = {
    .collm_version = {
        COLL_FCI_VERSION,
        .mca_component_name = "fci",
        MCA_BASE_MAKE_VERSION(component, FCI_MAJOR, FCI_MINOR, FCI_RELEASE),
        .mca_register_component_params = register_parameters
    },
    .collm_data = { MCA_BASE_METADATA_PARAM_NONE },
    .collm_init_query = init_query,
    .collm_comm_query = comm_query
};

static int register_parameters(void)
{
    priority = 60;
    (void) mca_base_component_var_register(&mca_coll_fci_component.collm_version, "priority",
                                           "Priority of FCI among the ways of collectives; 0: it "
                                           "does none",
                                           MCA_BASE_VAR_TYPE_INT, NULL, 0, 0, OPAL_INFO_LVL_3,
                                           MCA_BASE_VAR_SCOPE_READONLY, &priority);
    return OMPI_SUCCESS;
}

static int init_query(bool progress_threads, bool threads)
{
    return OMPI_SUCCESS;
}

/* --- the module --- */

static void construct(coll_fci_module *module)
{
    memset((char *) module + sizeof module->super, 0, sizeof *module - sizeof module->super);
}

#define RELEASE(collective) \
    do { \
        if (module->below.collective##_module != NULL) \
            OBJ_RELEASE(module->below.collective##_module); \
    } while (0)

static void destruct(coll_fci_module *module)
{
    coll_fci_leave_groups(module);
    RELEASE(allgather);
    RELEASE(allreduce);
    RELEASE(barrier);
    RELEASE(bcast);
    RELEASE(gather);
    RELEASE(iallreduce);
    RELEASE(ibarrier);
    RELEASE(ibcast);
    RELEASE(ireduce);
    RELEASE(reduce);
}

OBJ_CLASS_INSTANCE(coll_fci_module, mca_coll_base_module_t, construct, destruct);

static bool retain(mca_coll_base_module_t *module)
{
    OBJ_RETAIN(module);
    return true;
}

/* False: there is nobody below. */
#define KEEP(collective) \
    ((own->below.collective = comm->c_coll->coll_##collective) != NULL && \
     (own->below.collective##_module = comm->c_coll->coll_##collective##_module) != NULL && \
     retain(own->below.collective##_module))

static int enable(mca_coll_base_module_t *module, ompi_communicator_t *comm)
{
    coll_fci_module *const own = (coll_fci_module *) module;
    return KEEP(allgather) && KEEP(allreduce) && KEEP(barrier) && KEEP(bcast) && KEEP(gather) &&
        KEEP(iallreduce) && KEEP(ibarrier) && KEEP(ibcast) && KEEP(ireduce) &&
        KEEP(reduce) ? OMPI_SUCCESS : OMPI_ERROR;
}

static bool is_for_group(ompi_communicator_t *comm)
{
    return pml_fci.context != NULL && pml_fci_is_chosen() && !OMPI_COMM_IS_INTER(comm) &&
        ompi_comm_size(comm) > 1;
}

static mca_coll_base_module_t *comm_query(ompi_communicator_t *comm, int *its_priority)
{
    if (priority <= 0 || !is_for_group(comm))
        return NULL;
    coll_fci_module *const module = OBJ_NEW(coll_fci_module);
    if (module == NULL)
        return NULL;
    *its_priority = priority;
    module->super.coll_module_enable = enable;
    module->super.coll_allgather = coll_fci_allgather;
    module->super.coll_allreduce = coll_fci_allreduce;
    module->super.coll_barrier = coll_fci_barrier;
    module->super.coll_bcast = coll_fci_bcast;
    module->super.coll_gather = coll_fci_gather;
    module->super.coll_iallreduce = coll_fci_iallreduce;
    module->super.coll_ibarrier = coll_fci_ibarrier;
    module->super.coll_ibcast = coll_fci_ibcast;
    module->super.coll_ireduce = coll_fci_ireduce;
    module->super.coll_reduce = coll_fci_reduce;
    return &module->super;
}
