/* SPDX-License-Identifier: BSD-3-Clause */
/* Errors, and what is said of a process that has gone. */
#include <unistd.h>

#include "test/unit/ch4/job.h"

TEST(Error, of_a_peer_of_the_world__names_its_rank_and_the_reason) {
    open_job(0, 3);
    EXPECT_EQ(MPIDI_FCI_error(FCI_ICL_EPEER, job.peers[2].number), MPIX_ERR_PROC_FAILED);
    EXPECT_TRUE(strncmp(upper.error, "**fci_nm_peer rank 2 of MPI_COMM_WORLD: ", 40) == 0);
    EXPECT_TRUE(strlen(upper.error) > 42);
    EXPECT_EQ(MPIDI_FCI_error(FCI_ICL_EPEER, 0), MPIX_ERR_PROC_FAILED);
    EXPECT_TRUE(strncmp(upper.error, "**fci_nm_peer rank 0 of MPI_COMM_WORLD: ", 40) == 0);
    EXPECT_EQ(MPIDI_FCI_error(FCI_ICL_EPEER, 4711), MPIX_ERR_PROC_FAILED);
    EXPECT_TRUE(strstr(upper.error, "rank") == NULL);
    EXPECT_TRUE(strncmp(upper.error, "**fci_nm_peer ", 14) == 0);
    EXPECT_TRUE(strstr(upper.error, fci_icl_strerror(FCI_ICL_EPEER)) != NULL);
    close_job();
}

TEST(Error, of_unreachable_ones__is_of_the_process_too) {
    open_job(0, 2);
    EXPECT_EQ(MPIDI_FCI_error(FCI_ICL_EUNREACHABLE, job.peers[1].number), MPIX_ERR_PROC_FAILED);
    EXPECT_EQ(MPIDI_FCI_error(FCI_ICL_EMISMATCH, 4711), MPIX_ERR_PROC_FAILED);
    EXPECT_TEXT(notes(), "");
    close_job();
}

TEST(Error, reason__is_that_of_the_peer_where_there_is_one) {
    open_job(0, 2);
    end_peer(1);
    MPIR_Request* request = NULL;
    EXPECT_EQ(MPIDI_NM_mpi_issend("x", 1, MPI_BYTE, 1, 1, job.world, 0, av(job.world, 1), &request),
              MPI_SUCCESS);
    TURN_UNTIL(is_done(request));
    const char* const reason = fci_icl_peer_reason(MPIDI_FCI_global.context, job.peers[1].number);
    EXPECT_TRUE(strlen(reason) > 0);
    EXPECT_TRUE(strstr(upper.error, reason) != NULL);
    let_go(request);
    close_job();
}

TEST(Error, of_versions_within_the_world__ends_the_job) {
    open_job(0, 2);
    (void)MPIDI_FCI_error(FCI_ICL_EMISMATCH, job.peers[1].number);
    EXPECT_TEXT(notes(), "abort(1, fci: ranks of one job cannot speak to each other)");
    (void)MPIDI_FCI_error(FCI_ICL_EPEER, job.peers[1].number);
    (void)MPIDI_FCI_error(FCI_ICL_EUNREACHABLE, job.peers[1].number);
    EXPECT_TEXT(notes(), "");
    close_job();
}

TEST(Error, of_anything_else__is_no_processs) {
    open_job(0, 2);
    EXPECT_EQ(MPIDI_FCI_error(FCI_ICL_ENOMEM, job.peers[1].number), MPI_ERR_OTHER);
    char text[200];
    snprintf(text, sizeof text, "**fci_nm_failed %s", fci_icl_strerror(FCI_ICL_ENOMEM));
    EXPECT_TEXT(upper.error, text);
    EXPECT_TEXT(notes(), "");
    close_job();
}

/* --- what is said of it --- */

/* In a process of its own, which has said nothing yet. */
static void say(int code) {
    open_job(0, 3);
    (void)MPIDI_FCI_error(code, job.peers[2].number);
    (void)MPIDI_FCI_error(FCI_ICL_EPEER, job.peers[1].number);
    close_job();
}

