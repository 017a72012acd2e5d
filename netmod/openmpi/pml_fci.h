/* SPDX-License-Identifier: BSD-3-Clause */
/* The Open MPI component: what its files share. Open MPI asks it for every message between
 * processes (its "pml"); all communication is behind icl.h, the C face of libfci.
 *
 * Locks: one context under one lock, which is taken only where the program asked for several
 * threads (pml_fci_enter). It is recursive, because what a completion calls may send. Completions
 * that call somebody run without it (request.c). */
#ifndef PML_FCI_H_INCLUDED
#define PML_FCI_H_INCLUDED

#if defined(__x86_64__)
#pragma GCC target("cx16")  /* as Open MPI itself is compiled: its lists are swapped whole */
#endif

#include <ompi_config.h>

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include <ompi/communicator/communicator.h>
#include <ompi/constants.h>
#include <ompi/datatype/ompi_datatype.h>
#include <ompi/mca/pml/base/base.h>
#include <ompi/mca/pml/base/pml_base_request.h>
#include <ompi/mca/pml/pml.h>
#include <ompi/request/request.h>
#include <ompi/win/win.h>
#include <opal/util/output.h>

#include "fci_core/api/icl.h"

#include "netmod/openmpi/compat.h"

#define PML_FCI_APART __attribute__((noinline)) /* of a fast path */

/* Nothing of this leaves the component, and the compiler is told so before it is used. */
#pragma GCC visibility push(hidden)

/* --- state --- */

typedef struct {
    fci_icl_context *context;       /* NULL before init, after finalize, and in a child of fork() */
    size_t inject_below;            /* fci_icl_send_short() takes less; 0: nothing */
    size_t take_bytes;              /* of the messages that fci_icl_take() takes, at most */
    pthread_mutex_t lock;
    opal_free_list_t requests;
    struct pml_fci_request *called; /* complete, with a callback that is due; the oldest first */
    struct pml_fci_request **called_end;
    ompi_request_t sent;            /* the request of every send that was complete at once */
    bool in_turn;                   /* of progress, in which a communicator may come to its end */
    bool has_windows;               /* whose traffic comes by other ways than FCI, waking nobody */
    int windows_free;               /* places in Open MPI's table, when they were counted */
    uint64_t ended;                 /* requests, so far */
    bool looks;                     /* now, in MPI_Test or the like (looks.c) */
    bool computes;                  /* between its looks */
    /* parameters of MCA */
    int priority;
    unsigned copies_mib;            /* of short messages that their receivers do not take yet */
    char *driver, *protocol, *open_mpi;
} pml_fci_state;

extern pml_fci_state pml_fci;
extern mca_pml_base_module_t pml_fci_module;

/* Open MPI has taken this component for its messages. */
bool pml_fci_is_chosen(void);

static inline void pml_fci_enter(void)
{
    if (OPAL_UNLIKELY(opal_using_threads()))
        pthread_mutex_lock(&pml_fci.lock);
}

static inline void pml_fci_exit(void)
{
    if (OPAL_UNLIKELY(opal_using_threads()))
        pthread_mutex_unlock(&pml_fci.lock);
}

/* --- communicators and processes (world.c) --- */

/* The match word.
 *
 *   63              52 51          32 31           0
 *   | rank mod 2^12   | context id   | tag          |
 *
 * The sender of a message is its peer number, which icl.h matches as a field of its own; the rank
 * is in the word only to find the source for a wildcard receive, and never compared. Tags below 0
 * are Open MPI's own, and MPI_ANY_TAG leaves them alone: the sign is always compared. */
#define PML_FCI_CONTEXT_SHIFT 32
#define PML_FCI_CONTEXT_BITS 20
#define PML_FCI_RANK_SHIFT 52
#define PML_FCI_RANKS_TOLD 4096
/* In larger jobs FCI does not meet all ranks by itself. */
#define PML_FCI_RANKS_MET 128
#define PML_FCI_RANK_MASK (~UINT64_C(0) << PML_FCI_RANK_SHIFT)
#define PML_FCI_ANY_TAG_MASK UINT64_C(0x7fffffff)

#define PML_FCI_UNKNOWN FCI_ICL_ANY_SOURCE  /* of a rank that was not spoken to yet */

/* The state of a communicator. */
typedef struct {
    uint64_t sends;                 /* the match word of its sends, without the tag */
    uint64_t receives;              /* the match word of its receives, without tag and rank */
    int size;                       /* of the remote group where there is one */
    uint32_t peers[];               /* of each of its ranks */
} pml_fci_comm;

static inline pml_fci_comm *pml_fci_comm_of(const ompi_communicator_t *comm)
{
    return (pml_fci_comm *) comm->c_pml_comm;
}

static inline uint64_t pml_fci_receive_match(const pml_fci_comm *comm, int tag)
{
    return comm->receives | (tag == MPI_ANY_TAG ? 0 : (uint32_t) tag);
}

