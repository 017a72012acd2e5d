/* SPDX-License-Identifier: BSD-3-Clause */
/* The match word.
 *
 *   63         51 50          31 30           0
 *   | rank mod 2^13 | context id   | tag         |
 *
 * The sender of a message is its peer number, which icl.h matches as a field of its own; the rank
 * is in the word only to find the status' source for a wildcard receive, and never compared.
 * So there is no limit to ranks: above 2^13 the few that share the residue are looked at. */
#ifndef FCI_MATCH_H_INCLUDED
#define FCI_MATCH_H_INCLUDED

#include "fci_impl.h"

#define MPIDI_FCI_TAG_BITS 31
#define MPIDI_FCI_CONTEXT_BITS 20
#define MPIDI_FCI_RANK_SHIFT (MPIDI_FCI_TAG_BITS + MPIDI_FCI_CONTEXT_BITS)
#define MPIDI_FCI_RANKS_TOLD (1 << (64 - MPIDI_FCI_RANK_SHIFT))
#define MPIDI_FCI_TAG_MASK ((UINT64_C(1) << MPIDI_FCI_TAG_BITS) - 1)
#define MPIDI_FCI_RANK_MASK (~UINT64_C(0) << MPIDI_FCI_RANK_SHIFT)

MPL_STATIC_INLINE_PREFIX uint64_t MPIDI_FCI_match(int context_id, int rank, int tag)
{
    return (uint64_t) rank << MPIDI_FCI_RANK_SHIFT |
        (uint64_t) context_id << MPIDI_FCI_TAG_BITS | ((uint64_t) tag & MPIDI_FCI_TAG_MASK);
}

MPL_STATIC_INLINE_PREFIX uint64_t MPIDI_FCI_ignore(int tag)
{
    return MPIDI_FCI_global.ignored[tag == MPI_ANY_TAG];
}

MPL_STATIC_INLINE_PREFIX uint64_t MPIDI_FCI_receive_match(int context_id, int tag)
{
    return MPIDI_FCI_match(context_id, 0, tag == MPI_ANY_TAG ? 0 : tag);
}

MPL_STATIC_INLINE_PREFIX int MPIDI_FCI_tag_of(uint64_t match)
{
    return (int) (match & MPIDI_FCI_TAG_MASK);
}

/* The rank in `comm` of the process that sent `match`. `comm` is needed only where ranks share a
 * residue. */
MPL_STATIC_INLINE_PREFIX int MPIDI_FCI_rank_of(uint64_t match, uint32_t peer, MPIR_Comm * comm)
{
    int rank = (int) (match >> MPIDI_FCI_RANK_SHIFT);
    if (unlikely(comm != NULL)) {
        while (rank + MPIDI_FCI_RANKS_TOLD < comm->remote_size &&
               MPIDI_FCI_COMM_TO_PEER(comm, rank) != peer)
            rank += MPIDI_FCI_RANKS_TOLD;
    }
    return rank;
}

MPL_STATIC_INLINE_PREFIX bool MPIDI_FCI_ranks_ambiguous(MPIR_Comm * comm)
{
    return unlikely(comm->remote_size > MPIDI_FCI_RANKS_TOLD);
}

#endif
