/* SPDX-License-Identifier: BSD-3-Clause */
/* The component that Open MPI loads, and its module, from opening a context to closing it. */
#include "netmod/openmpi/pml_fci.h"

#include <ompi/proc/proc.h>
#include <ompi/version.h>
#include <opal/runtime/opal_progress.h>

/* Any two processes of one user may connect (MPI_Comm_connect), whatever mpirun started them;
 * strangers at a reused place are told by the incarnation in their card. */
#define JOB UINT64_C(0x4f4d504946434949)

pml_fci_state pml_fci;

static int register_parameters(void);
static mca_pml_base_module_t *init(int *priority, bool enable_progress_threads,
                                   bool enable_mpi_threads);
static int finalize(void);

__attribute__((visibility("default"))) mca_pml_base_component_t mca_pml_fci_component = {
    .pmlm_version = {
        PML_FCI_VERSION,
        .mca_component_name = "fci",
        MCA_BASE_MAKE_VERSION(component, FCI_MAJOR, FCI_MINOR, FCI_RELEASE),
        .mca_register_component_params = register_parameters
    },
    .pmlm_data = { MCA_BASE_METADATA_PARAM_NONE },
    .pmlm_init = init,
    .pmlm_finalize = finalize
};

static int enable(bool on)
{
    return OMPI_SUCCESS;
}

/* The core keeps its queues to itself: fci_info -s tells what is in them. */
static int dump(ompi_communicator_t *comm, int verbose)
{
    return OMPI_SUCCESS;
}

mca_pml_base_module_t pml_fci_module = {
    .pml_add_procs = pml_fci_add_procs,
    .pml_del_procs = pml_fci_del_procs,
    .pml_enable = enable,
    .pml_progress = pml_fci_progress,
    .pml_add_comm = pml_fci_add_comm,
    .pml_del_comm = pml_fci_del_comm,
    .pml_irecv_init = pml_fci_irecv_init,
    .pml_irecv = pml_fci_irecv,
    .pml_recv = pml_fci_recv,
    .pml_isend_init = pml_fci_isend_init,
    .pml_isend = pml_fci_isend,
    .pml_send = pml_fci_send,
    .pml_iprobe = pml_fci_iprobe,
    .pml_probe = pml_fci_probe,
    .pml_start = pml_fci_start,
    .pml_improbe = pml_fci_improbe,
    .pml_mprobe = pml_fci_mprobe,
    .pml_imrecv = pml_fci_imrecv,
    .pml_mrecv = pml_fci_mrecv,
    .pml_dump = dump,
    .pml_max_contextid = (1u << PML_FCI_CONTEXT_BITS) - 1,
    .pml_max_tag = INT_MAX
};

static void register_text(const char *name, const char *help, char **value)
{
    (void) mca_base_component_var_register(&mca_pml_fci_component.pmlm_version, name, help,
                                           MCA_BASE_VAR_TYPE_STRING, NULL, 0, 0, OPAL_INFO_LVL_3,
                                           MCA_BASE_VAR_SCOPE_READONLY, value);
}

static int register_parameters(void)
{
    pml_fci.priority = 60;
    (void) mca_base_component_var_register(&mca_pml_fci_component.pmlm_version, "priority",
                                           "Priority of FCI among the ways to send messages",
                                           MCA_BASE_VAR_TYPE_INT, NULL, 0, 0, OPAL_INFO_LVL_3,
                                           MCA_BASE_VAR_SCOPE_READONLY, &pml_fci.priority);
    pml_fci.copies_mib = 1024;
    (void) mca_base_component_var_register(&mca_pml_fci_component.pmlm_version, "copies_mib",
                                           "How many MiB of short messages wait in this process "
                                           "for receivers that hold as many as they will, before "
                                           "sends wait for them",
                                           MCA_BASE_VAR_TYPE_UNSIGNED_INT, NULL, 0, 0,
                                           OPAL_INFO_LVL_3, MCA_BASE_VAR_SCOPE_READONLY,
                                           &pml_fci.copies_mib);
    pml_fci.driver = pml_fci.protocol = NULL;
    pml_fci.open_mpi = (char *) OMPI_VERSION;  /* Open MPI copies it */
    register_text("driver", "The driver that carries messages; fci_info lists them. Unset: what "
                  "FCI_DRIVER says, or the best one that works here", &pml_fci.driver);
    register_text("protocol", "The protocol between processes, as FCI_PROTOCOL names it. Unset: "
                  "what that says, or enhanced-mixed. All must have the same",
                  &pml_fci.protocol);
    register_text("open_mpi", "The Open MPI whose headers this component was built with",
                  &pml_fci.open_mpi);
    pml_fci_register_counters(&mca_pml_fci_component.pmlm_version);
    return OMPI_SUCCESS;
}

/* An upgrade of Open MPI may have changed the types whose members this component reads. It compares
 * their sizes in the headers that it was built with and in the library that runs. */
