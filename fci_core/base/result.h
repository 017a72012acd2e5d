/* SPDX-License-Identifier: BSD-3-Clause */
/* result.h: how an operation was answered and how it ended, and what hears of messages. One set of
 * types for the core and for the plugs, so in C; icl.h includes it, and it is installed with that.
 */
#ifndef FCI_RESULT_H
#define FCI_RESULT_H

#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

#ifdef __cplusplus
extern "C" {
#endif

enum {
    FCI_ICL_OK = 0,           /* accepted; the completion follows */
    FCI_ICL_DONE = 1,         /* finished inside the call; no completion follows */
    FCI_ICL_EAGAIN = -1,      /* back-pressure: nothing happened, progress clears it */
    FCI_ICL_EINVAL = -2,
    FCI_ICL_ENOMEM = -3,
    FCI_ICL_EPEER = -4,       /* the peer died or closed */
    FCI_ICL_ETRUNC = -5,      /* message longer than the buffer: that is full, the rest lost */
    FCI_ICL_ECANCELED = -6,
    FCI_ICL_ENOMSG = -7,      /* probe: nothing there */
    FCI_ICL_ENOENT = -8,      /* no such order, peer or option (any more) */
    FCI_ICL_EUNSUPPORTED = -9,
    FCI_ICL_EMISMATCH = -10,  /* version or settings of the two sides differ */
    FCI_ICL_EFAULT = -11,     /* a buffer is not readable or writable */
    FCI_ICL_EUNREACHABLE = -12, /* the peer was never there, or not for this process */
    FCI_ICL_EHELD = -13       /* nothing happened: the peer holds all that it will of messages that
                                 nobody has asked for. Only a send that keeps its buffer gets on */
};

typedef uint32_t fci_icl_peer; /* 0 is the process itself; others count up as they become known */

struct fci_icl_status {
    int error;            /* FCI_ICL_OK or a code */
    uint32_t flags;       /* FCI_ICL_IMMEDIATE where the message carried one */
    fci_icl_peer source;  /* receives, probes: the sender. Sends: the destination */
    uint64_t match;       /* the sender's whole word */
    uint64_t immediate;
    uint64_t length;      /* of the message; longer than `received` after FCI_ICL_ETRUNC */
    uint64_t received;    /* bytes in the buffer */
};

typedef void (*fci_icl_done_fn)(void *user, void *owner, const struct fci_icl_status *status);

struct fci_icl_completion {
    fci_icl_done_fn done; /* NULL: nobody asks */
    void *user, *owner;   /* handed to `done` */
};

/* --- collectives --- */

/* *inout = *in `op` *inout, of data of one member each; both are aligned for any type, but where
 * they are the caller's. `in` is of lower ranks, where the group keeps their order. */
struct fci_icl_reduction {
    void (*apply)(void *user, const void *in, void *inout);
    void *user;
};

enum { FCI_ICL_BARRIER, FCI_ICL_BROADCAST, FCI_ICL_GATHER, FCI_ICL_REDUCE };
#define FCI_ICL_GROUP_ALL UINT32_MAX /* instead of a root: all */
#define FCI_ICL_NO_RANK UINT32_MAX   /* it is not known which one */

/* One collective, and all that it is about. It is the caller's, and stays where and as it is until
 * it has ended; then it may be the next one. */
struct fci_icl_collective {
    int kind;        /* FCI_ICL_BARRIER and so on */
    uint32_t root;   /* but of a barrier; of the last two kinds FCI_ICL_GROUP_ALL, too */
    const void *own; /* of the last two: what this member brings. It may be where the result goes */
    void *data;      /* of a broadcast, or where the result goes, at the root or at all: by rank,
                        of a gathering; of a reduction the same bits at all */
    size_t bytes;    /* of a member. Where a broadcast is heard what there is room for, and in the
                        end what came: what does not fit is not copied. After FCI_ICL_ETRUNC that
                        of another member, or 0 */
    uint32_t lost;   /* after FCI_ICL_EPEER: the rank that was lost, or FCI_ICL_NO_RANK */
    struct fci_icl_reduction reduction;
    struct fci_icl_completion completion; /* of one that goes on in progress */
    struct fci_icl_collective *next;      /* FCI's own, while it does */
};

/* --- active messages --- */

struct fci_icl_am_landing {   /* filled by the handler of a message that is still to come */
    const struct iovec *iov;  /* where the data goes; copied before the handler is left */
    size_t iov_count;
    struct fci_icl_completion completion;
};
/* `data` is NULL when bytes > 0 and the data is still at the sender: then fill *landing.
 * Otherwise header and data are valid during the call only. Messages of one sender are handled in
 * order; landings complete in any order. */
typedef void (*fci_icl_am_fn)(void *user, fci_icl_peer source, const void *header,
                              size_t header_bytes, const void *data, uint64_t bytes,
                              struct fci_icl_am_landing *landing);

#ifdef __cplusplus
}
#endif
#endif
