/* SPDX-License-Identifier: BSD-3-Clause */
/* The netmod as one rank of a job. The other ranks are bare cores in this process, which see of it
 * what any peer sees, and send it what they like. */
#ifndef FCI_TEST_CH4_JOB_H
#define FCI_TEST_CH4_JOB_H

#include <fci/icl.h>

#include "test/unit/ch4/tap.h"
#include "test/unit/ch4/test.h"
#include "test/unit/ch4/upper.h"

#define RANKS_MOST CARDS_MOST

struct peer {
    fci_icl_context* context; /* NULL: the netmod itself, or gone */
    fci_icl_peer netmod;      /* the number that it gives the netmod */
    fci_icl_peer number;      /* and which the netmod gives it */
};

struct job {
    struct peer peers[RANKS_MOST]; /* by rank */
    MPIR_Comm* world;              /* context id kWorld for what it sends, kWorld + 8 for others */
    int rank, size;
};
extern struct job job;

enum { kWorld = 64, kWorldBack = 72, kTagBits = 31 };

/* All have met, and nothing is under way. */
void open_job(int rank, int size);
void close_job(void);
/* A core alone, for a job of so many. */
fci_icl_context* open_core(int size);
/* Without one: its context is closed, as of a process that ends. */
void end_peer(int rank);

/* A word as the netmod writes it: who, where, what. */
uint64_t word(int rank, int context, int tag);

/* One of the peers does it. */
struct heard {
    int done;
    struct fci_icl_status status;
};
void peer_send(int rank, uint64_t match, const void* data, size_t bytes);
/* Synchronous: `heard` tells when it was matched. */
void peer_send_sync(int rank, uint64_t match, const void* data, size_t bytes, struct heard* heard);
/* Of any source, all of the word compared. */
void peer_receive(int rank, uint64_t match, void* data, size_t bytes, struct heard* heard);
/* It waits for such a message, which has just these data. */
bool peer_gets(int rank, uint64_t match, const void* data, size_t bytes);
/* Whether such a message is there. */
bool peer_has(int rank, uint64_t match);

long long turns_end(void);
bool turns_go_on(long long end);
/* One turn of each context. */
void turn_all(void);
/* So many that what is on its way has come. */
void settle(void);

/* MPICH's layer above would do the following. */
MPIDI_av_entry_t* av(MPIR_Comm* comm, int rank);
bool is_done(const MPIR_Request* request);
MPIR_Request* irecv(void* buffer, MPI_Aint count, MPI_Datatype type, int rank, int tag);
/* A receive ends so; then it is let go. */
void expect_end(MPIR_Request* request, int source, int tag, MPI_Aint count, int error);

#endif
