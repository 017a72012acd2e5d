/* SPDX-License-Identifier: BSD-3-Clause */
/* The device above the netmod, and the collectives of MPICH: each call is noted. */
#include "test/unit/ch4/upper.h"

#include <mpidu_bc.h>

/* Answers as a test wants it: `upper_error` once, after so many good calls; else with success. */
static int answer(void) {
    if (upper.good_calls > 0) {
        upper.good_calls--;
        return MPI_SUCCESS;
    }
    const int mpi_errno = upper.upper_error;
    upper.upper_error = MPI_SUCCESS;
    return mpi_errno;
}

/* --- control variables, as MPICH has them unless somebody sets them --- */

int MPIR_CVAR_CH4_AM_PACK_BUFFER_SIZE = 16 * 1024;
const char *MPIR_CVAR_CH4_FCI_DRIVER, *MPIR_CVAR_CH4_FCI_PROTOCOL;
int MPIR_CVAR_CH4_ROOTS_ONLY_PMI, MPIR_CVAR_DEBUG_SUMMARY, MPIR_CVAR_CH4_GLOBAL_PROGRESS = 1;
int MPIR_CVAR_CH4_RMA_MEM_EFFICIENT, MPIR_CVAR_CH4_RMA_ENABLE_DYNAMIC_AM_PROGRESS;
int MPIR_CVAR_CH4_RMA_AM_PROGRESS_INTERVAL = 1;
int MPIR_CVAR_CH4_RMA_AM_PROGRESS_LOW_FREQ_INTERVAL = 100;
#define COLLECTIVE(NAME)                    \
    int MPIR_CVAR_##NAME##_INTRA_ALGORITHM; \
    int MPIR_CVAR_##NAME##_FCI_INTRA_ALGORITHM = MPIR_CVAR_##NAME##_FCI_INTRA_ALGORITHM_auto
COLLECTIVE(BARRIER);
COLLECTIVE(BCAST);
COLLECTIVE(ALLREDUCE);
COLLECTIVE(REDUCE);
COLLECTIVE(GATHER);
COLLECTIVE(ALLGATHER);

/* --- processes --- */

int MPIDIU_get_n_avts(void) {
    return MPIDI_global.avt_mgr.n_avts;
}

int MPIDIU_new_avt(int size, int* id) {
    MPIDIU_avt_manager* const all = &MPIDI_global.avt_mgr;
    *id = 0;
    while (*id < all->n_avts && all->av_tables[*id] != NULL) ++*id;
    if (*id == all->n_avts)
        all->av_tables = realloc(all->av_tables, (size_t)++all->n_avts * sizeof(void*));
    MPIDI_av_table_t* const table =
        calloc(1, sizeof *table + (size_t)size * sizeof(MPIDI_av_entry_t));
    table->size = size;
    all->av_tables[*id] = table;
    note("new table(%d)", size);
    return answer();
}

int MPIDU_bc_table_create(int rank, int size, int* node_map, void* own, int bytes, int same_length,
                          int roots_only, void** table, int* length) {
    memcpy(upper.cards[rank], own, (size_t)bytes);
    note("cards(%d of %d, %d bytes, %s, %s)", rank, size, bytes, same_length ? "one length" : "any",
         roots_only ? "roots" : "all");
    *table = upper.cards;
    return answer();
}

int MPIDU_bc_table_destroy(void) {
    note("no cards");
    return MPI_SUCCESS;
}

int MPIDU_bc_allgather(MPIR_Comm* comm, void* own, int bytes, int same_length, void** table,
                       int** rank_map, int* length) {
    static int map[CARDS_MOST];
    /* By the place of a process on the hosts, as MPICH has it: here the other way round. */
    static unsigned char cards[CARDS_MOST][FCI_ICL_CARD_BYTES];
    const int size = MPIR_Process.size;
    for (int rank = 0; rank < size; rank++) {
        map[rank] = size - 1 - rank;
        memcpy(cards[map[rank]], upper.cards[rank], FCI_ICL_CARD_BYTES);
    }
    map[MPIR_Process.node_root_map[0]] = -1;
    note("gathered(%d bytes)", bytes);
    *table = cards;
    *rank_map = map;
    return answer();
}

