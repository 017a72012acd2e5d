/* SPDX-License-Identifier: BSD-3-Clause */
/* Windows begin and end. */
#include "test/unit/ch4/window.h"

TEST(Window, calls__are_mpichs) {
    void* base = NULL;
    MPIR_Win* win = NULL;
    MPIR_Info* info = NULL;
    open_job(0, 2);
    EXPECT_EQ(MPIDI_FCI_mpi_win_set_info(NULL, NULL), MPI_SUCCESS);
    EXPECT_TEXT(notes(), "win set info((nil))");
    EXPECT_EQ(MPIDI_FCI_mpi_win_get_info(NULL, &info), MPI_SUCCESS);
    EXPECT_EQ(MPIDI_FCI_mpi_win_free(&win), MPI_SUCCESS);
    (void)notes();
    EXPECT_EQ(MPIDI_FCI_mpi_win_create(NULL, 100, 8, NULL, job.world, &win), MPI_SUCCESS);
    EXPECT_TEXT(notes(), "win create((nil), 100, 8, (nil))");
    EXPECT_EQ(MPIDI_FCI_mpi_win_attach(NULL, NULL, 30), MPI_SUCCESS);
    EXPECT_TEXT(notes(), "win attach((nil), 30)");
    EXPECT_EQ(MPIDI_FCI_mpi_win_detach(NULL, NULL), MPI_SUCCESS);
    EXPECT_TEXT(notes(), "win detach((nil))");
    EXPECT_EQ(MPIDI_FCI_mpi_win_allocate_shared(100, 8, NULL, job.world, &base, &win), MPI_SUCCESS);
    EXPECT_TEXT(notes(), "win allocate shared(100, 8, (nil))");
    EXPECT_EQ(MPIDI_FCI_mpi_win_allocate(100, 8, NULL, job.world, &base, &win), MPI_SUCCESS);
    EXPECT_TEXT(notes(), "win allocate(100, 8, (nil))");
    EXPECT_EQ(MPIDI_FCI_mpi_win_create_dynamic(NULL, job.world, &win), MPI_SUCCESS);
    EXPECT_TEXT(notes(), "win create dynamic((nil))");
    EXPECT_EQ(MPIDI_FCI_mpi_win_attach_hook(NULL, NULL, 1), MPI_SUCCESS);
    EXPECT_EQ(MPIDI_FCI_mpi_win_detach_hook(NULL, NULL), MPI_SUCCESS);
    EXPECT_TEXT(notes(), "");
    close_job();
}

TEST(Window, error__is_passed_on) {
    MPIR_Win* win = NULL;
    open_job(0, 2);
    upper.upper_error = MPI_ERR_SIZE;
    EXPECT_EQ(MPIDI_FCI_mpi_win_create(NULL, 100, 8, NULL, job.world, &win), MPI_ERR_SIZE);
    upper.upper_error = MPI_ERR_SIZE;
    EXPECT_EQ(MPIDI_FCI_mpi_win_free(&win), MPI_ERR_SIZE);
    close_job();
}

TEST(Window, of_any_kind__makes_a_process_that_died_an_error_while_it_is_open) {
    int (*const hooks[])(MPIR_Win*) = {
        MPIDI_FCI_mpi_win_create_hook, MPIDI_FCI_mpi_win_allocate_hook,
        MPIDI_FCI_mpi_win_allocate_shared_hook, MPIDI_FCI_mpi_win_create_dynamic_hook};
    for (int i = 0; i < 4; i++) {
        MPIR_Win first, second;
        memset(&first, 0, sizeof first);
        memset(&second, 0, sizeof second);
        open_job(0, 2);
        first.comm_ptr = second.comm_ptr = job.world;
        MPIDI_FCI_peer_died(NULL, job.peers[1].number);
        upper.now += 1;
        EXPECT_EQ(hooks[i](&first), MPI_SUCCESS);
        EXPECT_EQ(hooks[i](&second), MPI_SUCCESS);
        EXPECT_TRUE(MPIDI_FCI_WIN(&first).bases == NULL && MPIDI_FCI_WIN(&first).open == NULL);
        EXPECT_EQ(MPIDI_NM_progress(0, 0), MPIX_ERR_PROC_FAILED);
        EXPECT_EQ(MPIDI_FCI_mpi_win_free_hook(&first), MPI_SUCCESS);
        EXPECT_EQ(MPIDI_NM_progress(0, 0), MPIX_ERR_PROC_FAILED);
        EXPECT_EQ(MPIDI_FCI_mpi_win_free_hook(&second), MPI_SUCCESS);
        EXPECT_EQ(MPIDI_NM_progress(0, 0), MPI_SUCCESS);
        close_job();
    }
}

TEST(Window, of_one_host_and_one_unit__is_known_by_rank) {
    open_window(false, true);
    char** const bases = MPIDI_FCI_WIN(&window.win).bases;
    EXPECT_TRUE(bases != NULL && bases[0] == window.memory[1] && bases[1] == window.memory[0]);
    EXPECT_EQ(MPIDI_FCI_WIN(&window.win).unit, 4);
    EXPECT_TRUE(MPIDI_FCI_WIN(&window.win).open == NULL);
    close_window();
}

TEST(Window, of_one_process__has_its_own_unit) {
    open_window(false, false);
    free(MPIDI_FCI_WIN(&window.win).bases);
    job.world->local_size = 1;
    job.world->intranode_table[0] = 0;
    (void)MPIDI_FCI_mpi_win_create_hook(&window.win);
    EXPECT_TRUE(MPIDI_FCI_WIN(&window.win).bases[0] == window.memory[0]);
    EXPECT_EQ(MPIDI_FCI_WIN(&window.win).unit, 4);
    close_window();
}

TEST(Window, of_two_hosts_or_units__is_not) {
    open_window(true, true);
    EXPECT_TRUE(MPIDI_FCI_WIN(&window.win).bases == NULL);
    close_window();
    open_window(false, false);
    EXPECT_TRUE(MPIDI_FCI_WIN(&window.win).bases == NULL);
    close_window();
    open_window(false, true);
    free(MPIDI_FCI_WIN(&window.win).bases);
    upper.mallocs_good = 0;
    (void)MPIDI_FCI_mpi_win_create_hook(&window.win);
    upper.mallocs_good = -1;
    EXPECT_TRUE(MPIDI_FCI_WIN(&window.win).bases == NULL);
    free(job.world->intranode_table);
    job.world->intranode_table = NULL;
    (void)MPIDI_FCI_mpi_win_create_hook(&window.win);
    EXPECT_TRUE(MPIDI_FCI_WIN(&window.win).bases == NULL);
    close_window();
}
