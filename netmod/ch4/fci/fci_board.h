/* The smallest collectives of a few crowded processes, through the board of one of them. */
#ifndef FCI_BOARD_H_INCLUDED
#define FCI_BOARD_H_INCLUDED

#include "fci_impl.h"

#if FCI_FLAT_COLLECTIVES

#define MPIDI_FCI_BOARD_MOST 16 /* processes */
#define MPIDI_FCI_BOARD_BYTES 56        /* of a message */

/* A place on the board of the process that calls this, for as many as the communicator has, and
 * what the others must know of it. False: there is none left. */
struct MPIDI_FCI_board_offer {
    uint64_t place;             /* counted from 1; 0: none */
    uint64_t number;            /* of the collective before the first one */
};
void MPIDI_FCI_board_offer(MPIR_Comm * comm, struct MPIDI_FCI_board_offer *offer);

/* Takes the place that `owner`, a rank of the communicator, has offered. False: it cannot be
 * reached, and all must do without it. */
bool MPIDI_FCI_board_take(MPIR_Comm * comm, int owner, const struct MPIDI_FCI_board_offer *offer);
void MPIDI_FCI_board_leave(MPIR_Comm * comm);

#define MPIDI_FCI_HAS_BOARD(comm) (MPIDI_FCI_COMM(comm).board != NULL)

/* Collectives among all processes of the communicator; calls of all of them in one order, whichever
 * they are. False: one of these processes has died, and what it owed is missing. */
bool MPIDI_FCI_board_barrier(MPIR_Comm * comm);
/* *bytes: of the message, at the root; elsewhere what there is room for, and then what came. What
 * does not fit is not copied. */
bool MPIDI_FCI_board_bcast(MPIR_Comm * comm, int root, void *buffer, size_t * bytes);
/* Shows all what each has brought, until the next of these calls but one. */
bool MPIDI_FCI_board_gather(MPIR_Comm * comm, const void *brought, size_t bytes);
const void *MPIDI_FCI_board_gathered(MPIR_Comm * comm, int rank, size_t * bytes);

#endif

#endif
