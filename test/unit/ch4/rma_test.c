/* SPDX-License-Identifier: BSD-3-Clause */
/* Put and get: to mapped memory by a copy, else by MPICH's active messages. */
#include "test/unit/ch4/window.h"

#define WIN (&window.win)

static int put(const void* from, int count, MPI_Datatype type, int rank, MPI_Aint at,
               int there_count, MPI_Datatype there) {
    return MPIDI_NM_mpi_put(from, count, type, rank, at, there_count, there, WIN,
                            av(job.world, rank), 0);
}

static int get(void* to, int count, MPI_Datatype type, int rank, MPI_Aint at, int there_count,
               MPI_Datatype there) {
    return MPIDI_NM_mpi_get(to, count, type, rank, at, there_count, there, WIN, av(job.world, rank),
                            0);
}

/* Rank 1's part, which is the host's first one. */
static char* part(void) {
    return window.memory[0];
}

TEST(Put, while_all_are_locked__is_a_copy) {
    const uint64_t word = UINT64_C(0x1122334455667788);
    const int32_t numbers[3] = {7, 8, 9};
    open_window(false, true);
    EXPECT_EQ(MPIDI_NM_mpi_win_lock_all(MPI_MODE_NOCHECK, WIN), MPI_SUCCESS);
    EXPECT_EQ(put(&word, 8, MPI_BYTE, 1, 3, 8, MPI_BYTE), MPI_SUCCESS);
    EXPECT_BYTES(part() + 12, &word, 8);
    EXPECT_EQ(part()[20], 0);
    EXPECT_EQ(put(numbers, 3, MPI_INT32_T, 1, 6, 3, MPI_INT32_T), MPI_SUCCESS);
    EXPECT_BYTES(part() + 24, numbers, 12);
    EXPECT_EQ(part()[36], 0);
    EXPECT_EQ(put("xyz", 1, MPI_BYTE, 0, 1, 1, MPI_BYTE), MPI_SUCCESS);
    EXPECT_BYTES(window.memory[1] + 4, "x\0", 2);
    EXPECT_EQ(tap_count(TAP_AM_SEND), 0);
    close_window();
}

TEST(Get, while_all_are_locked__is_a_copy) {
    char came[16] = "";
    open_window(false, true);
    EXPECT_EQ(MPIDI_NM_mpi_win_lock_all(MPI_MODE_NOCHECK, WIN), MPI_SUCCESS);
    memcpy(part() + 12, "abcdefghijkl", 12);
    EXPECT_EQ(get(came, 8, MPI_BYTE, 1, 3, 8, MPI_BYTE), MPI_SUCCESS);
    EXPECT_TEXT(came, "abcdefgh");
    EXPECT_EQ(get(came, 3, MPI_INT32_T, 1, 3, 3, MPI_INT32_T), MPI_SUCCESS);
    EXPECT_TEXT(came, "abcdefghijkl");
    EXPECT_EQ(tap_count(TAP_AM_SEND), 0);
    close_window();
}

TEST(Put, without_an_epoch__is_an_error) {
    char came[4];
    open_window(false, true);
    EXPECT_EQ(put("abcd", 4, MPI_BYTE, 1, 0, 4, MPI_BYTE), MPI_ERR_RMA_SYNC);
    EXPECT_EQ(get(came, 4, MPI_BYTE, 1, 0, 4, MPI_BYTE), MPI_ERR_RMA_SYNC);
    EXPECT_EQ(part()[0], 0);
    EXPECT_EQ(MPIDI_NM_mpi_win_lock_all(MPI_MODE_NOCHECK, WIN), MPI_SUCCESS);
    EXPECT_EQ(MPIDI_NM_mpi_win_unlock_all(WIN), MPI_SUCCESS);
    EXPECT_EQ(put("abcd", 4, MPI_BYTE, 1, 0, 4, MPI_BYTE), MPI_ERR_RMA_SYNC);
    EXPECT_EQ(part()[0], 0);
    close_window();
}

