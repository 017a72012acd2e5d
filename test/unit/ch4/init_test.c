/* SPDX-License-Identifier: BSD-3-Clause */
/* The context: from nothing to one, and back. */
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "test/unit/ch4/job.h"

TEST(Init, context__is_asked_for_as_the_job_is) {
    open_job(1, 3);
    EXPECT_EQ(tap.config.version, FCI_ICL_VERSION);
    EXPECT_TEXT(tap.config.driver, "shm");
    EXPECT_TRUE(tap.config.protocol == NULL);
    EXPECT_TRUE(tap.config.job == UINT64_C(0x4d50494348464349));
    EXPECT_EQ(tap.config.job_ranks, 3);
    EXPECT_TEXT(tap.config.launch, "kvs_1");
    EXPECT_TRUE(strncmp(tap.config.user_agent, "MPICH 4.0", 9) == 0);
    EXPECT_EQ(tap.calls[TAP_SHARE], 0);
    EXPECT_EQ(MPIDI_global.n_vcis, 1);
    struct fci_icl_limits limits;
    fci_icl_limits(MPIDI_FCI_global.context, &limits);
    EXPECT_EQ(MPIDI_FCI_global.inject_bytes, limits.inject_bytes);
    close_job();
}

static int open_alone(void) {
    int tag_bits = 0;
    const int answer = MPIDI_FCI_init_local(&tag_bits);
    EXPECT_EQ(tag_bits, kTagBits);
    return answer;
}

TEST(Init, protocol__is_the_control_variables) {
    reset_upper(0, 1);
    MPIR_CVAR_CH4_FCI_PROTOCOL = "two-sided";
    EXPECT_EQ(open_alone(), MPI_SUCCESS);
    EXPECT_TEXT(tap.config.protocol, "two-sided");
    struct fci_icl_limits limits;
    fci_icl_limits(MPIDI_FCI_global.context, &limits);
    EXPECT_TEXT(limits.protocol, "two-sided");
    MPIR_CVAR_CH4_FCI_PROTOCOL = NULL;
    (void)MPIDI_FCI_mpi_finalize_hook();
}

TEST(Init, threads__are_told_of_only_where_there_are_many) {
    const int levels[] = {MPI_THREAD_SINGLE, MPI_THREAD_SERIALIZED, MPI_THREAD_MULTIPLE};
    for (int i = 0; i < 3; i++) {
        reset_upper(0, 1);
        (void)tap_count(TAP_SHARE);
        MPIR_ThreadInfo.thread_provided = levels[i];
        EXPECT_EQ(open_alone(), MPI_SUCCESS);
        EXPECT_EQ(tap_count(TAP_SHARE), i == 2);
        (void)MPIDI_FCI_mpi_finalize_hook();
    }
}

TEST(Init, active_messages__are_as_long_as_both_can) {
    reset_upper(0, 1);
    struct fci_icl_limits limits;
    MPIR_CVAR_CH4_AM_PACK_BUFFER_SIZE = 100;
    EXPECT_EQ(open_alone(), MPI_SUCCESS);
    EXPECT_EQ(MPIDI_NM_am_eager_limit(), 100);
    (void)MPIDI_FCI_mpi_finalize_hook();
    MPIR_CVAR_CH4_AM_PACK_BUFFER_SIZE = 1 << 24;
    EXPECT_EQ(open_alone(), MPI_SUCCESS);
    fci_icl_limits(MPIDI_FCI_global.context, &limits);
    EXPECT_EQ(MPIDI_NM_am_eager_limit(), limits.am_header_bytes);
    (void)MPIDI_FCI_mpi_finalize_hook();
    MPIR_CVAR_CH4_AM_PACK_BUFFER_SIZE = 16 * 1024;
}

TEST(Init, context_that_cannot_be_had__is_an_error_that_says_why) {
    reset_upper(0, 1);
    MPIR_CVAR_CH4_FCI_DRIVER = "no such driver";
    EXPECT_EQ(open_alone(), MPI_ERR_OTHER);
    EXPECT_TRUE(strncmp(upper.error, "**fci_nm_open ", 14) == 0);
    EXPECT_TRUE(strstr(upper.error, "no such driver") != NULL);
    MPIR_CVAR_CH4_FCI_DRIVER = "shm";
    tap_force(TAP_OPEN, FCI_ICL_ENOMEM);
    EXPECT_EQ(open_alone(), MPI_ERR_OTHER);
    EXPECT_TEXT(upper.error, "**fci_nm_open no reason is known");
    (void)notes();
    EXPECT_EQ(MPIDI_FCI_mpi_finalize_hook(), MPI_SUCCESS);
    EXPECT_TEXT(notes(), "");
}

/* The text is what the netmod prints while it opens. */
static void printed(char* text, size_t size, int rank, int summary) {
    int ends[2];
    EXPECT_EQ(pipe(ends), 0);
    fflush(stdout);
    const int saved = dup(1);
    dup2(ends[1], 1);
    reset_upper(rank, 2);
    MPIR_CVAR_DEBUG_SUMMARY = summary;
    EXPECT_EQ(open_alone(), MPI_SUCCESS);
    MPIR_CVAR_DEBUG_SUMMARY = 0;
    fflush(stdout);
    dup2(saved, 1);
    close(saved);
    close(ends[1]);
    const ssize_t bytes = read(ends[0], text, size - 1);
    text[bytes > 0 ? bytes : 0] = '\0';
    close(ends[0]);
}

