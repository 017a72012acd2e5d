/* SPDX-License-Identifier: BSD-3-Clause */
/* Collectives by a group (icl.h), of as many bytes as that takes. All members must decide alike
 * here, so each decision rests on the number of bytes, not on the datatype. */
#include "netmod/openmpi/coll_fci.h"

#include <opal/runtime/opal_progress.h>
#include <stddef.h>
#include <stdlib.h>

#define ALL FCI_ICL_GROUP_ALL

int coll_fci_fail(const coll_fci_call *it, int answer)
{
    static bool told;
    const uint32_t lost = it->what.lost;
    uint32_t peer;
    if (answer == FCI_ICL_ETRUNC)
        return MPI_ERR_TRUNCATE;
    if (answer != FCI_ICL_EPEER)
        return MPI_ERR_OTHER;
    if (lost != FCI_ICL_NO_RANK && pml_fci_peer_of(it->comm, (int) lost, &peer) == OMPI_SUCCESS)
        return pml_fci_error(answer, peer);
    if (!told)
        opal_output(0, "fci: a collective of %s cannot go on: one of its ranks was lost. Which "
                    "one, and why, is not known here: look for what other ranks say.",
                    it->comm->c_name);
    told = true;
    return PML_FCI_PEER_LOST;
}

/* As COLL_FCI_PASS(). */
#define GO_BELOW(module, ...) \
    ({ \
        coll_fci_module *const before_ = coll_fci_begin_wait(module, true); \
        const int error_ = COLL_FCI_PASS(module, __VA_ARGS__); \
        coll_fci_end_wait(before_); \
        error_; \
    })

/* Of a blocking one. */
static coll_fci_module *module_of(const coll_fci_call *it)
{
    return (coll_fci_module *) ((char *) it->group - offsetof(coll_fci_module, called));
}

/* There may be turns in it. */
static inline int call_once(coll_fci_call *it)
{
    pml_fci_enter();
    pml_fci.in_turn = true;
    const int answer = fci_icl_group_call(pml_fci.context, it->group->group, &it->what);
    pml_fci.in_turn = false;
    pml_fci_exit();
    return answer;
}

static PML_FCI_APART int wait_for(coll_fci_call *it, int answer)
{
    coll_fci_module *const module = module_of(it);
    coll_fci_module *const before = coll_fci_begin_wait(module, false);
    pml_fci_begin_turn();
    while (answer == FCI_ICL_OK || answer == FCI_ICL_EAGAIN) {
        pml_fci_call();
        if (answer == FCI_ICL_EAGAIN)
            opal_progress();
        coll_fci_look();
        answer = call_once(it);
    }
    coll_fci_end_wait(before);
    pml_fci_call();
    if (answer == FCI_ICL_ETRUNC)
        coll_fci_tell_lengths(module, -1, it->what.bytes);
    if (answer == FCI_ICL_DONE)
        return OMPI_SUCCESS;
    return answer == FCI_ICL_EUNSUPPORTED ? OMPI_ERR_NOT_SUPPORTED : coll_fci_fail(it, answer);
}

/* OMPI_ERR_NOT_SUPPORTED, at all members: it is to go below. */
static inline int run(coll_fci_call *it)
{
    const int answer = call_once(it);
    return OPAL_LIKELY(answer == FCI_ICL_DONE) ? OMPI_SUCCESS : wait_for(it, answer);
}

/* --- barrier and broadcast --- */

int coll_fci_barrier(ompi_communicator_t *comm, mca_coll_base_module_t *module)
{
    coll_fci_module *const own = (coll_fci_module *) module;
    coll_fci_call it;  /* only the members that a barrier needs */
    coll_fci_note(own, COLL_FCI_BARRIER, 0);
    it.what.kind = FCI_ICL_BARRIER;
    it.group = &own->called;
    it.comm = comm;
    if (!coll_fci_has_group(own, comm))
        return GO_BELOW(own, barrier, comm);
    return run(&it);
}

static int broadcast(coll_fci_call *it)
{
    const size_t bytes = it->what.bytes;
    const int error = run(it);
    if (OPAL_LIKELY(error != OMPI_SUCCESS || it->what.bytes == bytes))
        return error;
    coll_fci_tell_lengths(module_of(it), (int) it->what.root, it->what.bytes);
    return MPI_ERR_TRUNCATE;
}

/* Data that do not lie together are packed at the root, and unpacked elsewhere. */
static PML_FCI_APART int broadcast_packed(coll_fci_call *it, void *buffer, size_t count,
                                          ompi_datatype_t *datatype)
{
    const size_t bytes = it->what.bytes;
    const bool is_root = it->what.root == (uint32_t) ompi_comm_rank(it->comm);
    char few[1024], *const packed = bytes <= sizeof few ? few : malloc(bytes);
    int error = packed == NULL ? OMPI_ERR_OUT_OF_RESOURCE : OMPI_SUCCESS;
    if (error == OMPI_SUCCESS && is_root)
        error = pml_fci_pack(buffer, count, datatype, packed, bytes);
    it->what.data = packed;
    if (error == OMPI_SUCCESS)
        error = broadcast(it);
    if (error == OMPI_SUCCESS && !is_root)
        error = pml_fci_unpack_from(packed, bytes, buffer, count, datatype);
    if (packed != few)
        free(packed);
    return error;
}

