/* SPDX-License-Identifier: BSD-3-Clause */
#include "test/unit/ch4/upper.h"

#include <stdarg.h>

struct upper upper;

MPIR_Process_t MPIR_Process;
MPIR_Thread_info_t MPIR_ThreadInfo;
MPID_Thread_mutex_t MPIR_THREAD_GLOBAL_ALLFUNC_MUTEX;
MPIDI_CH4_Global_t MPIDI_global;
MPIDIG_global_t MPIDIG_global;
MPL_TLS int global_vci_poll_count;
MPIR_Request MPIR_Request_builtins[MPIR_REQUEST_BUILTIN_COUNT];
MPIR_Request MPIR_Request_direct[MPIR_REQUEST_PREALLOC];
MPIR_Object_alloc_t MPIR_Request_mem[MPIR_REQUEST_NUM_POOLS];

static void reset_requests(void) {
    MPIR_Object_alloc_t* const pool = &MPIR_Request_mem[0];
    if (pool->indirect != NULL) MPIR_Handle_free(pool);
    memset(pool, 0, sizeof *pool);
    pool->kind = MPIR_REQUEST;
    pool->size = sizeof(MPIR_Request);
    pool->direct = MPIR_Request_direct;
    pool->direct_size = MPIR_REQUEST_PREALLOC;
    memset(MPIR_Request_builtins, 0, sizeof MPIR_Request_builtins);
    for (int i = 0; i < MPIR_REQUEST_BUILTIN_COUNT; i++) {
        MPIR_Request* const request = &MPIR_Request_builtins[i];
        request->handle = MPIR_REQUEST_COMPLETE | i;
        request->kind = i;
        request->cc_ptr = &request->cc;
        MPIR_Object_set_ref(request, 1);
    }
}

void reset_upper(int rank, int size) {
    static int nodes[CARDS_MOST], roots[CARDS_MOST];
    memset(&upper, 0, sizeof upper);
    upper.mallocs_good = -1;
    upper.now = 1000;
    memset(&MPIR_Process, 0, sizeof MPIR_Process);
    memset(&MPIR_ThreadInfo, 0, sizeof MPIR_ThreadInfo);
    memset(&MPIDIG_global, 0, sizeof MPIDIG_global);
    for (int id = 0; id < MPIDI_global.avt_mgr.n_avts; id++)
        free(MPIDI_global.avt_mgr.av_tables[id]);
    free(MPIDI_global.avt_mgr.av_tables);
    memset(&MPIDI_global, 0, sizeof MPIDI_global);
    MPIR_Process.rank = rank;
    MPIR_Process.size = size;
    MPIR_Process.tag_bits = 31;
    MPIR_Process.num_nodes = 1;
    MPIR_Process.node_map = nodes;
    MPIR_Process.node_root_map = roots;
    MPIR_Process.do_error_checks = 1;
    reset_requests();
    free_cells();
    int world;
    (void)MPIDIU_new_avt(size, &world);
    MPIDI_global.avt_mgr.av_table0 = MPIDIU_get_av_table(0);
}

/* --- what was called --- */

void note(const char* format, ...) {
    const size_t at = strlen(upper.notes);
    va_list arguments;
    va_start(arguments, format);
    if (at > 0) strcat(upper.notes, "; ");
    vsnprintf(upper.notes + strlen(upper.notes), sizeof upper.notes - at - 2, format, arguments);
    va_end(arguments);
}

const char* notes(void) {
    strcpy(upper.read, upper.notes);
    upper.notes[0] = '\0';
    return upper.read;
}

/* --- errors: a code is its class --- */

int MPIR_Err_create_code(int last, int fatal, const char function[], int line, int class,
                         const char generic[], const char specific[], ...) {
    upper.errors++;
    /* "**fail" adds to what is known only where it was. */
    if (last != MPI_SUCCESS && class == MPI_ERR_OTHER) return last;
    if (specific == NULL) {
        snprintf(upper.error, sizeof upper.error, "%s", generic);
        return class;
    }
    va_list arguments;
    va_start(arguments, specific);
    vsnprintf(upper.error, sizeof upper.error, specific, arguments);
    va_end(arguments);
    return class;
}

int MPIR_Err_combine_codes(int first, int second) {
    return first != MPI_SUCCESS ? first : second;
}

int MPID_Abort(MPIR_Comm* comm, int mpi_errno, int exit_code, const char* text) {
    note("abort(%d, %s)", exit_code, text);
    return MPI_SUCCESS;
}

int MPL_internal_sys_error_printf(const char* name, int number, const char* format, ...) {
    note("system error in %s", name);
    return 0;
}

/* --- requests and communicators --- */

int requests_live(void) {
    return MPIR_Request_mem[0].num_allocated - MPIR_Request_mem[0].num_avail;
}

void let_go(MPIR_Request* request) {
    MPIR_Request_free_unsafe(request);
}

void MPIR_Add_finalize(int (*function)(void*), void* data, int priority) {}

int MPIR_Comm_delete_internal(MPIR_Comm* comm) {
    upper.comms_deleted++;
    return MPI_SUCCESS;
}

MPIR_Comm* new_comm(int context, int recvcontext, int rank, int size) {
    MPIR_Comm* const comm = calloc(1, sizeof *comm);
    MPIR_Object_set_ref(comm, 1);
    comm->context_id = context;
    comm->recvcontext_id = recvcontext;
    comm->rank = rank;
    comm->local_size = comm->remote_size = size;
    comm->comm_kind = MPIR_COMM_KIND__INTRACOMM;
    MPIDI_COMM(comm, map).mode = MPIDI_RANK_MAP_DIRECT_INTRA;
    MPIDI_COMM(comm, map).size = size;
    return comm;
}

void free_comm(MPIR_Comm* comm) {
    free(comm->intranode_table);
    free(comm);
}

/* --- progress and time --- */

int MPIR_Progress_hook_exec_all(int* made_progress) {
    if (upper.in_progress != NULL) upper.in_progress();
    const int answer = upper.progress_error;
    upper.progress_error = MPI_SUCCESS;
    return answer;
}

int MPIDI_check_for_failed_procs(void) {
    return MPI_SUCCESS;
}

#undef MPL_wtime
int MPL_wtime(MPL_time_t* now) {
    *now = (MPL_time_t){(time_t)upper.now, (long)((upper.now - (time_t)upper.now) * 1e9)};
    return MPL_SUCCESS;
}

int MPL_wtime_diff(MPL_time_t* from, MPL_time_t* to, double* seconds) {
    *seconds = (double)(to->tv_sec - from->tv_sec) + 1e-9 * (double)(to->tv_nsec - from->tv_nsec);
    return MPL_SUCCESS;
}

/* --- memory that is not there --- */

static bool has_memory(void) {
    if (upper.mallocs_good == 0) return false;
    upper.mallocs_good -= upper.mallocs_good > 0;
    return true;
}

void* __real_malloc(size_t bytes);
void* __wrap_malloc(size_t bytes) {
    return has_memory() ? __real_malloc(bytes) : NULL;
}

void* __real_calloc(size_t count, size_t bytes);
void* __wrap_calloc(size_t count, size_t bytes) {
    return has_memory() ? __real_calloc(count, bytes) : NULL;
}

void* __real_realloc(void* old, size_t bytes);
void* __wrap_realloc(void* old, size_t bytes) {
    return has_memory() ? __real_realloc(old, bytes) : NULL;
}
