/* SPDX-License-Identifier: BSD-3-Clause */
/* The near end: Open MPI, started without a launcher, with the component that is compiled into this
 * program. */
#include "test/unit/openmpi/near.h"

#include <ompi/errhandler/errhandler.h>
#include <ompi/group/group.h>
#include <ompi/proc/proc.h>
#include <opal/runtime/opal_progress.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "netmod/openmpi/coll_fci.h"

/* Open MPI finds what is compiled into it by these lists, and they come before its own. */
#define SHOWN __attribute__((visibility("default")))
extern mca_pml_base_component_t mca_pml_fci_component;
extern const mca_coll_base_component_t mca_coll_fci_component;
extern const mca_base_component_t *mca_pml_base_static_components[];
extern const mca_base_component_t *mca_coll_base_static_components[];
SHOWN const mca_base_component_t *mca_pml_base_static_components[] = {
    &mca_pml_fci_component.pmlm_version, NULL
};
SHOWN const mca_base_component_t *mca_coll_base_static_components[] = {
    &mca_coll_fci_component.collm_version, NULL
};

/* --- the component, as Open MPI asks it --- */

int near_offers_itself(void)
{
    int priority = 0;
    return mca_pml_fci_component.pmlm_init(&priority, false, false) != NULL;
}

void near_grow_type(unsigned type, long bytes)
{
    opal_class_t *const all[] = {OBJ_CLASS(ompi_communicator_t), OBJ_CLASS(ompi_group_t),
                                 OBJ_CLASS(ompi_datatype_t), OBJ_CLASS(ompi_request_t),
                                 OBJ_CLASS(opal_convertor_t), OBJ_CLASS(ompi_proc_t)};
    all[type]->cls_sizeof += (size_t) bytes;
}

/* --- the launcher's exchange --- */

enum { FIRST = 1000, PROCESSES_MOST = 20000 };

static near_card exchange[PROCESSES_MOST];
static unsigned processes;
static opal_pmix_base_module_get_fn_t launchers_get;

static int get(const opal_process_name_t *name, const char *key, opal_list_t *info,
               opal_value_t **value)
{
    if (name->vpid < FIRST || name->vpid - FIRST >= processes)
        return launchers_get(name, key, info, value);
    const near_card *const card = &exchange[name->vpid - FIRST];
    if (strncmp(key, "pml.fci", strlen("pml.fci")) != 0 || card->length == 0)
        return OPAL_ERR_NOT_FOUND;
    opal_value_t *const it = OBJ_NEW(opal_value_t);
    it->type = OPAL_BYTE_OBJECT;
    it->data.bo.size = (int32_t) card->length;
    it->data.bo.bytes = malloc(card->length);
    memcpy(it->data.bo.bytes, card->bytes, card->length);
    *value = it;
    return OPAL_SUCCESS;
}

static ompi_proc_t *new_process(const near_card *card)
{
    if (processes == PROCESSES_MOST)
        abort();
    ompi_proc_t *const it = OBJ_NEW(ompi_proc_t);
    opal_list_append(&ompi_proc_list, &it->super.super);
    it->super.proc_name.jobid = ompi_proc_local()->super.proc_name.jobid;
    it->super.proc_name.vpid = FIRST + processes;
    it->super.proc_arch = ompi_proc_local()->super.proc_arch;
    exchange[processes++] = *card;
    return it;
}

/* --- from start to end --- */

void near_start(void)
{
    setenv("OMPI_MCA_ess_singleton_isolated", "1", 1);
    setenv("OMPI_MCA_pml", "fci", 1);
    setenv("OMPI_MCA_pml_fci_driver", "shm", 1);
    setenv("OMPI_MCA_coll", "fci,basic,libnbc,self", 1);
    setenv("OMPI_MCA_btl", "self", 1);
    setenv("OMPI_MCA_osc", "rdma,pt2pt", 1);
    if (MPI_Init(NULL, NULL) != MPI_SUCCESS || !pml_fci_is_chosen())
        abort();
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    launchers_get = opal_pmix.get;
    opal_pmix.get = get;
}

void near_finish(void)
{
    opal_pmix.get = launchers_get;
    MPI_Finalize();
}

fci_icl_context *near_context(void)
{
    return pml_fci.context;
}

int near_turn(void)
{
    return mca_pml.pml_progress();
}

void near_set_copies_mib(unsigned mib)
{
    pml_fci.copies_mib = mib;
}

void near_use_threads(bool on)
{
    opal_set_using_threads(on);
}

unsigned near_locked(void)
{
    const bool is_own = pml_fci.lock.__data.__owner == (int) syscall(SYS_gettid);
    return is_own ? pml_fci.lock.__data.__count : 0;
}