static void expect_said(int code, const char* expected) {
    char self[200] = "", command[500], line[400] = "";
    EXPECT_TRUE(readlink("/proc/self/exe", self, sizeof self - 1) > 0);
    snprintf(command, sizeof command,
             "GTEST_OUTPUT= FCI_TEST_SAYS=%d '%s' --gtest_filter='Error.loss__*' 2>&1 >/dev/null",
             code, self);
    FILE* const said = popen(command, "r");
    int lines = 0;
    while (fgets(line, sizeof line, said) != NULL) {
        if (strstr(line, "MPI_COMM_WORLD") == NULL) continue; /* of other things */
        EXPECT_TRUE(strncmp(line, expected, strlen(expected)) == 0);
        EXPECT_TRUE(strlen(line) > strlen(expected) + 5);
        lines++;
    }
    EXPECT_EQ(lines, 1);
    pclose(said);
}

TEST(Error, loss__is_said_once_with_its_rank_and_reason) {
    const char* const code = getenv("FCI_TEST_SAYS");
    if (code != NULL) {
        say(atoi(code));
        return;
    }
    expect_said(FCI_ICL_EPEER, "fci: lost rank 2 of MPI_COMM_WORLD: ");
    expect_said(FCI_ICL_EUNREACHABLE, "fci: cannot speak to rank 2 of MPI_COMM_WORLD: ");
    expect_said(FCI_ICL_ENOMEM, "fci: lost rank 1 of MPI_COMM_WORLD: ");
}

/* --- one that died --- */

TEST(Death, first_one__is_the_one_that_is_told) {
    open_job(0, 3);
    EXPECT_TRUE(!MPIDI_FCI_global.broken);
    MPIDI_FCI_peer_died(NULL, job.peers[2].number);
    upper.now += 5;
    MPIDI_FCI_peer_died(NULL, job.peers[1].number);
    EXPECT_TRUE(MPIDI_FCI_global.broken);
    EXPECT_EQ(MPIDI_FCI_global.dead, job.peers[2].number);
    EXPECT_TRUE(MPIDI_FCI_is_grace_over());
    close_job();
}

TEST(Death, grace__is_a_tenth_of_a_second) {
    open_job(0, 2);
    MPIDI_FCI_peer_died(NULL, job.peers[1].number);
    upper.now += 0.099;
    EXPECT_TRUE(!MPIDI_FCI_is_grace_over());
    upper.now += 0.002;
    EXPECT_TRUE(MPIDI_FCI_is_grace_over());
    close_job();
}

/* A rank that waits for active messages waits in vain then. */
TEST(Death, progress__fails_once_the_grace_is_over_where_windows_are_open) {
    open_job(0, 3);
    EXPECT_EQ(MPIDI_NM_progress(0, 0), MPI_SUCCESS);
    MPIDI_FCI_global.windows = 1;
    EXPECT_EQ(MPIDI_NM_progress(0, 0), MPI_SUCCESS);
    MPIDI_FCI_peer_died(NULL, job.peers[2].number);
    EXPECT_EQ(MPIDI_NM_progress(0, 0), MPI_SUCCESS);
    upper.now += 1;
    EXPECT_EQ(MPIDI_NM_progress(0, 0), MPIX_ERR_PROC_FAILED);
    EXPECT_TRUE(strncmp(upper.error, "**fci_nm_peer rank 2 of MPI_COMM_WORLD: ", 40) == 0);
    MPIDI_FCI_global.windows = 0;
    EXPECT_EQ(MPIDI_NM_progress(0, 0), MPI_SUCCESS);
    MPIDI_FCI_global.partitioned = true;
    EXPECT_EQ(MPIDI_NM_progress(0, 0), MPIX_ERR_PROC_FAILED);
    close_job();
}

TEST(Progress, of_another_vci__turns_nothing) {
    open_job(0, 2);
    EXPECT_EQ(MPIDI_NM_progress(1, 0), MPI_SUCCESS);
    EXPECT_EQ(tap_count(TAP_PROGRESS), 0);
    EXPECT_EQ(MPIDI_NM_progress(0, 0), MPI_SUCCESS);
    EXPECT_EQ(tap_count(TAP_PROGRESS), 1);
    close_job();
}
