/* SPDX-License-Identifier: BSD-3-Clause */
/* Where Open MPI 4.1 and 5.0 differ. */
#ifndef PML_FCI_COMPAT_H_INCLUDED
#define PML_FCI_COMPAT_H_INCLUDED

#include <stdbool.h>

#include <ompi/constants.h>
#include <ompi/mca/coll/coll.h>

#ifdef MCA_COLL_BASE_VERSION_2_4_0
#define COLL_FCI_VERSION MCA_COLL_BASE_VERSION_2_4_0
#else
#define COLL_FCI_VERSION MCA_COLL_BASE_VERSION_2_0_0
#endif

#if OMPI_MAJOR_VERSION >= 5
#include <ompi/mca/bml/base/base.h>
#include <ompi/runtime/params.h>
#include <opal/mca/pmix/pmix-internal.h>
#define PML_FCI_VERSION MCA_PML_BASE_VERSION_2_1_0
#define PML_FCI_CONTEXT_ID(comm) ((comm)->c_index)
#define PML_FCI_PEER_LOST MPI_ERR_PROC_FAILED
#define PML_FCI_GLOBAL PMIX_GLOBAL
#if OPAL_ENABLE_FT_MPI
#define PML_FCI_FAULT_TOLERANT ompi_ftmpi_enabled  /* then it looks into requests of ob1's shape */
#else
#define PML_FCI_FAULT_TOLERANT false
#endif

/* Windows do without messages: they go through Open MPI's modules for the memory of others ("btl").
 * MPI_Init starts those in 4.1; in 5.0 the component that sends the messages must. */
static inline int pml_fci_start_btls(bool progress_threads, bool threads)
{
    return mca_bml_base_init(progress_threads, threads);
}

static inline void pml_fci_stop_btls(void)
{
    if (mca_bml.bml_finalize != NULL)
        (void) mca_bml.bml_finalize();
}
#else
#include <opal/mca/pmix/pmix.h>
#define PML_FCI_VERSION MCA_PML_BASE_VERSION_2_0_0
#define PML_FCI_CONTEXT_ID(comm) ((comm)->c_contextid)
#define PML_FCI_PEER_LOST MPI_ERR_OTHER
#define PML_FCI_GLOBAL OPAL_PMIX_GLOBAL
#define PML_FCI_FAULT_TOLERANT false

static inline int pml_fci_start_btls(bool progress_threads, bool threads)
{
    return OMPI_SUCCESS;
}

static inline void pml_fci_stop_btls(void) { }
#endif

#endif
