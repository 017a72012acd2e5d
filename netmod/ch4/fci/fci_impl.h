/* SPDX-License-Identifier: BSD-3-Clause */
/* The FCI netmod: what its files share. All communication is behind icl.h, the C face of libfci.
 *
 * Locks: one context, used under the lock of VCI 0. Entry points of point-to-point and RMA take
 * it; progress, active messages and all callbacks run with it held. */
#ifndef FCI_IMPL_H_INCLUDED
#define FCI_IMPL_H_INCLUDED

#include <mpidimpl.h>
#include "mpidch4r.h"
#include "ch4_impl.h"

#include <fci/icl.h>

#include "fci_compat.h"

#define MPIDI_FCI_VCI 0

/* Matching spaces of icl.h. */
#define MPIDI_FCI_SPACE_TAGGED 0u  /* as fci_icl_send_short() and fci_icl_post() have it */
#define MPIDI_FCI_SPACE_DYNAMIC 1u      /* connect and accept, before there is a communicator */

typedef struct {
    fci_icl_context *context;
    uint64_t *gpids;            /* MPICH 4: of each peer, by its number, or MPIDI_FCI_NO_GPID */
    uint32_t gpid_count;
    int windows;                /* open now */
    bool in_turn;               /* of progress, where a communicator may come to its end, too */
    bool partitioned;           /* partitioned communication was used */
    bool broken;                /* a process that was spoken to died: */
    uint32_t dead;              /* this one was the first, */
    MPL_time_t death;           /* then */
    uint64_t ignored[2];        /* bits that receives do not compare; [1]: with MPI_ANY_TAG */
    size_t inject_bytes;        /* sends up to this length need no request */
    size_t am_eager_bytes;
    unsigned flushes;           /* that waited for nobody (fci_flush.h) */
} MPIDI_FCI_global_t;

#define MPIDI_FCI_NO_GPID (~UINT64_C(0))

/* The library shows nothing but MPI's own names. The compiler is told so for definitions only, and
 * reaches what it sees declared by one more instruction: too many in calls that have a hundred. */
#ifdef MPL_HAVE_GCC_ATTRIBUTE
#define FCI_HIDDEN __attribute__((visibility("hidden")))
#define FCI_APART __attribute__((noinline)) /* of a fast path */
#else
#define FCI_HIDDEN
#define FCI_APART
#endif
extern FCI_HIDDEN MPIR_Process_t MPIR_Process;
extern FCI_HIDDEN MPIR_Thread_info_t MPIR_ThreadInfo;
extern FCI_HIDDEN MPIDI_CH4_Global_t MPIDI_global;

extern FCI_HIDDEN MPIDI_FCI_global_t MPIDI_FCI_global;

#define MPIDI_FCI_AV(av) ((av)->netmod.fci)
#define MPIDI_FCI_REQ(req) ((req)->dev.ch4.netmod.fci)
#define MPIDI_FCI_COMM(comm) ((comm)->dev.ch4.netmod.fci)
#define MPIDI_FCI_WIN(win) ((win)->dev.netmod.fci)
#define MPIDI_FCI_AMREQ(req) ((req)->dev.ch4.am.netmod_am.fci)
#define MPIDI_FCI_COMM_TO_PEER(comm, rank) \
    MPIDI_FCI_AV(MPIDIU_comm_rank_to_av(comm, rank)).peer

#define MPIDI_FCI_ENTER() MPID_THREAD_CS_ENTER(VCI, FCI_VCI_LOCK(MPIDI_FCI_VCI))
#define MPIDI_FCI_EXIT() MPID_THREAD_CS_EXIT(VCI, FCI_VCI_LOCK(MPIDI_FCI_VCI))

/* An MPI error for what icl.h answered; names the peer where there is one. */
int MPIDI_FCI_error(int code, uint32_t peer);

void MPIDI_FCI_peer_died(void *user, fci_icl_peer peer);

/* Windows and partitioned communication wait for active messages: an acknowledgement, a lock. No
 * request stands for these, so none can fail when their sender dies: every wait does, a little
 * later. (Requests that fail come first: MPICH takes an error of progress for a fatal one.) */
bool MPIDI_FCI_is_grace_over(void);

