/* SPDX-License-Identifier: BSD-3-Clause */
/* Nonblocking collectives by a group: begun here, and ended in progress. */
#include "netmod/openmpi/coll_fci.h"

#include <dlfcn.h>
#include <string.h>

/* Open MPI casts what answers a nonblocking collective to a request of its own (coll_base_util.h,
 * which is not installed everywhere), and keeps there what it holds until the end: a datatype and
 * an operation that the user may free before. */
enum { OPEN_MPIS_OWN = 8 };

typedef struct {
    ompi_request_t super;           /* req_mpi_object.comm is held */
    void *open_mpis_own[OPEN_MPIS_OWN];
    coll_fci_call call;
    size_t bytes;                   /* of a broadcast */
    void *buffer;                   /* of data that do not lie together: */
    void *packed;                   /* together here; else NULL */
} request;

static int free_request(ompi_request_t **user)
{
    ompi_request_t *it = *user;
    if (!REQUEST_COMPLETE(it))
        return MPI_ERR_REQUEST;
    OBJ_RELEASE(it->req_mpi_object.comm);
    OMPI_REQUEST_FINI(it);
    OBJ_RELEASE(it);
    *user = MPI_REQUEST_NULL;
    return OMPI_SUCCESS;
}

static int cancel_request(ompi_request_t *it, int flag)
{
    return MPI_ERR_REQUEST;
}

static void construct(request *it)
{
    it->super.req_type = OMPI_REQUEST_COLL;
    it->super.req_free = free_request;
    it->super.req_cancel = cancel_request;
    memset((char *) it + sizeof it->super, 0, sizeof *it - sizeof it->super);
}

static OBJ_CLASS_INSTANCE(request, ompi_request_t, construct, NULL);

static request *new_request(ompi_communicator_t *comm, coll_fci_group *group)
{
    request *const it = OBJ_NEW(request);
    if (it == NULL)
        return NULL;
    OMPI_REQUEST_INIT(&it->super, false);
    it->super.req_state = OMPI_REQUEST_ACTIVE;
    it->super.req_status = ompi_status_empty;
    it->super.req_mpi_object.comm = comm;
    OBJ_RETAIN(comm);
    it->call.comm = comm;
    it->call.group = group;
    return it;
}

/* Where a broadcast's data lie together. */
static int set_data(request *it, void *buffer, bool is_root)
{
    const size_t count = (size_t) it->call.count;
    struct iovec where;
    if (pml_fci_is_contiguous(buffer, count, it->call.datatype, &where)) {
        it->call.what.data = where.iov_base;
        return OMPI_SUCCESS;
    }
    it->call.what.data = it->packed = malloc(it->bytes);
    it->buffer = is_root ? NULL : buffer;
    if (it->packed == NULL)
        return OMPI_ERR_OUT_OF_RESOURCE;
    return is_root ? pml_fci_pack(buffer, count, it->call.datatype, it->packed, it->bytes)
        : OMPI_SUCCESS;
}

/* MPI's code for how it has ended; what came is where it belongs then. */
static int finish(request *it, int answer)
{
    int error = answer == FCI_ICL_OK || answer == FCI_ICL_DONE ? OMPI_SUCCESS
        : coll_fci_fail(&it->call, answer);
    if (error == OMPI_SUCCESS && it->bytes != 0 && it->call.what.bytes != it->bytes)
        error = MPI_ERR_TRUNCATE;
    if (error == OMPI_SUCCESS && it->buffer != NULL)
        error = pml_fci_unpack_from(it->packed, it->bytes, it->buffer, (size_t) it->call.count,
                                    it->call.datatype);
    free(it->packed);
    it->packed = NULL;
    return error;
}

static void done(void *user, void *owner, const struct fci_icl_status *status)
{
    request *const it = user;
    it->super.req_status.MPI_ERROR = finish(it, status->error);
    ompi_request_complete(&it->super, true);
}

static void discard(request *it)
{
    ompi_request_t *user = &it->super;
    free(it->packed);
    it->super.req_complete = REQUEST_COMPLETED;
    (void) free_request(&user);
}

/* Some are over at once, as a broadcast is at its root. */
static int start(request *it, ompi_request_t **user)
{
    it->call.what.completion = (struct fci_icl_completion) { done, it, NULL };
    *user = &it->super;
    pml_fci_enter();
    const int answer =
        fci_icl_group_start(pml_fci.context, it->call.group->group, &it->call.what);
    pml_fci_exit();
    if (answer == FCI_ICL_OK)  /* another thread may have ended it since */
        return OMPI_SUCCESS;
    const int error = finish(it, answer);
    *user = &ompi_request_empty;
    discard(it);
    return error;
}

/* --- which way --- */

/* Open MPI begins collectives by itself, in whichever turn of progress it comes to that: those by
 * which members of a communicator agree on another one's number. For one member that turn is before
 * the first collective that forms the group, for another after it. Only the calls of programs come
 * in the same order everywhere; and only they go by the group, all others below, always. Open MPI
 * begins both by the same function, so the place of the call tells them apart. */
