/* SPDX-License-Identifier: BSD-3-Clause */
/* The FCI netmod's parts of MPICH's own objects. Included by netmodpre.h, so it knows MPICH only as
 * far as mpi.h. */
#ifndef FCI_PRE_H_INCLUDED
#define FCI_PRE_H_INCLUDED

#include <stdbool.h>
#include <stdint.h>

typedef struct {
    int dummy;
} MPIDI_FCI_Global_t;

/* Of a native request; overlaps the active-message part, so a request is one or the other. */
typedef struct {
    uint64_t order;             /* icl.h: what cancel takes */
    void *message;              /* a claimed message (MPI_Mprobe) */
    void *unpack;               /* struct MPIDI_FCI_packed, or NULL for contiguous data */
    void *comm;                 /* where a rank must be looked up (fci_match.h), with a reference */
} MPIDI_FCI_request_t;

typedef struct {
    void *pack_buffer;
    int handler_id;
} MPIDI_FCI_am_request_t;

/* Where the window of each rank is mapped here, if all are and count in the same unit. */
typedef struct {
    char **bases;               /* or NULL */
    char **open;                /* the same while all are locked, else NULL */
    intptr_t unit;
} MPIDI_FCI_win_t;

/* One number for a process, whatever drivers and contexts there are. */
typedef struct {
    uint32_t peer;
} MPIDI_FCI_addr_t;

typedef struct {
    void *direct;               /* addresses by rank, where MPICH would compute no index; or NULL */
    uint64_t match;             /* of what this process sends, but the tag */
    void *group;                /* icl.h's, or NULL */
    size_t longest, broadcast, gather;  /* data of a process that it takes */
    bool keeps_order;
    bool asked;                 /* for one */
} MPIDI_FCI_comm_t;

typedef struct {
    int dummy;
} MPIDI_FCI_dt_t;

typedef struct {
    int dummy;
} MPIDI_FCI_op_t;

typedef struct {
    int dummy;
} MPIDI_FCI_part_t;

#endif