TEST(Init, summary__is_printed_by_rank_0_when_it_is_asked_for) {
    char text[4096], expected[4096];
    printed(text, sizeof text, 0, 0);
    EXPECT_TEXT(text, "");
    (void)MPIDI_FCI_mpi_finalize_hook();
    printed(text, sizeof text, 1, 1);
    EXPECT_TEXT(text, "");
    (void)MPIDI_FCI_mpi_finalize_hook();
    printed(text, sizeof text, 0, 1);
    struct fci_icl_limits limits;
    fci_icl_limits(MPIDI_FCI_global.context, &limits);
    snprintf(expected, sizeof expected,
             "==== FCI netmod ====\n%s\n"
             "inline bytes: %zu, eager bytes: %zu, announced receives from: %zu bytes\n"
             "tag bits: 31, context bits: 20\n"
             "====================\n",
             fci_icl_summary(MPIDI_FCI_global.context), limits.inline_bytes, limits.eager_bytes,
             limits.offer_bytes);
    EXPECT_TEXT(text, expected);
    (void)MPIDI_FCI_mpi_finalize_hook();
}

TEST(Init, end__writes_out_what_others_wait_for_before_the_barrier) {
    open_job(0, 2);
    EXPECT_EQ(MPIDI_FCI_mpi_finalize_hook(), MPI_SUCCESS);
    EXPECT_EQ(tap.linger_ns, FCI_ICL_LINGER);
    EXPECT_TEXT(notes(), "PMI barrier");
    EXPECT_TRUE(MPIDI_FCI_global.context == NULL);
    EXPECT_EQ(MPIDI_FCI_mpi_finalize_hook(), MPI_SUCCESS);
    EXPECT_TEXT(notes(), "");
    close_job();
}

TEST(Init, end__tells_of_a_barrier_that_failed) {
    open_job(0, 2);
    upper.upper_error = MPI_ERR_OTHER;
    EXPECT_EQ(MPIDI_FCI_mpi_finalize_hook(), MPI_ERR_OTHER);
    close_job();
}

TEST(Init, second_one__begins_anew) {
    open_job(0, 2);
    MPIDI_FCI_global.windows = 1;
    MPIDI_FCI_peer_died(NULL, 1);
    close_job();
    open_job(0, 2);
    upper.now += 5;
    EXPECT_EQ(MPIDI_NM_progress(0, 0), MPI_SUCCESS);
    EXPECT_TRUE(MPIDI_FCI_send_now("x", 1, MPI_BYTE, 1, 1, job.world, 0));
    EXPECT_TRUE(peer_gets(1, word(0, kWorld, 1), "x", 1));
    close_job();
}

/* Another process; none that has a context may make one in a child, so it is the first. */
static pid_t begin_process(int card_to) {
    const pid_t child = fork();
    if (child != 0) return child;
    alarm(30);
    unsigned char card[FCI_ICL_CARD_BYTES];
    fci_icl_context* const context = open_core(2);
    fci_icl_card(context, card);
    if (write(card_to, card, sizeof card) < 0) _exit(1);
    for (;;) (void)fci_icl_progress(context);
}

TEST(Init, death_of_a_peer__is_heard_of) {
    int ends[2];
    unsigned char card[FCI_ICL_CARD_BYTES];
    fci_icl_peer peer = 0;
    EXPECT_EQ(pipe(ends), 0);
    const pid_t child = begin_process(ends[1]);
    EXPECT_EQ(read(ends[0], card, sizeof card), sizeof card);
    open_job(0, 2);
    EXPECT_EQ(fci_icl_add_peer(MPIDI_FCI_global.context, card, &peer), FCI_ICL_OK);
    while (fci_icl_send_short(MPIDI_FCI_global.context, peer, 1, "x", 1) != FCI_ICL_DONE)
        turn_all();
    MPIDI_FCI_global.windows = 1;
    (void)kill(child, SIGKILL);
    (void)waitpid(child, NULL, 0);
    const double before = upper.now;
    int answer = MPI_SUCCESS;
    TURN_UNTIL((upper.now += 1, answer = MPIDI_NM_progress(0, 0)) != MPI_SUCCESS);
    EXPECT_EQ(answer, MPIX_ERR_PROC_FAILED);
    EXPECT_TRUE(upper.now > before && strstr(upper.error, "rank") == NULL);
    close(ends[0]);
    close(ends[1]);
    close_job();
}

TEST(Init, memory__is_mpichs) {
    open_job(0, 2);
    void* const memory = MPIDI_FCI_mpi_alloc_mem(100, NULL);
    EXPECT_EQ(MPIDI_FCI_mpi_free_mem(memory), MPI_SUCCESS);
    EXPECT_TEXT(notes(), "alloc mem(100, (nil)); free mem(it)");
    close_job();
}