int coll_fci_bcast(void *buffer, int count, ompi_datatype_t *datatype, int root,
                   ompi_communicator_t *comm, mca_coll_base_module_t *module)
{
    coll_fci_module *const own = (coll_fci_module *) module;
    coll_fci_call it;
    struct iovec where;
    int error = OMPI_ERR_NOT_SUPPORTED;
    it.what.kind = FCI_ICL_BROADCAST;
    it.what.root = (uint32_t) root;
    it.what.bytes = coll_fci_bytes_of(count, datatype);
    it.group = &own->called;
    it.comm = comm;
    coll_fci_note(own, COLL_FCI_BCAST, it.what.bytes);
    if (it.what.bytes == 0)
        return OMPI_SUCCESS;
    if (coll_fci_has_group(own, comm) && it.what.bytes <= own->called.limits.broadcast) {
        if (!pml_fci_is_contiguous(buffer, (size_t) count, datatype, &where))
            error = broadcast_packed(&it, buffer, (size_t) count, datatype);
        else {
            it.what.data = where.iov_base;
            error = broadcast(&it);
        }
    }
    return error != OMPI_ERR_NOT_SUPPORTED ? error
        : GO_BELOW(own, bcast, buffer, count, datatype, root, comm);
}

/* --- reductions --- */

static void apply(void *user, const void *in, void *inout)
{
    const coll_fci_call *const it = user;
    const mca_coll_base_comm_coll_t *const coll = it->comm->c_coll;
    (void) coll->coll_reduce_local(in, inout, it->count, it->datatype, it->op,
                                   coll->coll_reduce_local_module);
}

/* Items that lie one behind the other, whatever gaps are inside of them. */
static bool is_array(const ompi_datatype_t *datatype)
{
    return datatype->super.true_lb == 0 && datatype->super.lb == 0 &&
        (ompi_datatype_is_predefined(datatype) ||
         (ptrdiff_t) datatype->super.size == datatype->super.ub);
}

static size_t span_of(int count, const ompi_datatype_t *datatype)
{
    return (size_t) count * (size_t) (datatype->super.ub - datatype->super.lb);
}

/* Open MPI reduces before MPI_Init is over, when nothing of MPI may be asked. */
static bool commutes(struct ompi_op_t *op)
{
    const MPI_Op known[] = { MPI_MAX, MPI_MIN, MPI_SUM, MPI_PROD, MPI_LAND, MPI_BAND, MPI_LOR,
                             MPI_BOR, MPI_LXOR, MPI_BXOR, MPI_MAXLOC, MPI_MINLOC };
    int answer = false;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        if (op == known[i])
            return true;
    }
    (void) PMPI_Op_commutative(op, &answer);
    return answer;
}

bool coll_fci_takes_reduction(const coll_fci_group *group, struct ompi_op_t *op, int count,
                              const ompi_datatype_t *datatype)
{
    return is_array(datatype) && span_of(count, datatype) <= group->limits.longest &&
        (group->limits.keeps_order || commutes(op));
}

void coll_fci_set_reduction(coll_fci_call *it, uint32_t root, const void *from, void *to,
                            int count, ompi_datatype_t *datatype, struct ompi_op_t *op)
{
    it->count = count;
    it->datatype = datatype;
    it->op = op;
    it->what.kind = FCI_ICL_REDUCE;
    it->what.root = root;
    it->what.own = from == MPI_IN_PLACE ? to : from;
    it->what.data = to;
    it->what.bytes = span_of(count, datatype);
    it->what.reduction = (struct fci_icl_reduction) { apply, it };
}

static int reduce(coll_fci_module *own, ompi_communicator_t *comm, uint32_t root, const void *from,
                  void *to, int count, ompi_datatype_t *datatype, struct ompi_op_t *op)
{
    coll_fci_call it;
    it.group = &own->called;
    it.comm = comm;
    coll_fci_set_reduction(&it, root, from, to, count, datatype, op);
    return run(&it);
}

int coll_fci_allreduce(const void *from, void *to, int count, ompi_datatype_t *datatype,
                       struct ompi_op_t *op, ompi_communicator_t *comm,
                       mca_coll_base_module_t *module)
{
    coll_fci_module *const own = (coll_fci_module *) module;
    coll_fci_note(own, COLL_FCI_ALLREDUCE, coll_fci_bytes_of(count, datatype));
    if (count == 0)
        return OMPI_SUCCESS;
    if (!coll_fci_has_group(own, comm) ||
        !coll_fci_takes_reduction(&own->called, op, count, datatype))
        return GO_BELOW(own, allreduce, from, to, count, datatype, op, comm);
    return reduce(own, comm, ALL, from, to, count, datatype, op);
}

