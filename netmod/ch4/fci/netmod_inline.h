/* SPDX-License-Identifier: BSD-3-Clause */
/* All functions of the netmod that are compiled into MPI's own. Most collectives, partitioned
 * communication and synchronisation of windows are MPICH's: over our messages, by its fallback. */
#ifndef NETMOD_INLINE_H_INCLUDED
#define NETMOD_INLINE_H_INCLUDED

#ifdef MPIDI_ENABLE_AM_ONLY
#include "netmod_am_fallback.h"
#else
#include "fci_send.h"
#include "fci_send_4.h"
#include "fci_recv.h"
#include "fci_probe.h"
#include "fci_rma.h"
#include "fci_coll.h"
#include "netmod_am_fallback_part.h"
#endif

#include "fci_progress.h"
#include "fci_request.h"
#include "fci_am.h"
#include "fci_proc.h"
#include "fci_proc_4.h"

#include "fci_noinline.h"

#endif
