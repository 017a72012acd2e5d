/* What the flat collectives (fci_coll_4.c) are made of: messages without MPICH's requests. */
#ifndef FCI_FLAT_H_INCLUDED
#define FCI_FLAT_H_INCLUDED

#include "fci_impl.h"

#if FCI_FLAT_COLLECTIVES

#define MPIDI_FCI_FLAT_TOGETHER 32      /* messages that are waited for at once */

/* One collective, as one of its processes sees it. */
struct flat {
    MPIR_Comm *comm;
    int tag;
    size_t bytes;               /* of each message */
    MPIR_Errflag_t *errflag;    /* what others are told */
    int first;                  /* MPI error here */
    volatile int pending;       /* messages waited for, */
    int posted;                 /* of so many: */
    uint32_t peers[MPIDI_FCI_FLAT_TOGETHER];
    bool came[MPIDI_FCI_FLAT_TOGETHER];
    fci_icl_order orders[MPIDI_FCI_FLAT_TOGETHER];
};

/* An error of one message does not keep the others waiting: it is told at the end. */
void MPIDI_FCI_flat_note(struct flat *flat, int mpi_errno);
int MPIDI_FCI_flat_outcome(const struct flat *flat);
/* The error of a message of another length than it should have. */
int MPIDI_FCI_flat_wrong_length(const struct flat *flat, const struct fci_icl_status *status);

/* flat->bytes from a rank, and to it; the first is done when it has been awaited. */
void MPIDI_FCI_flat_expect(struct flat *flat, int rank, void *buffer);
void MPIDI_FCI_flat_tell(struct flat *flat, int rank, const void *buffer);
void MPIDI_FCI_flat_tell_all(struct flat *flat, const void *buffer);
/* For all that is expected. `collects`: nobody waits for this process until it has all. */
void MPIDI_FCI_flat_await(struct flat *flat, bool collects);
/* Between two steps of a wait that answered so: others of this process may come in, and where it
 * takes long MPICH goes on with all that it has. */
int MPIDI_FCI_flat_pause(int answer);

/* The communicator is freed: its table is for others. */
void MPIDI_FCI_flat_leave(MPIR_Comm * comm);

#endif

#endif
