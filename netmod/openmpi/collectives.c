/* Collectives by a group (icl.h), of as many bytes as that takes. What is decided
 * here all members decide alike, so it rests on the number of bytes, not on the datatype. */
#include "netmod/openmpi/coll_fci.h"

#include <opal/runtime/opal_progress.h>

#define ALL FCI_ICL_GROUP_ALL

/* One collective, as it is called again and again. */
typedef struct {
    coll_fci_module *module;
    ompi_communicator_t *comm;
    uint32_t root;
    const void *from;
    void *to;
    size_t bytes;
    struct fci_icl_reduction reduction;
} call;

typedef int step(call *it);

static int step_barrier(call *it)
{
    return fci_icl_group_barrier(pml_fci.context, it->module->group);
}

static int step_broadcast(call *it)
{
    return fci_icl_group_broadcast(pml_fci.context, it->module->group, it->root, it->to,
                                   &it->bytes);
}

static int step_gather(call *it)
{
    return fci_icl_group_gather(pml_fci.context, it->module->group, it->root, it->from, it->to,
                                &it->bytes);
}

static int step_reduce(call *it)
{
    return fci_icl_group_reduce(pml_fci.context, it->module->group, it->root, it->from, it->to,
                                &it->bytes, &it->reduction);
}

/* The first member that is known to be gone. */
static int name_lost(ompi_communicator_t *comm)
{
    for (int rank = 0; rank < ompi_comm_size(comm); rank++) {
        const uint32_t peer = pml_fci_comm_of(comm)->peers[rank];
        if (rank == ompi_comm_rank(comm) || peer == PML_FCI_UNKNOWN)
            continue;
        const char *const reason = fci_icl_peer_reason(pml_fci.context, peer);
        if (reason != NULL && *reason != '\0')
            return pml_fci_error(FCI_ICL_EPEER, peer);
    }
    return PML_FCI_PEER_LOST;
}

static PML_FCI_APART int fail(const call *it, int answer)
{
    if (answer == FCI_ICL_EPEER)
        return name_lost(it->comm);
    return answer == FCI_ICL_ETRUNC ? MPI_ERR_TRUNCATE : MPI_ERR_OTHER;
}

/* There may be turns in it. */
static inline int call_once(step *next, call *it)
{
    pml_fci_enter();
    pml_fci.in_turn = true;
    const int answer = next(it);
    pml_fci.in_turn = false;
    pml_fci_exit();
    return answer;
}

static PML_FCI_APART int wait_for(step *next, call *it, int answer)
{
    pml_fci_begin_turn();
    while (answer == FCI_ICL_OK || answer == FCI_ICL_EAGAIN) {
        pml_fci_call();
        if (answer == FCI_ICL_EAGAIN)
            opal_progress();
        answer = call_once(next, it);
    }
    pml_fci_call();
    return answer == FCI_ICL_DONE ? OMPI_SUCCESS : fail(it, answer);
}

static inline int run(step *next, call *it)
{
    const int answer = call_once(next, it);
    return OPAL_LIKELY(answer == FCI_ICL_DONE) ? OMPI_SUCCESS : wait_for(next, it, answer);
}

static size_t bytes_of(int count, const ompi_datatype_t *datatype)
{
    return (size_t) count * datatype->super.size;
}

/* --- barrier and broadcast --- */

int coll_fci_barrier(ompi_communicator_t *comm, mca_coll_base_module_t *module)
{
    coll_fci_module *const own = (coll_fci_module *) module;
    call it = { own, comm, 0, NULL, NULL, 0, { NULL, NULL } };
    if (!coll_fci_has_group(own, comm))
        return COLL_FCI_PASS(own, barrier, comm);
    return run(step_barrier, &it);
}

static int broadcast(call *it)
{
    const size_t bytes = it->bytes;
    const int error = run(step_broadcast, it);
    return error == OMPI_SUCCESS && it->bytes != bytes ? MPI_ERR_TRUNCATE : error;
}

/* Data that do not lie together are packed at the root, and unpacked elsewhere. */
static PML_FCI_APART int broadcast_packed(call *it, void *buffer, size_t count,
                                          ompi_datatype_t *datatype)
{
    char packed[it->bytes];
    const bool is_root = it->root == (uint32_t) ompi_comm_rank(it->comm);
    int error = OMPI_SUCCESS;
    if (is_root)
        error = pml_fci_pack(buffer, count, datatype, packed, it->bytes);
    it->to = packed;
    if (error == OMPI_SUCCESS)
        error = broadcast(it);
    return error != OMPI_SUCCESS || is_root ? error
        : pml_fci_unpack_from(packed, it->bytes, buffer, count, datatype);
}

int coll_fci_bcast(void *buffer, int count, ompi_datatype_t *datatype, int root,
                   ompi_communicator_t *comm, mca_coll_base_module_t *module)
{
    coll_fci_module *const own = (coll_fci_module *) module;
    call it = { own, comm, (uint32_t) root, NULL, buffer, bytes_of(count, datatype),
                { NULL, NULL } };
    struct iovec where;
    if (it.bytes == 0)
        return OMPI_SUCCESS;
    if (!coll_fci_takes(own, comm, it.bytes))
        return COLL_FCI_PASS(own, bcast, buffer, count, datatype, root, comm);
    if (!pml_fci_is_contiguous(buffer, (size_t) count, datatype, &where))
        return broadcast_packed(&it, buffer, (size_t) count, datatype);
    it.to = where.iov_base;
    return broadcast(&it);
}

/* --- reductions --- */

