/* SPDX-License-Identifier: BSD-3-Clause */
/* The collective component: what its files share. It is the other half of the component for
 * messages, in the same file, because both need its context. */
#ifndef COLL_FCI_H_INCLUDED
#define COLL_FCI_H_INCLUDED

#include "netmod/openmpi/pml_fci.h"

#include <ompi/mca/coll/base/base.h>
#include <ompi/mca/coll/coll.h>

#pragma GCC visibility push(hidden)

/* The component that was selected before this one: it does the calls that are not for a group. */
#define COLL_FCI_BELOW(collective) \
    mca_coll_base_module_##collective##_fn_t collective; \
    mca_coll_base_module_t *collective##_module

typedef struct {
    fci_icl_group *group;           /* NULL: there is none */
    struct fci_icl_group_limits limits;
} coll_fci_group;

/* The arguments of a member's call, in case that others were called otherwise (unlike.c). */
enum { COLL_FCI_BARRIER, COLL_FCI_BCAST, COLL_FCI_REDUCE, COLL_FCI_ALLREDUCE, COLL_FCI_GATHER,
       COLL_FCI_ALLGATHER };
#define COLL_FCI_RECORDS 32         /* more than a root of broadcasts is ahead */
typedef struct {
    uint64_t number, bytes;         /* the how-manieth call, counted alike by all members */
    uint32_t kind, below;           /* not by the group */
} coll_fci_record;

/* The state of a communicator. Nonblocking collectives have a group of their own, because programs
 * call blocking ones in between in an order that differs from rank to rank: it is not allowed, but
 * works elsewhere. */
typedef struct coll_fci_module {
    mca_coll_base_module_t super;
    bool asked;                     /* for groups */
    uint64_t calls;                 /* of blocking ones, so far */
    coll_fci_group called, begun;
    struct {
        COLL_FCI_BELOW(allgather);
        COLL_FCI_BELOW(allreduce);
        COLL_FCI_BELOW(barrier);
        COLL_FCI_BELOW(bcast);
        COLL_FCI_BELOW(gather);
        COLL_FCI_BELOW(iallreduce);
        COLL_FCI_BELOW(ibarrier);
        COLL_FCI_BELOW(ibcast);
        COLL_FCI_BELOW(ireduce);
        COLL_FCI_BELOW(reduce);
    } below;
    coll_fci_record records[COLL_FCI_RECORDS];
    ompi_communicator_t *comm;      /* of a group, */
    uint64_t key;                   /* its context id, */
    struct coll_fci_module *next_known;     /* and another one that has a group */
} coll_fci_module;

OBJ_CLASS_DECLARATION(coll_fci_module);

/* Calls what is below, with the same arguments. */
#define COLL_FCI_PASS(module, collective, ...) \
    ((module)->below.collective(__VA_ARGS__, (module)->below.collective##_module))

static inline void coll_fci_note(coll_fci_module *module, uint32_t kind, size_t bytes)
{
    const uint64_t number = ++module->calls;
    module->records[number % COLL_FCI_RECORDS] =
        (coll_fci_record) { number, bytes, kind, false };
}

/* Around what may have to wait for other members. Answers what end_wait() is told. */
coll_fci_module *coll_fci_begin_wait(coll_fci_module *module, bool below);
void coll_fci_end_wait(coll_fci_module *before);
/* Where nobody else takes turns, in one that waits. */
void coll_fci_look(void);
/* `rank`, or -1: one that is not known, has as many. */
void coll_fci_tell_lengths(const coll_fci_module *module, int rank, size_t bytes);
void coll_fci_know(coll_fci_module *module, ompi_communicator_t *comm, uint64_t key);
void coll_fci_forget(coll_fci_module *module);

/* The first collective forms the groups; without them each goes below. In a child of fork(), where
 * there is no context any more, that tells it that it cannot. */
bool coll_fci_form_groups(coll_fci_module *module, ompi_communicator_t *comm);
void coll_fci_leave_groups(coll_fci_module *module);

static inline bool coll_fci_has_group(coll_fci_module *module, ompi_communicator_t *comm)
{
    return OPAL_LIKELY(module->called.group != NULL && pml_fci.context != NULL) ||
        (!module->asked && coll_fci_form_groups(module, comm));
}

static inline size_t coll_fci_bytes_of(int count, const ompi_datatype_t *datatype)
{
    return (size_t) count * datatype->super.size;
}

/* One collective of a communicator. */
typedef struct {
    struct fci_icl_collective what;
    coll_fci_group *group;
    ompi_communicator_t *comm;
    int count;                      /* of items, where they are combined, */
    ompi_datatype_t *datatype;      /* like this, */
    struct ompi_op_t *op;           /* and how */
} coll_fci_call;

bool coll_fci_takes_reduction(const coll_fci_group *group, struct ompi_op_t *op, int count,
                              const ompi_datatype_t *datatype);
void coll_fci_set_reduction(coll_fci_call *it, uint32_t root, const void *from, void *to,
                            int count, ompi_datatype_t *datatype, struct ompi_op_t *op);
/* MPI's code for the answer of a collective of icl.h; names the rank that was lost. */
int coll_fci_fail(const coll_fci_call *it, int answer);

int coll_fci_barrier(ompi_communicator_t *comm, mca_coll_base_module_t *module);
int coll_fci_bcast(void *buffer, int count, ompi_datatype_t *datatype, int root,
                   ompi_communicator_t *comm, mca_coll_base_module_t *module);
int coll_fci_allreduce(const void *from, void *to, int count, ompi_datatype_t *datatype,
                       struct ompi_op_t *op, ompi_communicator_t *comm,
                       mca_coll_base_module_t *module);
int coll_fci_reduce(const void *from, void *to, int count, ompi_datatype_t *datatype,
                    struct ompi_op_t *op, int root, ompi_communicator_t *comm,
                    mca_coll_base_module_t *module);
int coll_fci_gather(const void *from, int from_count, ompi_datatype_t *from_type, void *to,
                    int to_count, ompi_datatype_t *to_type, int root, ompi_communicator_t *comm,
                    mca_coll_base_module_t *module);
int coll_fci_allgather(const void *from, int from_count, ompi_datatype_t *from_type, void *to,
                       int to_count, ompi_datatype_t *to_type, ompi_communicator_t *comm,
                       mca_coll_base_module_t *module);

/* Nonblocking ones of programs go on in progress, if they fit into a line. They take no part in
 * forming their group: where the first collective is one of them it goes below, at all members. So
 * do those that Open MPI begins by itself. */
#define COLL_FCI_BEGUN_BYTES 56
int coll_fci_ibarrier(ompi_communicator_t *comm, ompi_request_t **request,
                      mca_coll_base_module_t *module);
int coll_fci_ibcast(void *buffer, int count, ompi_datatype_t *datatype, int root,
                    ompi_communicator_t *comm, ompi_request_t **request,
                    mca_coll_base_module_t *module);
int coll_fci_iallreduce(const void *from, void *to, int count, ompi_datatype_t *datatype,
                        struct ompi_op_t *op, ompi_communicator_t *comm,
                        ompi_request_t **request, mca_coll_base_module_t *module);
int coll_fci_ireduce(const void *from, void *to, int count, ompi_datatype_t *datatype,
                     struct ompi_op_t *op, int root, ompi_communicator_t *comm,
                     ompi_request_t **request, mca_coll_base_module_t *module);

#pragma GCC visibility pop

#endif