static unsigned *counted;

static int count_turn(void)
{
    ++*counted;
    return 0;
}

void near_count_turns(unsigned *turns)
{
    if (counted != NULL)
        opal_progress_unregister(count_turn);
    counted = turns;
    if (counted != NULL)
        opal_progress_register(count_turn);
}

void near_have_window(bool on)
{
    static int place = -1;
    static char window;
    if (on && place < 0)
        place = opal_pointer_array_add(&ompi_mpi_windows, &window);
    if (!on && place >= 0) {
        (void) opal_pointer_array_set_item(&ompi_mpi_windows, place, NULL);
        place = -1;
    }
}

/* --- communicators --- */

MPI_Comm near_communicator(uint32_t context_id, int size, int rank, const near_card *cards)
{
    ompi_group_t *group = ompi_group_allocate(size);
    ompi_communicator_t *comm = NULL;
    for (int i = 0; i < size; i++) {
        ompi_proc_t *const process = i == rank ? ompi_proc_local() : new_process(&cards[i]);
        if (i == rank)
            OBJ_RETAIN(process);
        group->grp_proc_pointers[i] = process;
    }
    group->grp_my_rank = rank;
    if (ompi_comm_set(&comm, &ompi_mpi_comm_self.comm, 0, NULL, 0, NULL, NULL,
                      &ompi_mpi_errors_return.eh, false, group, NULL) != OMPI_SUCCESS)
        abort();
    OBJ_RELEASE(group);
    comm->c_contextid = context_id;
    snprintf(comm->c_name, sizeof comm->c_name, "communicator %u", (unsigned) context_id);
    opal_pointer_array_set_item(&ompi_mpi_communicators, (int) context_id, comm);
    OMPI_COMM_SET_PML_ADDED(comm);
    if (mca_pml.pml_add_comm(comm) != OMPI_SUCCESS ||
        mca_coll_base_comm_select(comm) != OMPI_SUCCESS)
        abort();
    return comm;
}

void near_lend_world(MPI_Comm comm)
{
    static ompi_group_t *own_group;
    ompi_communicator_t *const world = &ompi_mpi_comm_world.comm;
    (void) mca_pml.pml_del_comm(world);
    if (own_group == NULL)
        own_group = world->c_local_group;
    world->c_local_group = comm != MPI_COMM_NULL ? comm->c_local_group : own_group;
    world->c_remote_group = world->c_local_group;
    world->c_my_rank = world->c_local_group->grp_my_rank;
    (void) mca_pml.pml_add_comm(world);
}

uint32_t near_peer(MPI_Comm comm, int rank)
{
    return pml_fci_comm_of(comm)->peers[rank];
}

/* --- requests --- */

int near_begin(int count, MPI_Request *requests)
{
    return mca_pml.pml_start((size_t) count, requests);
}

typedef struct {
    void (*called)(void *user);
    void *user;
} completion;

static int complete(ompi_request_t *request)
{
    completion *const it = request->req_complete_cb_data;
    it->called(it->user);
    free(it);
    request->req_complete_cb = NULL;
    return OMPI_SUCCESS;
}

bool near_is_message(MPI_Request request, MPI_Comm comm)
{
    return request->req_type == OMPI_REQUEST_PML && request->req_mpi_object.comm == comm;
}

void near_on_completion(MPI_Request request, void (*called)(void *user), void *user)
{
    completion *const it = malloc(sizeof *it);
    *it = (completion) { called, user };
    request->req_complete_cb_data = it;
    request->req_complete_cb = complete;
}

/* --- below --- */

static near_below *below;
static mca_coll_base_module_t *below_module;

static int note(const char *name, near_below it, mca_coll_base_module_t *module)
{
    it.calls = below->calls + 1;
    it.answer = below->answer;
    it.name = name;
    it.with_its_module = module == below_module;
    *below = it;
    return it.answer;
}

#define NOTE(module, ...) note(__func__, (near_below) { __VA_ARGS__ }, module)

static int allgather(const void *from, int from_count, ompi_datatype_t *from_type, void *to,
                     int to_count, ompi_datatype_t *to_type, ompi_communicator_t *comm,
                     mca_coll_base_module_t *module)
{
    return NOTE(module, .from = from, .from_count = from_count, .from_type = from_type, .to = to,
                .to_count = to_count, .to_type = to_type, .comm = comm);
}