typedef struct {
    const char *name;               /* of MPI's function */
    const void *its, *another;      /* places of calls from it, and from elsewhere, met last */
} caller;

static PML_FCI_APART bool find_out(caller *it, const void *place)
{
    Dl_info found;
    const bool known = dladdr(place, &found) != 0 && found.dli_sname != NULL;
    const char *const name = known ? found.dli_sname + (found.dli_sname[0] == 'P') : "";
    const bool is_its = strcmp(name, it->name) == 0;
    __atomic_store_n(is_its ? &it->its : &it->another, place, __ATOMIC_RELAXED);
    return is_its;
}

static bool is_of_program(caller *it, const void *place)
{
    return OPAL_LIKELY(__atomic_load_n(&it->its, __ATOMIC_RELAXED) == place) ||
        (__atomic_load_n(&it->another, __ATOMIC_RELAXED) != place && find_out(it, place));
}

/* The group, if an earlier collective has formed it, and this one may go by it; else NULL. */
#define GROUP_OF(module, function) \
    ({ \
        static caller own_ = { .name = function }; \
        group_of(module, &own_, __builtin_return_address(0)); \
    })

static coll_fci_group *group_of(coll_fci_module *module, caller *its, const void *place)
{
    return module->begun.group != NULL && pml_fci.context != NULL && is_of_program(its, place)
        ? &module->begun : NULL;
}

/* --- the collectives --- */

int coll_fci_ibarrier(ompi_communicator_t *comm, ompi_request_t **user,
                      mca_coll_base_module_t *module)
{
    coll_fci_module *const own = (coll_fci_module *) module;
    coll_fci_group *const group = GROUP_OF(own, "MPI_Ibarrier");
    if (group == NULL)
        return COLL_FCI_PASS(own, ibarrier, comm, user);
    request *const it = new_request(comm, group);
    if (it == NULL)
        return OMPI_ERR_OUT_OF_RESOURCE;
    it->call.what.kind = FCI_ICL_BARRIER;
    return start(it, user);
}

int coll_fci_ibcast(void *buffer, int count, ompi_datatype_t *datatype, int root,
                    ompi_communicator_t *comm, ompi_request_t **user,
                    mca_coll_base_module_t *module)
{
    coll_fci_module *const own = (coll_fci_module *) module;
    coll_fci_group *const group = GROUP_OF(own, "MPI_Ibcast");
    const size_t bytes = coll_fci_bytes_of(count, datatype);
    if (bytes == 0 || group == NULL || bytes > group->limits.longest)
        return COLL_FCI_PASS(own, ibcast, buffer, count, datatype, root, comm, user);
    request *const it = new_request(comm, group);
    if (it == NULL)
        return OMPI_ERR_OUT_OF_RESOURCE;
    it->bytes = it->call.what.bytes = bytes;
    it->call.what.kind = FCI_ICL_BROADCAST;
    it->call.what.root = (uint32_t) root;
    it->call.count = count;
    it->call.datatype = datatype;
    const int error = set_data(it, buffer, ompi_comm_rank(comm) == root);
    if (error == OMPI_SUCCESS)
        return start(it, user);
    discard(it);
    return error;
}

static int reduce(coll_fci_group *group, ompi_communicator_t *comm, uint32_t root,
                  const void *from, void *to, int count, ompi_datatype_t *datatype,
                  struct ompi_op_t *op, ompi_request_t **user)
{
    request *const it = new_request(comm, group);
    if (it == NULL)
        return OMPI_ERR_OUT_OF_RESOURCE;
    coll_fci_set_reduction(&it->call, root, from, to, count, datatype, op);
    return start(it, user);
}

int coll_fci_iallreduce(const void *from, void *to, int count, ompi_datatype_t *datatype,
                        struct ompi_op_t *op, ompi_communicator_t *comm, ompi_request_t **user,
                        mca_coll_base_module_t *module)
{
    coll_fci_module *const own = (coll_fci_module *) module;
    coll_fci_group *const group = GROUP_OF(own, "MPI_Iallreduce");
    if (count == 0 || group == NULL || !coll_fci_takes_reduction(group, op, count, datatype))
        return COLL_FCI_PASS(own, iallreduce, from, to, count, datatype, op, comm, user);
    return reduce(group, comm, FCI_ICL_GROUP_ALL, from, to, count, datatype, op, user);
}

int coll_fci_ireduce(const void *from, void *to, int count, ompi_datatype_t *datatype,
                     struct ompi_op_t *op, int root, ompi_communicator_t *comm,
                     ompi_request_t **user, mca_coll_base_module_t *module)
{
    coll_fci_module *const own = (coll_fci_module *) module;
    coll_fci_group *const group = GROUP_OF(own, "MPI_Ireduce");
    if (count == 0 || group == NULL || !coll_fci_takes_reduction(group, op, count, datatype))
        return COLL_FCI_PASS(own, ireduce, from, to, count, datatype, op, root, comm, user);
    return reduce(group, comm, (uint32_t) root, from, to, count, datatype, op, user);
}
