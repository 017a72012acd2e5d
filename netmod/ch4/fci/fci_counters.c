/* SPDX-License-Identifier: BSD-3-Clause */
/* FCI's counters as performance variables of MPI_T: fci_sent_inline and so on, one for each line of
 * `fci_info -s`. A tool reads them while the program runs. */
#include "mpidimpl.h"
#include "fci_impl.h"

#define COUNTERS_MOST 64

/* MPI_T may be used before MPI_Init and after MPI_Finalize. */
static void read_counter(void *number, void *object, int count, void *value)
{
    unsigned long long *const counter = value;
    *counter = MPIDI_FCI_global.context == NULL ? 0
        : fci_icl_counter(MPIDI_FCI_global.context, (unsigned) (uintptr_t) number - 1);
}

void MPIDI_FCI_register_counters(void)
{
    static char names[COUNTERS_MOST][48];       /* MPICH keeps pointers to them for ever */
    const char *name, *help;

    if (names[0][0] != '\0')
        return;
    for (unsigned i = 0; i < COUNTERS_MOST; i++) {
        name = fci_icl_counter_name(i, &help);
        if (name == NULL)
            break;
        snprintf(names[i], sizeof names[i], "fci_%s", name);
        MPIR_T_PVAR_REGISTER_impl(MPI_T_PVAR_CLASS_COUNTER, MPI_UNSIGNED_LONG_LONG, names[i],
                                  (void *) (uintptr_t) (i + 1), 1, MPI_T_ENUM_NULL,
                                  MPI_T_VERBOSITY_USER_DETAIL, MPI_T_BIND_NO_OBJECT,
                                  MPIR_T_PVAR_FLAG_READONLY | MPIR_T_PVAR_FLAG_CONTINUOUS,
                                  read_counter, NULL, "CH4_FCI", help);
    }
}