typedef struct {
    ompi_communicator_t *comm;
    int count;
    ompi_datatype_t *datatype;
    struct ompi_op_t *op;
} operation;

static void apply(void *user, const void *in, void *inout)
{
    const operation *const it = user;
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

static bool takes_reduction(coll_fci_module *module, ompi_communicator_t *comm,
                            struct ompi_op_t *op, size_t bytes)
{
    int commutes = true;
    if (!coll_fci_takes(module, comm, bytes))
        return false;
    if (!module->limits.keeps_order)
        (void) PMPI_Op_commutative(op, &commutes);
    return commutes;
}

int coll_fci_allreduce(const void *from, void *to, int count, ompi_datatype_t *datatype,
                       struct ompi_op_t *op, ompi_communicator_t *comm,
                       mca_coll_base_module_t *module)
{
    coll_fci_module *const own = (coll_fci_module *) module;
    operation what = { comm, count, datatype, op };
    call it = { own, comm, ALL, from == MPI_IN_PLACE ? to : from, to, span_of(count, datatype),
                { apply, &what } };
    if (count == 0)
        return OMPI_SUCCESS;
    if (!is_array(datatype) || !takes_reduction(own, comm, op, it.bytes))
        return COLL_FCI_PASS(own, allreduce, from, to, count, datatype, op, comm);
    return run(step_reduce, &it);
}

int coll_fci_reduce(const void *from, void *to, int count, ompi_datatype_t *datatype,
                    struct ompi_op_t *op, int root, ompi_communicator_t *comm,
                    mca_coll_base_module_t *module)
{
    coll_fci_module *const own = (coll_fci_module *) module;
    operation what = { comm, count, datatype, op };
    call it = { own, comm, (uint32_t) root, from == MPI_IN_PLACE ? to : from, to,
                span_of(count, datatype), { apply, &what } };
    if (count == 0)
        return OMPI_SUCCESS;
    if (!is_array(datatype) || !takes_reduction(own, comm, op, it.bytes))
        return COLL_FCI_PASS(own, reduce, from, to, count, datatype, op, root, comm);
    return run(step_reduce, &it);
}

/* --- gathering --- */

static bool takes_gather(coll_fci_module *module, ompi_communicator_t *comm, size_t bytes)
{
    return coll_fci_takes(module, comm, bytes) && module->limits.gathers;
}

/* Where bytes go to that do not lie together there: first here, then unpacked member by member. */
static PML_FCI_APART int gather_packed(call *it, char *to, int count, ompi_datatype_t *datatype)
{
    const int size = ompi_comm_size(it->comm);
    const size_t bytes = it->bytes;
    char *const all = malloc(bytes * (size_t) size);
    int error = all == NULL ? OMPI_ERR_OUT_OF_RESOURCE : OMPI_SUCCESS;
    it->to = all;
    if (error == OMPI_SUCCESS)
        error = run(step_gather, it);
    for (int rank = 0; rank < size && error == OMPI_SUCCESS; rank++)
        error = pml_fci_unpack_from(all + (size_t) rank * bytes, bytes,
                                    to + rank * (ptrdiff_t) span_of(count, datatype),
                                    (size_t) count, datatype);
    free(all);
    return error;
}

/* What this process brings, in one piece: it->from. */
static int gather(call *it, const void *from, int from_count, ompi_datatype_t *from_type, void *to,
                  int to_count, ompi_datatype_t *to_type)
{
    char packed[it->bytes];
    struct iovec own, all;
    const bool takes = it->root == ALL || it->root == (uint32_t) ompi_comm_rank(it->comm);
    it->from = packed;
    if (pml_fci_is_contiguous(from, (size_t) from_count, from_type, &own))
        it->from = own.iov_base;
    else if (pml_fci_pack(from, (size_t) from_count, from_type, packed, it->bytes) != OMPI_SUCCESS)
        return OMPI_ERROR;
    if (takes && !pml_fci_is_contiguous(to, (size_t) (to_count * ompi_comm_size(it->comm)),
                                        to_type, &all))
        return gather_packed(it, to, to_count, to_type);
    it->to = takes ? all.iov_base : NULL;
    return run(step_gather, it);
}

int coll_fci_gather(const void *from, int from_count, ompi_datatype_t *from_type, void *to,
                    int to_count, ompi_datatype_t *to_type, int root, ompi_communicator_t *comm,
                    mca_coll_base_module_t *module)
{
    coll_fci_module *const own = (coll_fci_module *) module;
    const bool is_root = ompi_comm_rank(comm) == root;
    call it = { own, comm, (uint32_t) root, NULL, NULL,
                is_root ? bytes_of(to_count, to_type) : bytes_of(from_count, from_type),
                { NULL, NULL } };
    if (it.bytes == 0)
        return OMPI_SUCCESS;
    if (!takes_gather(own, comm, it.bytes))
        return COLL_FCI_PASS(own, gather, from, from_count, from_type, to, to_count, to_type, root,
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
    call it = { own, comm, ALL, NULL, NULL, bytes_of(to_count, to_type), { NULL, NULL } };
    if (it.bytes == 0)
        return OMPI_SUCCESS;
    if (!takes_gather(own, comm, it.bytes))
        return COLL_FCI_PASS(own, allgather, from, from_count, from_type, to, to_count, to_type,
                             comm);
    if (from == MPI_IN_PLACE)
        return gather(&it, (char *) to + ompi_comm_rank(comm) *
                      (ptrdiff_t) span_of(to_count, to_type), to_count, to_type, to, to_count,
                      to_type);
    return gather(&it, from, from_count, from_type, to, to_count, to_type);
}