int MPIDI_create_init_comm(MPIR_Comm** comm) {
    note("init comm");
    const int mpi_errno = answer();
    if (mpi_errno == MPI_SUCCESS) *comm = new_comm(0, 0, 0, 1);
    return mpi_errno;
}

void MPIDI_destroy_init_comm(MPIR_Comm** comm) {
    note("no init comm");
    free_comm(*comm);
    *comm = NULL;
}

const char* MPIR_pmi_job_id(void) {
    return "kvs_1";
}

int MPIR_pmi_barrier(void) {
    note("PMI barrier");
    return answer();
}

/* --- counters --- */

struct counter upper_counters[COUNTERS_MOST];
int upper_counter_count;

void MPIR_T_PVAR_REGISTER_impl(MPIR_T_pvar_class_t class, MPI_Datatype type, const char* name,
                               void* address, int count, MPIR_T_enum_t* values,
                               MPIR_T_verbosity_t verbosity, MPIR_T_bind_t bound, int flags,
                               MPIR_T_pvar_get_value_cb get_value,
                               MPIR_T_pvar_get_count_cb get_count, const char* category,
                               const char* help) {
    struct counter* const it = &upper_counters[upper_counter_count++];
    *it = (struct counter){name, category, help, address, count, type, get_value};
}

/* --- windows, memory, partitioned communication --- */

/* Cells that nobody gave back are the next test's no more. */
static void* cells[32];

void free_cells(void) {
    for (size_t i = 0; i < sizeof cells / sizeof *cells; i++) {
        free(cells[i]);
        cells[i] = NULL;
    }
}

int MPIDU_genq_private_pool_alloc_cell(MPIDU_genq_private_pool_t pool, void** cell) {
    size_t i = 0;
    while (cells[i] != NULL) i++;
    *cell = cells[i] = calloc(1, MPIDIU_REQUEST_POOL_CELL_SIZE);
    return MPI_SUCCESS;
}

int MPIR_Group_release(MPIR_Group* group) {
    int in_use;
    MPIR_Object_release_ref(group, &in_use);
    return MPI_SUCCESS;
}

int MPIDIG_mpi_win_set_info(MPIR_Win* win, MPIR_Info* info) {
    note("win set info(%p)", (void*)info);
    return answer();
}

int MPIDIG_mpi_win_get_info(MPIR_Win* win, MPIR_Info** info) {
    note("win get info(%p)", (void*)info);
    return answer();
}

int MPIDIG_mpi_win_free(MPIR_Win** win) {
    note("win free(%p)", (void*)win);
    return answer();
}

int MPIDIG_mpi_win_create(void* base, MPI_Aint length, int unit, MPIR_Info* info, MPIR_Comm* comm,
                          MPIR_Win** win) {
    note("win create(%p, %ld, %d, %p)", base, (long)length, unit, (void*)info);
    return answer();
}

int MPIDIG_mpi_win_attach(MPIR_Win* win, void* base, MPI_Aint size) {
    note("win attach(%p, %ld)", base, (long)size);
    return answer();
}

int MPIDIG_mpi_win_detach(MPIR_Win* win, const void* base) {
    note("win detach(%p)", base);
    return answer();
}

int MPIDIG_mpi_win_allocate_shared(MPI_Aint size, int unit, MPIR_Info* info, MPIR_Comm* comm,
                                   void** base, MPIR_Win** win) {
    note("win allocate shared(%ld, %d, %p)", (long)size, unit, (void*)info);
    return answer();
}

