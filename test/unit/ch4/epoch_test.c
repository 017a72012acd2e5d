/* SPDX-License-Identifier: BSD-3-Clause */
/* Epochs between chosen processes, and those that lock all. */
#include "test/unit/ch4/window.h"

#define WIN (&window.win)

static int turns;
static unsigned posts_by_turn[8];
static void posts(void) {
    MPIDIG_WIN(WIN, sync).pw.count += posts_by_turn[turns++];
}

static MPIR_Group group;
static void open_epoch(int size) {
    open_window(false, true);
    memset(&group, 0, sizeof group);
    MPIR_Object_set_ref(&group, 1);
    group.size = size;
    turns = 0;
    memset(posts_by_turn, 0, sizeof posts_by_turn);
    tap.between = posts;
}

/* A process has died, and windows are open. */
static void fail_progress(void) {
    MPIDI_FCI_peer_died(NULL, job.peers[1].number);
    upper.now += 1;
}

TEST(Start, access__begins_when_all_have_posted) {
    open_epoch(2);
    posts_by_turn[2] = 1;
    posts_by_turn[4] = 1;
    EXPECT_EQ(MPIDI_NM_mpi_win_start(&group, 0, WIN), MPI_SUCCESS);
    EXPECT_EQ(turns, 5);
    EXPECT_EQ(MPIDIG_WIN(WIN, sync).pw.count, 0);
    EXPECT_EQ(MPIDIG_WIN(WIN, sync).access_epoch_type, MPIDIG_EPOTYPE_START);
    EXPECT_TRUE(MPIDIG_WIN(WIN, sync).sc.group == &group);
    close_window();
}

TEST(Start, posts_for_the_next_epoch__are_not_lost) {
    open_epoch(2);
    posts_by_turn[1] = 3;
    EXPECT_EQ(MPIDI_NM_mpi_win_start(&group, 0, WIN), MPI_SUCCESS);
    EXPECT_EQ(turns, 2);
    EXPECT_EQ(MPIDIG_WIN(WIN, sync).pw.count, 1);
    close_window();

    open_epoch(2);
    MPIDIG_WIN(WIN, sync).pw.count = 2;
    EXPECT_EQ(MPIDI_NM_mpi_win_start(&group, 0, WIN), MPI_SUCCESS);
    EXPECT_EQ(turns, 0);
    EXPECT_EQ(MPIDIG_WIN(WIN, sync).pw.count, 0);
    close_window();
}

TEST(Start, without_check__waits_for_nobody_and_keeps_what_came) {
    open_epoch(2);
    MPIDIG_WIN(WIN, sync).pw.count = 1;
    EXPECT_EQ(MPIDI_NM_mpi_win_start(&group, MPI_MODE_NOCHECK | MPI_MODE_NOPUT, WIN), MPI_SUCCESS);
    EXPECT_EQ(turns, 0);
    EXPECT_EQ(MPIDIG_WIN(WIN, sync).pw.count, 1);
    close_window();
}

TEST(Start, within_another_epoch__is_an_error) {
    open_epoch(1);
    set_epoch(MPIDIG_EPOTYPE_LOCK);
    EXPECT_EQ(MPIDI_NM_mpi_win_start(&group, 0, WIN), MPI_ERR_RMA_SYNC);
    EXPECT_EQ(turns, 0);
    close_window();
}

TEST(Start, error_of_progress__ends_the_wait) {
    open_epoch(1);
    fail_progress();
    EXPECT_EQ(MPIDI_NM_mpi_win_start(&group, 0, WIN), MPIX_ERR_PROC_FAILED);
    EXPECT_EQ(turns, 1);
    EXPECT_EQ(MPIDIG_WIN(WIN, sync).access_epoch_type, MPIDIG_EPOTYPE_NONE);
    close_window();
}

/* --- win_test --- */

static void completes(void) {
    turns++;
    MPIDIG_WIN(WIN, sync).sc.count = 1;
}