int coll_fci_reduce(const void *from, void *to, int count, ompi_datatype_t *datatype,
                    struct ompi_op_t *op, int root, ompi_communicator_t *comm,
                    mca_coll_base_module_t *module)
{
    coll_fci_module *const own = (coll_fci_module *) module;
    coll_fci_note(own, COLL_FCI_REDUCE, coll_fci_bytes_of(count, datatype));
    if (count == 0)
        return OMPI_SUCCESS;
    if (!coll_fci_has_group(own, comm) ||
        !coll_fci_takes_reduction(&own->called, op, count, datatype))
        return GO_BELOW(own, reduce, from, to, count, datatype, op, root, comm);
    return reduce(own, comm, (uint32_t) root, from, to, count, datatype, op);
}

/* --- gathering --- */

/* All members come to the same answer, because all have as many bytes, whatever their datatypes
 * look like. */
static bool takes_gather(coll_fci_module *module, ompi_communicator_t *comm, size_t bytes)
{
    return coll_fci_has_group(module, comm) && bytes <= module->called.limits.gather;
}

/* Where bytes go to that do not lie together there: first here, then unpacked member by member. */
static PML_FCI_APART int gather_packed(coll_fci_call *it, char *to, int count,
                                       ompi_datatype_t *datatype)
{
    const int size = ompi_comm_size(it->comm);
    const size_t bytes = it->what.bytes;
    char *const all = malloc(bytes * (size_t) size);
    int error = all == NULL ? OMPI_ERR_OUT_OF_RESOURCE : OMPI_SUCCESS;
    it->what.data = all;
    if (error == OMPI_SUCCESS)
        error = run(it);
    for (int rank = 0; rank < size && error == OMPI_SUCCESS; rank++)
        error = pml_fci_unpack_from(all + (size_t) rank * bytes, bytes,
                                    to + rank * (ptrdiff_t) span_of(count, datatype),
                                    (size_t) count, datatype);
    free(all);
    return error;
}

static int gather(coll_fci_call *it, const void *from, int from_count, ompi_datatype_t *from_type,
                  void *to, int to_count, ompi_datatype_t *to_type)
{
    struct fci_icl_collective *const what = &it->what;
    char packed[what->bytes];
    struct iovec own, all;
    const bool takes = what->root == ALL || what->root == (uint32_t) ompi_comm_rank(it->comm);
    what->own = packed;
    if (pml_fci_is_contiguous(from, (size_t) from_count, from_type, &own))
        what->own = own.iov_base;
    else if (pml_fci_pack(from, (size_t) from_count, from_type, packed, what->bytes) !=
             OMPI_SUCCESS)
        return OMPI_ERROR;
    if (takes && !pml_fci_is_contiguous(to, (size_t) (to_count * ompi_comm_size(it->comm)),
                                        to_type, &all))
        return gather_packed(it, to, to_count, to_type);
    what->data = takes ? all.iov_base : NULL;
    return run(it);
}

int coll_fci_gather(const void *from, int from_count, ompi_datatype_t *from_type, void *to,
                    int to_count, ompi_datatype_t *to_type, int root, ompi_communicator_t *comm,
                    mca_coll_base_module_t *module)
{
    coll_fci_module *const own = (coll_fci_module *) module;
    const bool is_root = ompi_comm_rank(comm) == root;
    coll_fci_call it = {
        .what = { .kind = FCI_ICL_GATHER, .root = (uint32_t) root,
                  .bytes = is_root ? coll_fci_bytes_of(to_count, to_type)
                      : coll_fci_bytes_of(from_count, from_type) },
        .group = &own->called, .comm = comm
    };
    coll_fci_note(own, COLL_FCI_GATHER, it.what.bytes);
    if (it.what.bytes == 0)
        return OMPI_SUCCESS;
    if (!takes_gather(own, comm, it.what.bytes))
        return GO_BELOW(own, gather, from, from_count, from_type, to, to_count, to_type, root,
                        comm);
    if (from == MPI_IN_PLACE)
        return gather(&it, (char *) to + root * (ptrdiff_t) span_of(to_count, to_type), to_count,
                      to_type, to, to_count, to_type);
    return gather(&it, from, from_count, from_type, to, to_count, to_type);
}

int coll_fci_allgather(const void *from, int from_count, ompi_datatype_t *from_type, void *to,
                       int to_count, ompi_datatype_t *to_type, ompi_communicator_t *comm,
                       mca_coll_base_module_t *module)
{
    coll_fci_module *const own = (coll_fci_module *) module;
    coll_fci_call it = {
        .what = { .kind = FCI_ICL_GATHER, .root = ALL,
                  .bytes = coll_fci_bytes_of(to_count, to_type) },
        .group = &own->called, .comm = comm
    };
    coll_fci_note(own, COLL_FCI_ALLGATHER, it.what.bytes);
    if (it.what.bytes == 0)
        return OMPI_SUCCESS;
    if (!takes_gather(own, comm, it.what.bytes))
        return GO_BELOW(own, allgather, from, from_count, from_type, to, to_count, to_type, comm);
    if (from == MPI_IN_PLACE)
        return gather(&it, (char *) to + ompi_comm_rank(comm) *
                      (ptrdiff_t) span_of(to_count, to_type), to_count, to_type, to, to_count,
                      to_type);
    return gather(&it, from, from_count, from_type, to, to_count, to_type);
}