static bool fits_this_open_mpi(void)
{
    static const struct {
        const opal_class_t *type;
        size_t size;
    } known[] = {{OBJ_CLASS(ompi_communicator_t), sizeof(ompi_communicator_t)},
                 {OBJ_CLASS(ompi_group_t), sizeof(ompi_group_t)},
                 {OBJ_CLASS(ompi_datatype_t), sizeof(ompi_datatype_t)},
                 {OBJ_CLASS(ompi_request_t), sizeof(ompi_request_t)},
                 {OBJ_CLASS(opal_convertor_t), sizeof(opal_convertor_t)},
                 {OBJ_CLASS(ompi_proc_t), sizeof(ompi_proc_t)}};
    for (size_t i = 0; i < sizeof known / sizeof known[0]; ++i) {
        if (known[i].type->cls_sizeof != known[i].size)
            return false;
    }
    return true;
}

/* Each rank says why not: the first rank that gives up ends the others before they speak. */
static bool can_be_used_here(void)
{
    char running[MPI_MAX_LIBRARY_VERSION_STRING] = "";
    int length = 0;
    if (PML_FCI_FAULT_TOLERANT) {
        opal_output(0, "fci: FCI has no fault tolerance for programs, which mpirun was asked for "
                    "(--with-ft). Leave that out, or add --mca pml ob1.");
        return false;
    }
    if (!fits_this_open_mpi()) {
        (void) MPI_Get_library_version(running, &length);
        running[strcspn(running, ",")] = '\0';
        opal_output(0, "fci: FCI's component was built for Open MPI " OMPI_VERSION ", and this is "
                    "%s, whose inside is another one. Build FCI again for it (--with-openmpi), or "
                    "let it use libfabric: fci-run --mpi openmpi-ofi.", running);
        return false;
    }
    return true;
}

static int open_context(bool threads)
{
    char *why = NULL;
    fci_icl_context *context = NULL;
    struct fci_icl_limits limits;
    const struct fci_icl_config config = {
        .version = FCI_ICL_VERSION,
        .driver = pml_fci.driver,
        .protocol = pml_fci.protocol,
        .job = JOB,
        .job_ranks = (uint32_t) ompi_proc_world_size(),
        .user_agent = "Open MPI " OMPI_VERSION
    };
    if (fci_icl_open(&config, &context, &why) != FCI_ICL_OK) {
        opal_output(0, "fci: %s", why != NULL ? why : "no context, and no reason is known");
        free(why);
        return OMPI_ERROR;
    }
    pml_fci.context = context;
    if (threads)
        fci_icl_share(pml_fci.context);
    fci_icl_limits(pml_fci.context, &limits);
    pml_fci.inject_below = limits.inject_bytes != 0 ? limits.inject_bytes + 1 : 0;
    pml_fci.take_bytes = limits.take_bytes;
    return OMPI_SUCCESS;
}

static mca_pml_base_module_t *init(int *priority, bool enable_progress_threads,
                                   bool enable_mpi_threads)
{
    pthread_mutexattr_t recursive;
    *priority = pml_fci.priority;
    if (!can_be_used_here() || open_context(enable_mpi_threads) != OMPI_SUCCESS)
        return NULL;
    pthread_mutexattr_init(&recursive);
    pthread_mutexattr_settype(&recursive, PTHREAD_MUTEX_RECURSIVE);
    pthread_mutex_init(&pml_fci.lock, &recursive);
    pthread_mutexattr_destroy(&recursive);
    pml_fci_sends_init();
    if (pml_fci_requests_init() != OMPI_SUCCESS || pml_fci_publish_card() != OMPI_SUCCESS ||
        pml_fci_start_btls(enable_progress_threads, enable_mpi_threads) != OMPI_SUCCESS) {
        finalize();
        return NULL;
    }
    fci_icl_on_fork(pml_fci.context, pml_fci_become_child, NULL);
    opal_progress_register(pml_fci_progress);
    pml_fci_watch_looks();
    return &pml_fci_module;
}

bool pml_fci_is_chosen(void)
{
    return mca_pml_base_selected_component.pmlm_init == init;
}

/* Closing writes out all messages for which peers still wait. If another component was chosen, it
 * keeps the modules for windows, which all components share. */
static int finalize(void)
{
    if (pml_fci.context == NULL)
        return OMPI_SUCCESS;
    if (pml_fci_is_chosen())
        pml_fci_stop_btls();
    opal_progress_unregister(pml_fci_progress);
    pml_fci_unwatch_looks();
    (void) fci_icl_close(pml_fci.context, FCI_ICL_LINGER);
    pml_fci.context = NULL;
    pml_fci_sends_fini();
    pml_fci_requests_fini();
    pthread_mutex_destroy(&pml_fci.lock);
    return OMPI_SUCCESS;
}
