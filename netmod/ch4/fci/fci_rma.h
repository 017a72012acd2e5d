/* One-sided communication: MPICH's, over active messages, for now. */
#ifndef FCI_RMA_H_INCLUDED
#define FCI_RMA_H_INCLUDED

#include "fci_impl.h"
#include "netmod_am_fallback_rma.h"

#endif
