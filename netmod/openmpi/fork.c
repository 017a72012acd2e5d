/* SPDX-License-Identifier: BSD-3-Clause */
/* Children of fork(), which have nothing of FCI's shared memory: a child that calls MPI is told so
 * and ended, before it waits for ever. An error would not end it: when Open MPI reports one, it
 * waits for a thread of its own, which is the parent's. */
#include "netmod/openmpi/pml_fci.h"

#include <unistd.h>

int pml_fci_end_child(void)
{
    opal_output(0, "fci: process %d came from fork() and uses MPI of its parent, whose shared "
                "memory it does not have: it can neither send nor receive. Let it call exec() or "
                "_exit(), "
                "or fork before MPI_Init.", (int) getpid());
    _exit(1);
}

/* Open MPI calls through this table; each of its calls answers an int. */
void pml_fci_become_child(void *unused)
{
    void *const calls[] = {
        &mca_pml.pml_isend, &mca_pml.pml_send, &mca_pml.pml_irecv, &mca_pml.pml_recv,
        &mca_pml.pml_isend_init, &mca_pml.pml_irecv_init, &mca_pml.pml_start, &mca_pml.pml_iprobe,
        &mca_pml.pml_probe, &mca_pml.pml_improbe, &mca_pml.pml_mprobe, &mca_pml.pml_imrecv,
        &mca_pml.pml_mrecv, &mca_pml.pml_add_comm, &mca_pml.pml_add_procs
    };
    (void) unused;
    if (pml_fci.context == NULL)
        return;
    pml_fci.context = NULL;  /* no turns either */
    for (size_t i = 0; i < sizeof calls / sizeof calls[0]; i++)
        *(int (**)(void)) calls[i] = pml_fci_end_child;
}