MPL_STATIC_INLINE_PREFIX bool MPIDI_FCI_waits_in_vain(void)
{
    return unlikely(MPIDI_FCI_global.broken) &&
        (MPIDI_FCI_global.windows > 0 || MPIDI_FCI_global.partitioned) &&
        MPIDI_FCI_is_grace_over();
}

/* MPICH 4: remembers which process `peer` is, to know it again when it comes by another way. */
int MPIDI_FCI_set_gpid(uint32_t peer, uint64_t gpid);

MPL_STATIC_INLINE_PREFIX int MPIDI_FCI_turn(void)
{
    MPIDI_FCI_global.in_turn = true;
    const int work = fci_icl_progress(MPIDI_FCI_global.context);
    MPIDI_FCI_global.in_turn = false;
    return work;
}

/* MPICH 5: one turn of progress with the lock held, and a chance for others to have it. */
int MPIDI_FCI_turn_and_yield(void);

/* Functions that the headers for MPI's own functions call. These headers define the names by which
 * MPICH calls the netmod, so without inlining only func_table.c may include them.
 *
 * Everything but the plain short send. */
int MPIDI_FCI_send_any(const void *buf, MPI_Aint count, MPI_Datatype datatype, uint32_t peer,
                       uint64_t match, uint32_t flags, MPIR_Request ** request);
/* Before the first receive, once MPICH has said how many bits its tags have. */
void MPIDI_FCI_set_ignored(void);
int MPIDI_FCI_receive(void *buf, MPI_Aint count, MPI_Datatype datatype, uint32_t source,
                      uint64_t match, uint64_t ignore, MPIR_Request * request);
void MPIDI_FCI_received(void *request, void *packed, const struct fci_icl_status *status);
int MPIDI_FCI_receive_claimed(void *buf, MPI_Aint count, MPI_Datatype datatype,
                              MPIR_Request * request);
int MPIDI_FCI_am_send(uint32_t peer, int handler_id, const void *am_hdr, MPI_Aint am_hdr_sz,
                      const void *data, MPI_Aint count, MPI_Datatype datatype,
                      MPIR_Request * sreq);
int MPIDI_FCI_put_any(const void *origin_addr, FCI_RMA_COUNT origin_count,
                      MPI_Datatype origin_datatype, int target_rank, MPI_Aint target_disp,
                      FCI_RMA_COUNT target_count, MPI_Datatype target_datatype, MPIR_Win * win);
int MPIDI_FCI_get_any(void *origin_addr, FCI_RMA_COUNT origin_count, MPI_Datatype origin_datatype,
                      int target_rank, MPI_Aint target_disp, FCI_RMA_COUNT target_count,
                      MPI_Datatype target_datatype, MPIR_Win * win);

/* Collectives by the communicator's group (fci_coll.h), which the first one forms. */
#define MPIDI_FCI_ALL FCI_ICL_GROUP_ALL
bool MPIDI_FCI_form_group(MPIR_Comm * comm);
void MPIDI_FCI_leave_group(MPIR_Comm * comm);
int MPIDI_FCI_barrier(MPIR_Comm * comm);
#define MPIDI_FCI_PASSES (-1)   /* no error of MPI */
int MPIDI_FCI_bcast(void *buffer, MPI_Aint count, MPI_Datatype datatype, size_t bytes, int root,
                    MPIR_Comm * comm);
int MPIDI_FCI_reduce(const void *from, void *to, MPI_Aint count, MPI_Datatype datatype, MPI_Op op,
                     uint32_t root, MPIR_Comm * comm);
int MPIDI_FCI_gather(const void *from, MPI_Aint from_count, MPI_Datatype from_type, void *to,
                     MPI_Aint to_count, MPI_Datatype to_type, uint32_t root, MPIR_Comm * comm);

MPL_STATIC_INLINE_PREFIX size_t MPIDI_FCI_bytes_of(MPI_Aint count, MPI_Datatype datatype)
{
    MPI_Aint bytes;
    MPIR_Datatype_get_size_macro(datatype, bytes);
    return (size_t) (bytes * count);
}

void MPIDI_FCI_am_register(void);
void MPIDI_FCI_register_counters(void);

#endif