TEST(Put, in_any_epoch__finds_mapped_memory_by_its_own_unit) {
    char came[8] = "";
    open_window(true, false);
    set_epoch(MPIDIG_EPOTYPE_FENCE);
    EXPECT_EQ(put("abcd", 4, MPI_BYTE, 1, 3, 4, MPI_BYTE), MPI_SUCCESS);
    EXPECT_BYTES(part() + 12, "abcd", 4);
    EXPECT_EQ(put("efgh", 4, MPI_BYTE, 0, 3, 4, MPI_BYTE), MPI_SUCCESS);
    EXPECT_BYTES(window.memory[1] + 6, "efgh", 4);
    EXPECT_EQ(get(came, 4, MPI_BYTE, 1, 3, 4, MPI_BYTE), MPI_SUCCESS);
    EXPECT_TEXT(came, "abcd");
    EXPECT_EQ(tap_count(TAP_AM_SEND), 0);
    close_window();
}

TEST(Put, of_data_that_lie_otherwise__is_a_copy_too) {
    char came[9] = "........";
    open_window(false, true);
    EXPECT_EQ(MPIDI_NM_mpi_win_lock_all(MPI_MODE_NOCHECK, WIN), MPI_SUCCESS);
    const MPI_Datatype vector = new_type((struct shape){2, 2, 3, 0, 1});
    EXPECT_EQ(put("abcd", 4, MPI_BYTE, 1, 0, 1, vector), MPI_SUCCESS);
    EXPECT_BYTES(part(), "ab\0cd\0", 6);
    EXPECT_EQ(get(came, 1, vector, 1, 0, 4, MPI_BYTE), MPI_SUCCESS);
    EXPECT_BYTES(came, "ab.\0c.", 6);
    EXPECT_EQ(put("uv-wx-", 1, vector, 1, 4, 1, vector), MPI_SUCCESS);
    EXPECT_BYTES(part() + 16, "uv\0wx\0", 6);
    EXPECT_EQ(put("1234", 1, MPI_INT32_T, 1, 8, 4, MPI_BYTE), MPI_SUCCESS);
    EXPECT_BYTES(part() + 32, "1234", 4);
    EXPECT_EQ(put("12345678", 8, MPI_BYTE, 1, 10, 4, MPI_BYTE), MPI_ERR_TRUNCATE);
    EXPECT_EQ(part()[44], 0);
    EXPECT_EQ(get(came, 4, MPI_BYTE, 1, 0, 8, MPI_BYTE), MPI_ERR_TRUNCATE);
    EXPECT_EQ(tap_count(TAP_AM_SEND), 0);
    free_type(vector);
    close_window();
}

/* --- what is not mapped here --- */

static struct {
    int calls, id;
    MPIDIG_put_msg_t put;
    char data[8];
} told;

static void hear(void* user, fci_icl_peer source, const void* header, size_t header_bytes,
                 const void* data, uint64_t bytes, struct fci_icl_am_landing* landing) {
    told.calls++;
    told.id = (int)(intptr_t)user;
    memcpy(&told.put, header, MPL_MIN(header_bytes, sizeof told.put));
    if (data != NULL) memcpy(told.data, data, MPL_MIN(bytes, sizeof told.data));
}

static int ignored(MPIR_Request* request) {
    return MPI_SUCCESS;
}

static void open_far(void) {
    open_window(true, true);
    memset(&told, 0, sizeof told);
    for (int id = 0; id < MPIDI_AM_HANDLERS_MAX; id++) {
        MPIDIG_global.origin_cbs[id] = ignored;
        (void)fci_icl_am_register(job.peers[2].context, (uint32_t)id, hear, (void*)(intptr_t)id);
    }
    set_epoch(MPIDIG_EPOTYPE_FENCE);
}

TEST(Put, to_another_host__is_an_active_message) {
    char came[4];
    open_far();
    EXPECT_EQ(put("abcd", 4, MPI_BYTE, 2, 5, 4, MPI_BYTE), MPI_SUCCESS);
    TURN_UNTIL(told.calls == 1);
    EXPECT_EQ(told.id, MPIDIG_PUT_REQ);
    EXPECT_EQ(told.put.target_disp, 5);
    EXPECT_EQ(told.put.win_id, 77);
    EXPECT_EQ(told.put.target_count, 4);
    EXPECT_BYTES(told.data, "abcd", 4);
    EXPECT_EQ(get(came, 4, MPI_BYTE, 2, 6, 4, MPI_BYTE), MPI_SUCCESS);
    TURN_UNTIL(told.calls == 2);
    EXPECT_EQ(told.id, MPIDIG_GET_REQ);
    close_window();
}