int MPIDIG_mpi_win_allocate(MPI_Aint size, int unit, MPIR_Info* info, MPIR_Comm* comm, void* base,
                            MPIR_Win** win) {
    note("win allocate(%ld, %d, %p)", (long)size, unit, (void*)info);
    return answer();
}

int MPIDIG_mpi_win_create_dynamic(MPIR_Info* info, MPIR_Comm* comm, MPIR_Win** win) {
    note("win create dynamic(%p)", (void*)info);
    return answer();
}

void* MPIDIG_mpi_alloc_mem(MPI_Aint size, MPIR_Info* info) {
    note("alloc mem(%ld, %p)", (long)size, (void*)info);
    return &upper;
}

int MPIDIG_mpi_free_mem(void* memory) {
    note("free mem(%s)", memory == &upper ? "it" : "another");
    return answer();
}

int MPIDIG_mpi_psend_init(const void* buffer, int partitions, MPI_Aint count, MPI_Datatype type,
                          int rank, int tag, MPIR_Comm* comm, MPIR_Info* info,
                          MPIR_Request** request) {
    note("psend init(%d, %ld, %d, %d)", partitions, (long)count, rank, tag);
    return answer();
}

int MPIDIG_mpi_precv_init(void* buffer, int partitions, int count, MPI_Datatype type, int rank,
                          int tag, MPIR_Comm* comm, MPIR_Info* info, MPIR_Request** request) {
    note("precv init(%d, %d, %d, %d)", partitions, count, rank, tag);
    return answer();
}

/* --- MPICH's own collectives --- */

int MPIR_Barrier_impl(MPIR_Comm* comm, MPIR_Errflag_t* flag) {
    note("MPICH's barrier");
    return answer();
}

int MPIR_Barrier_intra_dissemination(MPIR_Comm* comm, MPIR_Errflag_t* flag) {
    note("barrier by dissemination");
    return answer();
}

int MPIR_Bcast_impl(void* buffer, MPI_Aint count, MPI_Datatype type, int root, MPIR_Comm* comm,
                    MPIR_Errflag_t* flag) {
    note("MPICH's bcast(%ld from %d)", (long)count, root);
    return answer();
}

int MPIR_Allreduce_impl(const void* from, void* to, MPI_Aint count, MPI_Datatype type, MPI_Op op,
                        MPIR_Comm* comm, MPIR_Errflag_t* flag) {
    note("MPICH's allreduce(%ld)", (long)count);
    return answer();
}

int MPIR_Reduce_impl(const void* from, void* to, MPI_Aint count, MPI_Datatype type, MPI_Op op,
                     int root, MPIR_Comm* comm, MPIR_Errflag_t* flag) {
    note("MPICH's reduce(%ld to %d)", (long)count, root);
    return answer();
}

int MPIR_Gather_impl(const void* from, MPI_Aint from_count, MPI_Datatype from_type, void* to,
                     MPI_Aint to_count, MPI_Datatype to_type, int root, MPIR_Comm* comm,
                     MPIR_Errflag_t* flag) {
    note("MPICH's gather(%ld to %d)", (long)from_count, root);
    return answer();
}

int MPIR_Allgather_impl(const void* from, MPI_Aint from_count, MPI_Datatype from_type, void* to,
                        MPI_Aint to_count, MPI_Datatype to_type, MPIR_Comm* comm,
                        MPIR_Errflag_t* flag) {
    note("MPICH's allgather(%ld)", (long)from_count);
    return answer();
}

/* Sums of int, whatever the operation is called; upper_error comes after it. */
int MPIR_Reduce_local(const void* in, void* inout, MPI_Aint count, MPI_Datatype type, MPI_Op op) {
    for (MPI_Aint i = 0; i < count; i++)
        ((int*)inout)[i] = 10 * ((const int*)in)[i] + ((int*)inout)[i];
    return answer();
}

int MPIR_Op_is_commutative(MPI_Op op) {
    return op == MPI_SUM;
}
