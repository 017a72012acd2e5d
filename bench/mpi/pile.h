/* SPDX-License-Identifier: BSD-3-Clause */
/* pile.h: receives that never match, or messages that nobody has received yet, which stay in the
 * way of what is measured until they are cleared. Each has a tag of its own. Both ranks call the
 * same. */
#ifndef FCI_BENCH_PILE_H
#define FCI_BENCH_PILE_H

#include <mpi.h>
#include <stdlib.h>

enum { PIECE = 8, PILE_TAG = 100, PILE_TAGS = 30000 }; /* MPI promises tags up to 32767 */

static MPI_Request *pile; /* of receives; NULL: of messages */
static size_t piled;

static int pile_tag(size_t i) { return PILE_TAG + 1 + (int)(i % PILE_TAGS); }

static void pile_receives(size_t depth, int other) {
    pile = malloc(depth * sizeof *pile);
    if (pile == NULL) MPI_Abort(MPI_COMM_WORLD, 2);
    for (piled = 0; piled < depth; ++piled)
        MPI_Irecv(NULL, 0, MPI_BYTE, other, pile_tag(piled), MPI_COMM_WORLD, &pile[piled]);
}

/* A rank that has the last message has all of them. */
static void pile_messages(size_t depth, int other) {
    char piece[PIECE] = {0}, last[PIECE];
    MPI_Request request;
    MPI_Irecv(last, PIECE, MPI_BYTE, other, PILE_TAG, MPI_COMM_WORLD, &request);
    for (piled = 0; piled < depth; ++piled)
        MPI_Send(piece, PIECE, MPI_BYTE, other, pile_tag(piled), MPI_COMM_WORLD);
    MPI_Send(piece, PIECE, MPI_BYTE, other, PILE_TAG, MPI_COMM_WORLD);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
}

static void pile_clear(int other) {
    char piece[PIECE];
    for (size_t i = 0; i < piled; ++i) {
        if (pile != NULL) {
            MPI_Send(NULL, 0, MPI_BYTE, other, pile_tag(i), MPI_COMM_WORLD);
            MPI_Wait(&pile[i], MPI_STATUS_IGNORE);
        } else {
            MPI_Recv(piece, PIECE, MPI_BYTE, other, pile_tag(i), MPI_COMM_WORLD,
                     MPI_STATUS_IGNORE);
        }
    }
    free(pile);
    pile = NULL;
    piled = 0;
}

#endif
