/* SPDX-License-Identifier: BSD-3-Clause */
/* Collectives of a group that is none: its calls are answered by force. */
#ifndef FCI_TEST_CH4_FORCED_H
#define FCI_TEST_CH4_FORCED_H

#include "test/unit/ch4/job.h"

enum kind { BARRIER, BCAST, ALLREDUCE, REDUCE, GATHER, ALLGATHER, KINDS };

extern MPIR_Errflag_t flag;
extern int numbers[256], results[256]; /* what it is about */

/* Of so many ints each, with rank 1 as root. */
int call(enum kind kind, MPI_Aint count);

/* The netmod is `rank` of two, with a group that takes so many bytes. */
void open_forced(int rank, size_t longest, size_t broadcast, size_t gather);
void close_forced(void);
/* The next call of the group ends so. */
void end_with(int answer, size_t bytes);

#endif