static inline uint64_t pml_fci_ignore(int tag)
{
    return PML_FCI_RANK_MASK | (tag == MPI_ANY_TAG ? PML_FCI_ANY_TAG_MASK : 0);
}

int pml_fci_add_procs(struct ompi_proc_t **procs, size_t count);
int pml_fci_del_procs(struct ompi_proc_t **procs, size_t count);
int pml_fci_add_comm(ompi_communicator_t *comm);
int pml_fci_del_comm(ompi_communicator_t *comm);
int pml_fci_publish_card(void);

/* Finds out whether there are windows: they go by Open MPI's own ways through shared memory. With
 * the lock held. */
void pml_fci_count_windows(void);

static inline void pml_fci_look_for_windows(void)
{
    if (OPAL_UNLIKELY(ompi_mpi_windows.number_free != pml_fci.windows_free))
        pml_fci_count_windows();
}

/* One turn, with the lock held. */
static inline int pml_fci_turn(void)
{
    pml_fci.in_turn = true;
    const int events = fci_icl_progress(pml_fci.context);
    pml_fci.in_turn = false;
    return events;
}

/* Sets *peer to the peer with this rank. An error of Open MPI's if its card is not to be had. */
int pml_fci_find_peer(ompi_communicator_t *comm, int rank, uint32_t *peer);

static inline int pml_fci_peer_of(ompi_communicator_t *comm, int rank, uint32_t *peer)
{
    *peer = pml_fci_comm_of(comm)->peers[rank];
    return OPAL_LIKELY(*peer != PML_FCI_UNKNOWN) ? OMPI_SUCCESS
        : pml_fci_find_peer(comm, rank, peer);
}

/* The source of a receive; for MPI_ANY_SOURCE everybody. */
static inline int pml_fci_source_of(ompi_communicator_t *comm, int rank, uint32_t *source)
{
    if (rank != MPI_ANY_SOURCE)
        return pml_fci_peer_of(comm, rank, source);
    *source = FCI_ICL_ANY_SOURCE;
    return OMPI_SUCCESS;
}

/* The rank in `comm` of the sender of the message of `status`. */
int pml_fci_rank_of(const ompi_communicator_t *comm, const struct fci_icl_status *status);

/* MPI's code for one of icl.h; says once for each process that was lost which rank it had. */
int pml_fci_error(int code, fci_icl_peer peer);

/* --- data (data.c) --- */

#define PML_FCI_RANGES 16           /* data in more pieces than this is packed */

/* Bytes on their way from or to a datatype that is packed. */
typedef struct {
    ompi_datatype_t *datatype;      /* where to unpack to, or NULL */
    void *buffer;
    size_t count;
    char data[];
} pml_fci_packed;

/* Where the bytes of a message are or go to. */
typedef struct {
    struct iovec ranges[PML_FCI_RANGES];
    size_t count;
    pml_fci_packed *packed;         /* or NULL; then ranges has its data */
} pml_fci_data;

/* Whether `count` items lie in one piece, which then is *where. */
static inline bool pml_fci_is_contiguous(const void *buffer, size_t count,
                                         const ompi_datatype_t *datatype, struct iovec *where)
{
    const unsigned one = OPAL_DATATYPE_FLAG_CONTIGUOUS, many = one | OPAL_DATATYPE_FLAG_NO_GAPS;
    const unsigned flags = datatype->super.flags & many;
    where->iov_base = (char *) buffer + datatype->super.true_lb;
    where->iov_len = count * datatype->super.size;
    return OPAL_LIKELY(flags == many) || (flags == one && count == 1) || where->iov_len == 0;
}

int pml_fci_data_to_send(const void *buffer, size_t count, ompi_datatype_t *datatype,
                         pml_fci_data *data);
int pml_fci_data_to_receive(void *buffer, size_t count, ompi_datatype_t *datatype,
                            pml_fci_data *data);
/* Into `where`, which has room for all of it. */
int pml_fci_pack(const void *buffer, size_t count, ompi_datatype_t *datatype, void *where,
                 size_t bytes);
int pml_fci_unpack_from(const void *where, size_t bytes, void *buffer, size_t count,
                        ompi_datatype_t *datatype);
void pml_fci_unpack(pml_fci_packed *packed, size_t bytes);
void pml_fci_free_packed(pml_fci_packed *packed);

/* --- looks (looks.c) --- */

void pml_fci_watch_looks(void);
void pml_fci_unwatch_looks(void);
/* Whether the program computes between its looks: then a turn of theirs does not sleep. */
void pml_fci_set_computes(bool computes);

/* Called before turns. A caller that does more than look waits. */
static inline void pml_fci_begin_turn(void)
{
    if (OPAL_UNLIKELY(pml_fci.computes && !pml_fci.looks))
        pml_fci_set_computes(false);
    pml_fci_look_for_windows();
}

