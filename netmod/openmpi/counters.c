/* SPDX-License-Identifier: BSD-3-Clause */
/* FCI's counters as performance variables of MPI_T: pml_fci_sent_inline and so on, one for each
 * line of `fci_info -s`. A tool reads them while the program runs. */
#include "netmod/openmpi/pml_fci.h"

#include <opal/mca/base/mca_base_pvar.h>

/* MPI_T may be used before MPI_Init and after MPI_Finalize. */
static int read_counter(const struct mca_base_pvar_t *variable, void *value, void *object)
{
    unsigned long long *const counter = value;
    *counter = pml_fci.context == NULL ? 0
        : fci_icl_counter(pml_fci.context, (unsigned) (uintptr_t) variable->ctx);
    return OMPI_SUCCESS;
}

void pml_fci_register_counters(const mca_base_component_t *component)
{
    const char *name, *help;
    for (unsigned i = 0; (name = fci_icl_counter_name(i, &help)) != NULL; i++)
        (void) mca_base_component_pvar_register(component, name, help, OPAL_INFO_LVL_4,
                                                MCA_BASE_PVAR_CLASS_COUNTER,
                                                MCA_BASE_VAR_TYPE_UNSIGNED_LONG_LONG, NULL,
                                                MCA_BASE_VAR_BIND_NO_OBJECT,
                                                MCA_BASE_PVAR_FLAG_READONLY |
                                                MCA_BASE_PVAR_FLAG_CONTINUOUS, read_counter, NULL,
                                                NULL, (void *) (uintptr_t) i);
}