TEST(Put, of_a_window_that_is_not_mapped__is_an_active_message) {
    MPIR_Request* request = NULL;
    open_far();
    job.world->intranode_table[2] = 0;
    MPIDIG_WIN(WIN, shared_table) = NULL;
    EXPECT_EQ(put("abcd", 4, MPI_BYTE, 2, 5, 4, MPI_BYTE), MPI_SUCCESS);
    TURN_UNTIL(told.calls == 1);
    MPIDIG_WIN(WIN, shared_table) = window.table;
    window.table[0].shm_base_addr = NULL;
    EXPECT_EQ(put("abcd", 4, MPI_BYTE, 2, 5, 4, MPI_BYTE), MPI_SUCCESS);
    TURN_UNTIL(told.calls == 2);
    free(job.world->intranode_table);
    job.world->intranode_table = NULL;
    EXPECT_EQ(MPIDI_NM_mpi_rput("abcd", 4, MPI_BYTE, 2, 5, 4, MPI_BYTE, WIN, av(job.world, 2), 0,
                                &request),
              MPI_SUCCESS);
    TURN_UNTIL(told.calls == 3);
    EXPECT_TRUE(!HANDLE_IS_BUILTIN(request->handle));
    close_window();
}

TEST(Put, with_a_request__completes_at_once_where_it_is_a_copy) {
    char came[4] = "";
    MPIR_Request* request = NULL;
    open_window(false, true);
    EXPECT_EQ(MPIDI_NM_mpi_rput("abcd", 4, MPI_BYTE, 1, 2, 4, MPI_BYTE, WIN, av(job.world, 1), 0,
                                &request),
              MPI_ERR_RMA_SYNC);
    EXPECT_TRUE(request == NULL);
    EXPECT_EQ(
        MPIDI_NM_mpi_rget(came, 4, MPI_BYTE, 1, 2, 4, MPI_BYTE, WIN, av(job.world, 1), 0, &request),
        MPI_ERR_RMA_SYNC);
    EXPECT_TRUE(request == NULL);
    EXPECT_EQ(MPIDI_NM_mpi_win_lock_all(MPI_MODE_NOCHECK, WIN), MPI_SUCCESS);
    EXPECT_EQ(MPIDI_NM_mpi_rput("abcd", 4, MPI_BYTE, 1, 2, 4, MPI_BYTE, WIN, av(job.world, 1), 0,
                                &request),
              MPI_SUCCESS);
    EXPECT_TRUE(request != NULL && is_done(request));
    EXPECT_EQ(request->kind, MPIR_REQUEST_KIND__RMA);
    EXPECT_BYTES(part() + 8, "abcd", 4);
    request = NULL;
    EXPECT_EQ(
        MPIDI_NM_mpi_rget(came, 4, MPI_BYTE, 1, 2, 4, MPI_BYTE, WIN, av(job.world, 1), 0, &request),
        MPI_SUCCESS);
    EXPECT_TRUE(request != NULL && is_done(request));
    EXPECT_BYTES(came, "abcd", 4);
    close_window();
}

TEST(Get, with_a_request_from_another_host__is_an_active_message) {
    char came[4];
    MPIR_Request* request = NULL;
    open_far();
    EXPECT_EQ(
        MPIDI_NM_mpi_rget(came, 4, MPI_BYTE, 2, 2, 4, MPI_BYTE, WIN, av(job.world, 2), 0, &request),
        MPI_SUCCESS);
    TURN_UNTIL(told.calls == 1);
    EXPECT_EQ(told.id, MPIDIG_GET_REQ);
    EXPECT_TRUE(!HANDLE_IS_BUILTIN(request->handle) && !is_done(request));
    close_window();
}
