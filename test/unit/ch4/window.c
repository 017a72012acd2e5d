/* SPDX-License-Identifier: BSD-3-Clause */
#include "test/unit/ch4/window.h"

struct window window;

void open_window(bool is_spread, bool has_one_unit) {
    open_job(0, is_spread ? 3 : 2);
    memset(&window, 0, sizeof window);
    int* const on_host = calloc(3, sizeof(int));
    on_host[0] = 1;
    on_host[1] = 0;
    on_host[2] = -1;
    free(job.world->intranode_table);
    job.world->intranode_table = on_host;
    for (int local = 0; local < 2; local++) {
        window.table[local].size = kWindowBytes;
        window.table[local].shm_base_addr = window.memory[local];
        window.table[local].disp_unit = has_one_unit || local == 0 ? 4 : 2;
    }
    window.win.comm_ptr = job.world;
    window.win.disp_unit = (int)window.table[1].disp_unit;
    window.win.base = window.memory[1];
    MPIDIG_WIN(&window.win, shared_table) = window.table;
    MPIDIG_WIN(&window.win, win_id) = 77;
    (void)MPIDI_FCI_mpi_win_create_hook(&window.win);
    (void)tap_count(TAP_PROGRESS);
}

void close_window(void) {
    MPIDIG_win_target_cleanall(&window.win);
    (void)MPIDI_FCI_mpi_win_free_hook(&window.win);
    close_job();
}

void set_epoch(int type) {
    MPIDIG_WIN(&window.win, sync).access_epoch_type = type;
}

MPIDIG_win_target_t* set_target(int rank, int type) {
    MPIDIG_win_target_t* const target = MPIDIG_win_target_get(&window.win, rank);
    target->sync.access_epoch_type = type;
    return target;
}