static void open_exposure(void) {
    open_epoch(1);
    MPIR_Object_set_ref(&group, 2);
    tap.between = NULL;
    upper.in_progress = completes;
    MPIDIG_WIN(WIN, sync).pw.group = &group;
    MPIDIG_WIN(WIN, sync).exposure_epoch_type = MPIDIG_EPOTYPE_POST;
}

TEST(Test, completion__that_comes_while_it_looks_counts) {
    int flag = -1;
    open_exposure();
    EXPECT_EQ(MPIDI_NM_mpi_win_test(WIN, &flag), MPI_SUCCESS);
    EXPECT_EQ(flag, 1);
    EXPECT_EQ(turns, 1);
    close_window();
}

TEST(Test, completion__that_is_here_takes_no_turn) {
    int flag = -1;
    open_exposure();
    MPIDIG_WIN(WIN, sync).sc.count = 1;
    EXPECT_EQ(MPIDI_NM_mpi_win_test(WIN, &flag), MPI_SUCCESS);
    EXPECT_EQ(flag, 1);
    EXPECT_EQ(turns, 0);
    close_window();
}

TEST(Test, without_completion__is_none) {
    int flag = -1;
    open_exposure();
    upper.in_progress = posts;
    EXPECT_EQ(MPIDI_NM_mpi_win_test(WIN, &flag), MPI_SUCCESS);
    EXPECT_EQ(flag, 0);
    EXPECT_EQ(turns, 2);
    upper.progress_error = MPI_ERR_INTERN;
    EXPECT_EQ(MPIDI_NM_mpi_win_test(WIN, &flag), MPI_ERR_INTERN);
    EXPECT_EQ(turns, 3);
    close_window();
}

/* --- all at once --- */

TEST(LockAll, memory__is_open_between_the_calls_only) {
    open_window(false, true);
    EXPECT_EQ(MPIDI_NM_mpi_win_lock_all(MPI_MODE_NOCHECK, WIN), MPI_SUCCESS);
    EXPECT_TRUE(MPIDI_FCI_WIN(WIN).open == MPIDI_FCI_WIN(WIN).bases);
    EXPECT_EQ(MPIDI_NM_mpi_win_lock_all(MPI_MODE_NOCHECK, WIN), MPI_ERR_RMA_SYNC);
    EXPECT_TRUE(MPIDI_FCI_WIN(WIN).open == MPIDI_FCI_WIN(WIN).bases);
    EXPECT_EQ(MPIDI_NM_mpi_win_unlock_all(WIN), MPI_SUCCESS);
    EXPECT_TRUE(MPIDI_FCI_WIN(WIN).open == NULL);
    EXPECT_EQ(MPIDI_NM_mpi_win_unlock_all(WIN), MPI_ERR_RMA_SYNC);
    set_epoch(MPIDIG_EPOTYPE_LOCK);
    EXPECT_EQ(MPIDI_NM_mpi_win_lock_all(MPI_MODE_NOCHECK, WIN), MPI_ERR_RMA_SYNC);
    EXPECT_TRUE(MPIDI_FCI_WIN(WIN).open == NULL);
    close_window();
}

TEST(LockAll, unlock_that_fails__leaves_it_open) {
    open_window(false, true);
    EXPECT_EQ(MPIDI_NM_mpi_win_lock_all(MPI_MODE_NOCHECK, WIN), MPI_SUCCESS);
    fail_progress();
    EXPECT_EQ(MPIDI_NM_mpi_win_unlock_all(WIN), MPIX_ERR_PROC_FAILED);
    EXPECT_TRUE(MPIDI_FCI_WIN(WIN).open != NULL);
    MPIDI_FCI_global.broken = false;
    EXPECT_EQ(MPIDI_NM_mpi_win_unlock_all(WIN), MPI_SUCCESS);
    close_window();
}
