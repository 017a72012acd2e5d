/* SPDX-License-Identifier: BSD-3-Clause */
/* MPICH's upper half, as far as the netmod calls it: as little of it as can be, and a note of each
 * call that a test may ask for. Headers, and what is inline in them, are MPICH's own. */
#ifndef FCI_TEST_CH4_UPPER_H
#define FCI_TEST_CH4_UPPER_H

#include <mpidimpl.h>

#define CARDS_MOST 8

struct upper {
    char notes[4096];          /* calls since they were read, in order, with "; " between them */
    char read[4096];           /* those that were read last */
    char error[512];           /* text of the last error code that was made */
    int errors;                /* made */
    double now;                /* seconds, by MPICH's clock */
    int progress_error;        /* what progress answers next */
    void (*in_progress)(void); /* what else goes on in it, or NULL */
    int comms_deleted, types_live;
    int mallocs_good;                                    /* so many more find memory; < 0: all */
    unsigned char cards[CARDS_MOST][FCI_ICL_CARD_BYTES]; /* by rank, as PMI would have them */
    int good_calls;                                      /* before that one: */
    int upper_error; /* what the next noted call answers, instead of MPI_SUCCESS */
};
extern struct upper upper;

/* Of a job that has `size` ranks; nothing of what came before is left. */
void reset_upper(int rank, int size);
void free_cells(void); /* of active messages */
void note(const char* format, ...) __attribute__((format(printf, 1, 2)));
/* The calls since the last look. */
const char* notes(void);

/* A communicator between all ranks of the job; the caller changes what is to be otherwise. */
MPIR_Comm* new_comm(int context, int recvcontext, int rank, int size);
void free_comm(MPIR_Comm* comm);

/* `blocks` of so many bytes, each `stride` bytes behind the last one. Of `unit` bytes that belong
 * together only whole ones are unpacked. */
struct shape {
    int blocks, bytes, stride, first, unit;
};
MPI_Datatype new_type(struct shape shape);
void free_type(MPI_Datatype type);
MPIR_Datatype* type_of(MPI_Datatype type);

/* A counter that was registered for MPI_T. */
struct counter {
    const char *name, *category, *help;
    void* address;
    int count;
    MPI_Datatype type;
    MPIR_T_pvar_get_value_cb* read;
};
#define COUNTERS_MOST 64
extern struct counter upper_counters[COUNTERS_MOST];
extern int upper_counter_count;

int requests_live(void);
/* As MPI_Wait and MPI_Request_free let one go. */
void let_go(MPIR_Request* request);

#endif
