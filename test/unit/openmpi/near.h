/* SPDX-License-Identifier: BSD-3-Clause */
/* near.h: the near end. This process is what Open MPI takes it for, a job of one rank, whose
 * messages and collectives the component does; and it has communicators with ranks that are no
 * processes of Open MPI, but contexts of this one (ends.h). */
#ifndef FCI_TEST_OPENMPI_NEAR_H
#define FCI_TEST_OPENMPI_NEAR_H

#define OMPI_SKIP_MPICXX 1
#include <mpi.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "fci_core/api/icl.h"

#ifdef __cplusplus
extern "C" {
#endif

/* By a launcher's exchange. Fewer bytes than a card has: of another version; 0: it has none. */
typedef struct {
    unsigned char bytes[FCI_ICL_CARD_BYTES];
    size_t length;
} near_card;

/* Whether the component offers itself, as Open MPI asks it before a start. */
int near_offers_itself(void);
/* Of the types that the component reads the inside of, number 0 to 5 has other objects now. */
void near_grow_type(unsigned type, long bytes);

void near_start(void);
void near_finish(void);
fci_icl_context *near_context(void);
/* The function that Open MPI calls in each of its turns. */
int near_turn(void);
void near_set_copies_mib(unsigned mib);
/* Whether the program has asked for several threads. */
void near_use_threads(bool on);
/* How often this thread has taken the component's lock, and not given it back. */
unsigned near_locked(void);
/* In each turn of Open MPI, until it is called with NULL. */
void near_count_turns(unsigned *turns);

/* Whether the program has a window, whose traffic FCI does not see. */
void near_have_window(bool on);

/* This process is `rank` in it; of the others each has a card. Errors return. */
MPI_Comm near_communicator(uint32_t context_id, int size, int rank, const near_card *cards);
/* Until it is called with MPI_COMM_NULL the ranks of MPI_COMM_WORLD are those of `comm`. */
void near_lend_world(MPI_Comm comm);
/* The peer that a rank has; FCI_ICL_ANY_SOURCE: it was never spoken to. */
uint32_t near_peer(MPI_Comm comm, int rank);

/* Starts persistent requests as MPI_Startall() does, but that this tells of errors. */
int near_begin(int count, MPI_Request *requests);
/* Open MPI takes it for one of point-to-point messages, of this communicator. */
bool near_is_message(MPI_Request request, MPI_Comm comm);
/* Calls `called` with `user` when the request is complete, as Open MPI's own requests do. */
void near_on_completion(MPI_Request request, void (*called)(void *user), void *user);

/* The last call of a collective that went below the component, and how many there were. */
typedef struct {
    int calls;
    const char *name;
    const void *from;
    void *to;
    int from_count, to_count, root;
    MPI_Datatype from_type, to_type;
    MPI_Op op;
    MPI_Comm comm;
    bool with_its_module;
    int answer;     /* what it answers: set by the test */
} near_below;
/* From now on the collectives below the component's in `comm` do no more than to note it. */
void near_note_below(MPI_Comm comm, near_below *calls);
/* Whether a group with these limits takes such a reduction. */
bool near_takes_reduction(size_t longest, bool keeps_order, MPI_Op op, int count,
                          MPI_Datatype datatype);
/* Whether the component offers its collectives for it, as it is or as one between two groups. */
bool near_is_taken(MPI_Comm comm, bool has_two_groups);
/* As Open MPI itself begins one, not as a program does. */
int near_begin_barrier(MPI_Comm comm, MPI_Request *request);

#ifdef __cplusplus
}
#endif

#endif