static int gather(const void *from, int from_count, ompi_datatype_t *from_type, void *to,
                  int to_count, ompi_datatype_t *to_type, int root, ompi_communicator_t *comm,
                  mca_coll_base_module_t *module)
{
    return NOTE(module, .from = from, .from_count = from_count, .from_type = from_type, .to = to,
                .to_count = to_count, .to_type = to_type, .root = root, .comm = comm);
}

static int allreduce(const void *from, void *to, int count, ompi_datatype_t *datatype,
                     struct ompi_op_t *op, ompi_communicator_t *comm,
                     mca_coll_base_module_t *module)
{
    return NOTE(module, .from = from, .to = to, .to_count = count, .to_type = datatype, .op = op,
                .comm = comm);
}

static int reduce(const void *from, void *to, int count, ompi_datatype_t *datatype,
                  struct ompi_op_t *op, int root, ompi_communicator_t *comm,
                  mca_coll_base_module_t *module)
{
    return NOTE(module, .from = from, .to = to, .to_count = count, .to_type = datatype, .op = op,
                .root = root, .comm = comm);
}

static int barrier(ompi_communicator_t *comm, mca_coll_base_module_t *module)
{
    return NOTE(module, .comm = comm);
}

static int bcast(void *to, int count, ompi_datatype_t *datatype, int root,
                 ompi_communicator_t *comm, mca_coll_base_module_t *module)
{
    return NOTE(module, .to = to, .to_count = count, .to_type = datatype, .root = root,
                .comm = comm);
}

static int iallreduce(const void *from, void *to, int count, ompi_datatype_t *datatype,
                      struct ompi_op_t *op, ompi_communicator_t *comm, ompi_request_t **request,
                      mca_coll_base_module_t *module)
{
    *request = &ompi_request_empty;
    return NOTE(module, .from = from, .to = to, .to_count = count, .to_type = datatype, .op = op,
                .comm = comm);
}

static int ireduce(const void *from, void *to, int count, ompi_datatype_t *datatype,
                   struct ompi_op_t *op, int root, ompi_communicator_t *comm,
                   ompi_request_t **request, mca_coll_base_module_t *module)
{
    *request = &ompi_request_empty;
    return NOTE(module, .from = from, .to = to, .to_count = count, .to_type = datatype, .op = op,
                .root = root, .comm = comm);
}

static int ibarrier(ompi_communicator_t *comm, ompi_request_t **request,
                    mca_coll_base_module_t *module)
{
    *request = &ompi_request_empty;
    return NOTE(module, .comm = comm);
}

static int ibcast(void *to, int count, ompi_datatype_t *datatype, int root,
                  ompi_communicator_t *comm, ompi_request_t **request,
                  mca_coll_base_module_t *module)
{
    *request = &ompi_request_empty;
    return NOTE(module, .to = to, .to_count = count, .to_type = datatype, .root = root,
                .comm = comm);
}

#define STAND_BELOW(collective) \
    do { \
        OBJ_RETAIN(below_module); \
        OBJ_RELEASE(own->below.collective##_module); \
        own->below.collective##_module = below_module; \
        own->below.collective = collective; \
    } while (0)

void near_note_below(MPI_Comm comm, near_below *calls)
{
    coll_fci_module *const own = (coll_fci_module *) comm->c_coll->coll_barrier_module;
    if (below_module == NULL)
        below_module = OBJ_NEW(mca_coll_base_module_t);
    below = calls;
    STAND_BELOW(allgather);
    STAND_BELOW(allreduce);
    STAND_BELOW(barrier);
    STAND_BELOW(bcast);
    STAND_BELOW(gather);
    STAND_BELOW(iallreduce);
    STAND_BELOW(ibarrier);
    STAND_BELOW(ibcast);
    STAND_BELOW(ireduce);
    STAND_BELOW(reduce);
}

bool near_takes_reduction(size_t longest, bool keeps_order, MPI_Op op, int count,
                          MPI_Datatype datatype)
{
    coll_fci_group group = { NULL };
    group.limits.longest = longest;
    group.limits.keeps_order = keeps_order;
    return coll_fci_takes_reduction(&group, op, count, datatype);
}

bool near_is_taken(MPI_Comm comm, bool has_two_groups)
{
    const uint32_t flags = comm->c_flags;
    int priority = 0;
    if (has_two_groups)
        comm->c_flags |= OMPI_COMM_INTER;
    mca_coll_base_module_t *module = mca_coll_fci_component.collm_comm_query(comm, &priority);
    comm->c_flags = flags;
    if (module == NULL)
        return false;
    OBJ_RELEASE(module);
    return true;
}

int near_begin_barrier(MPI_Comm comm, MPI_Request *request)
{
    return comm->c_coll->coll_ibarrier(comm, request, comm->c_coll->coll_ibarrier_module);
}