/* --- requests (request.c) --- */

typedef struct pml_fci_request {
    ompi_request_t ompi;            /* req_mpi_object.comm is held while the request is in use */
    fci_icl_order order;            /* for fci_icl_cancel(); 0: none */
    bool is_send;
    bool active;                    /* between start and completion */
    bool freed;                     /* by the user while it was active */
    bool held;                      /* a short send that its receiver holds back (send.c), */
    double held_since;              /* from then on */
    uint64_t ended;                 /* the how-manieth it was to end */
    struct pml_fci_request *next;   /* to be called */
    /* The arguments of a start: kept in a persistent request, and rank and tag in every one. */
    void *buffer;
    size_t count;
    ompi_datatype_t *datatype;
    int rank, tag;
    mca_pml_base_send_mode_t mode;
} pml_fci_request;

OBJ_CLASS_DECLARATION(pml_fci_request);

int pml_fci_requests_init(void);
void pml_fci_requests_fini(void);
/* One that is active, or inactive where it is persistent. NULL: no memory. */
pml_fci_request *pml_fci_new_request(ompi_communicator_t *comm, bool is_send, int rank, int tag,
                                     bool persistent);
/* Back to where it came from; of one that was never started, too. */
void pml_fci_return_request(pml_fci_request *request);
/* Its status is complete. With the lock held, also inside fci_icl_progress(). */
void pml_fci_complete(pml_fci_request *request);
int pml_fci_start(size_t count, ompi_request_t **requests);
/* After each fci_icl_progress(): calls the completion callbacks that are due. */
void pml_fci_call_all(void);

static inline void pml_fci_call(void)
{
    if (OPAL_UNLIKELY(pml_fci.called != NULL))
        pml_fci_call_all();
}

/* Starts what the request describes. Errors that the message has are those of the request. */
int pml_fci_start_send(pml_fci_request *request);
int pml_fci_start_receive(pml_fci_request *request);

/* The copies of sends that are held back (send.c). */
void pml_fci_sends_init(void);
void pml_fci_sends_fini(void);

/* --- what Open MPI asks for --- */

int pml_fci_progress(void);

int pml_fci_isend_init(const void *buffer, size_t count, ompi_datatype_t *datatype, int rank,
                       int tag, mca_pml_base_send_mode_t mode, ompi_communicator_t *comm,
                       ompi_request_t **request);
int pml_fci_isend(const void *buffer, size_t count, ompi_datatype_t *datatype, int rank, int tag,
                  mca_pml_base_send_mode_t mode, ompi_communicator_t *comm,
                  ompi_request_t **request);
int pml_fci_send(const void *buffer, size_t count, ompi_datatype_t *datatype, int rank, int tag,
                 mca_pml_base_send_mode_t mode, ompi_communicator_t *comm);

int pml_fci_irecv_init(void *buffer, size_t count, ompi_datatype_t *datatype, int rank, int tag,
                       ompi_communicator_t *comm, ompi_request_t **request);
int pml_fci_irecv(void *buffer, size_t count, ompi_datatype_t *datatype, int rank, int tag,
                  ompi_communicator_t *comm, ompi_request_t **request);
int pml_fci_recv(void *buffer, size_t count, ompi_datatype_t *datatype, int rank, int tag,
                 ompi_communicator_t *comm, ompi_status_public_t *status);
int pml_fci_imrecv(void *buffer, size_t count, ompi_datatype_t *datatype,
                   struct ompi_message_t **message, ompi_request_t **request);
int pml_fci_mrecv(void *buffer, size_t count, ompi_datatype_t *datatype,
                  struct ompi_message_t **message, ompi_status_public_t *status);
/* Fills MPI's status for a message that was received or probed. */
void pml_fci_set_status(ompi_status_public_t *status, ompi_communicator_t *comm, int rank,
                        const struct fci_icl_status *from);

int pml_fci_iprobe(int rank, int tag, ompi_communicator_t *comm, int *found,
                   ompi_status_public_t *status);
int pml_fci_probe(int rank, int tag, ompi_communicator_t *comm, ompi_status_public_t *status);
int pml_fci_improbe(int rank, int tag, ompi_communicator_t *comm, int *found,
                    struct ompi_message_t **message, ompi_status_public_t *status);
int pml_fci_mprobe(int rank, int tag, ompi_communicator_t *comm, struct ompi_message_t **message,
                   ompi_status_public_t *status);

void pml_fci_register_counters(const mca_base_component_t *component);
/* This is a child of fork(): if it uses MPI it is told that it cannot, and ended. */
void pml_fci_become_child(void *unused);
/* For what a child does not call through Open MPI's table. */
int pml_fci_end_child(void);

#pragma GCC visibility pop

#endif
