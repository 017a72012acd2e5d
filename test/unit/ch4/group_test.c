/* SPDX-License-Identifier: BSD-3-Clause */
/* The group of a communicator: who is in one, and real collectives with the others. */
#include "test/unit/ch4/job.h"

static MPIR_Errflag_t flag;

/* The other ranks take a step each time that the netmod's core was called. */
static struct {
    fci_icl_group* group;
    fci_icl_peer members[RANKS_MOST];
    int formed, ended;
    struct fci_icl_collective it;
} others[RANKS_MOST];

static void know_each_other(void) {
    memset(others, 0, sizeof others);
    for (int rank = 0; rank < job.size; rank++) {
        others[rank].formed = others[rank].ended = FCI_ICL_EAGAIN;
        for (int other = 0; other < job.size && rank != job.rank; other++) {
            if (other != rank)
                (void)fci_icl_add_peer(job.peers[rank].context, upper.cards[other],
                                       &others[rank].members[other]);
        }
    }
}

static bool goes_on(int answer) {
    return answer == FCI_ICL_OK || answer == FCI_ICL_EAGAIN;
}

static void others_go_on(void) {
    for (int rank = 0; rank < job.size; rank++) {
        fci_icl_context* const context = job.peers[rank].context;
        if (context == NULL) continue;
        (void)fci_icl_progress(context);
        if (goes_on(others[rank].formed))
            others[rank].formed =
                fci_icl_group_form(context, others[rank].members, (uint32_t)job.size,
                                   (uint32_t)rank, kWorld, SIZE_MAX, &others[rank].group);
        else if (others[rank].formed == FCI_ICL_DONE && goes_on(others[rank].ended))
            others[rank].ended = fci_icl_group_call(context, others[rank].group, &others[rank].it);
    }
}

static void open_group(int rank, int size) {
    open_job(rank, size);
    know_each_other();
    tap.between = others_go_on;
}

/* All others call this next. */
static void all_call(struct fci_icl_collective it) {
    for (int rank = 0; rank < job.size; rank++) {
        others[rank].it = it;
        others[rank].ended = FCI_ICL_EAGAIN;
    }
}

static bool all_done(void) {
    for (int rank = 0; rank < job.size; rank++) {
        if (rank == job.rank) continue;
        TURN_UNTIL(!goes_on(others[rank].ended));
        if (others[rank].ended != FCI_ICL_DONE) return false;
    }
    return true;
}

TEST(Group, first_collective__forms_it_of_all_ranks) {
    open_group(1, 3);
    all_call((struct fci_icl_collective){.kind = FCI_ICL_BARRIER});
    EXPECT_EQ(MPIDI_NM_mpi_barrier(job.world, &flag), MPI_SUCCESS);
    EXPECT_TRUE(all_done());
    EXPECT_EQ(tap.key, kWorld);
    EXPECT_EQ(tap.self, 1);
    EXPECT_TRUE(tap.most == SIZE_MAX);
    EXPECT_EQ(tap.members[0], job.peers[0].number);
    EXPECT_EQ(tap.members[1], 0);
    EXPECT_EQ(tap.members[2], job.peers[2].number);
    EXPECT_TEXT(notes(), "");
    EXPECT_TRUE(tap_count(TAP_GROUP_FORM) >= 1);
    all_call((struct fci_icl_collective){.kind = FCI_ICL_BARRIER});
    EXPECT_EQ(MPIDI_NM_mpi_barrier(job.world, &flag), MPI_SUCCESS);
    EXPECT_TRUE(all_done());
    EXPECT_EQ(tap_count(TAP_GROUP_FORM), 0);
    struct fci_icl_group_limits limits;
    fci_icl_group_limits(MPIDI_FCI_COMM(job.world).group, &limits);
    EXPECT_EQ(MPIDI_FCI_COMM(job.world).longest, limits.longest);
    EXPECT_EQ(MPIDI_FCI_COMM(job.world).broadcast, limits.broadcast);
    EXPECT_EQ(MPIDI_FCI_COMM(job.world).gather, limits.gather);
    EXPECT_EQ(MPIDI_FCI_COMM(job.world).keeps_order, limits.keeps_order);
    EXPECT_EQ(MPIDI_FCI_mpi_comm_free_hook(job.world), MPI_SUCCESS);
    EXPECT_EQ(tap_count(TAP_GROUP_LEAVE), 1);
    EXPECT_EQ(MPIDI_FCI_mpi_comm_free_hook(job.world), MPI_SUCCESS);
    EXPECT_EQ(tap_count(TAP_GROUP_LEAVE), 0);
    close_job();
}

static void add(void* user, const void* in, void* inout) {
    *(int*)inout = 10 * *(const int*)in + *(int*)inout;
}

TEST(Group, data__come_to_all) {
    int theirs = 2, own = 1, sum = 0, their_sum = 0, all[2] = {0}, their_all[2] = {0};
    char text[8] = "", sent[8] = "hello..";
    open_group(0, 2);
    all_call((struct fci_icl_collective){
        .kind = FCI_ICL_BROADCAST, .root = 1, .data = sent, .bytes = 8});
    EXPECT_EQ(MPIDI_NM_mpi_bcast(text, 8, MPI_BYTE, 1, job.world, &flag), MPI_SUCCESS);
    EXPECT_TRUE(all_done());
    EXPECT_TEXT(text, "hello..");

    all_call((struct fci_icl_collective){.kind = FCI_ICL_REDUCE,
                                         .root = FCI_ICL_GROUP_ALL,
                                         .own = &theirs,
                                         .data = &their_sum,
                                         .bytes = 4,
                                         .reduction = {add, NULL}});
    EXPECT_EQ(MPIDI_NM_mpi_allreduce(&own, &sum, 1, MPI_INT, MPI_SUM, job.world, &flag),
              MPI_SUCCESS);
    EXPECT_TRUE(all_done());
    EXPECT_EQ(sum, 12);
    EXPECT_EQ(their_sum, 12);

    all_call((struct fci_icl_collective){.kind = FCI_ICL_GATHER,
                                         .root = FCI_ICL_GROUP_ALL,
                                         .own = &theirs,
                                         .data = their_all,
                                         .bytes = 4});
    EXPECT_EQ(MPIDI_NM_mpi_allgather(&own, 1, MPI_INT, all, 1, MPI_INT, job.world, &flag),
              MPI_SUCCESS);
    EXPECT_TRUE(all_done());
    EXPECT_TRUE(all[0] == 1 && all[1] == 2 && their_all[0] == 1 && their_all[1] == 2);
    EXPECT_TEXT(notes(), "");
    (void)MPIDI_FCI_mpi_comm_free_hook(job.world);
    close_job();
}

static int calls_of_barrier(void) {
    (void)notes();
    EXPECT_EQ(MPIDI_NM_mpi_barrier(job.world, &flag), MPI_SUCCESS);
    EXPECT_TEXT(notes(), job.world->comm_kind == MPIR_COMM_KIND__INTRACOMM
                             ? "barrier by dissemination"
                             : "MPICH's barrier");
    return (int)tap_count(TAP_GROUP_FORM);
}

TEST(Group, of_one_or_of_two_groups_or_of_late_comers__is_none) {
    open_job(0, 2);
    job.world->local_size = 1;
    EXPECT_EQ(calls_of_barrier(), 0);
    close_job();

    open_job(0, 2);
    job.world->comm_kind = MPIR_COMM_KIND__INTERCOMM;
    EXPECT_EQ(calls_of_barrier(), 0);
    close_job();

    open_job(0, 2);
    MPIDI_gpid_t processes[2] = {{0, 0}, {1, 0}};
    MPIDI_COMM(job.world, map).mode = MPIDI_RANK_MAP_MLUT;
    MPIDI_COMM(job.world, map).irreg.mlut.gpid = processes;
    EXPECT_EQ(calls_of_barrier(), 0);
    MPIDI_COMM(job.world, map).mode = MPIDI_RANK_MAP_DIRECT_INTRA;
    close_job();

    open_job(0, 2);
    upper.mallocs_good = 0;
    EXPECT_EQ(calls_of_barrier(), 0);
    upper.mallocs_good = -1;
    EXPECT_EQ(calls_of_barrier(), 0);
    close_job();
}

TEST(Group, one_that_cannot_be__is_asked_for_once) {
    open_job(0, 2);
    tap_force(TAP_GROUP_FORM, FCI_ICL_EUNREACHABLE);
    EXPECT_EQ(calls_of_barrier(), 1);
    EXPECT_EQ(tap_count(TAP_GROUP_CALL), 0);
    EXPECT_EQ(calls_of_barrier(), 0);
    EXPECT_TRUE(MPIDI_FCI_COMM(job.world).group == NULL);
    close_job();
}

static void form_fails_late(void) {
    if (tap.is_forced[TAP_GROUP_FORM]) return;
    if (tap.calls[TAP_GROUP_FORM] == 1) tap_force(TAP_GROUP_FORM, FCI_ICL_EAGAIN);
    if (tap.calls[TAP_GROUP_FORM] == 2) tap_force(TAP_GROUP_FORM, FCI_ICL_ENOMEM);
}

TEST(Group, forming__goes_on_while_it_is_told_to) {
    open_job(0, 2);
    tap.between = form_fails_late;
    tap_force(TAP_GROUP_FORM, FCI_ICL_OK);
    EXPECT_EQ(calls_of_barrier(), 3);
    EXPECT_EQ(tap_count(TAP_PROGRESS), 1);
    close_job();
}

TEST(Group, member_that_went_while_it_was_formed__is_an_error_of_its_collectives) {
    open_job(0, 2);
    tap_force(TAP_GROUP_FORM, FCI_ICL_EPEER);
    tap_force(TAP_GROUP_CALL, FCI_ICL_EPEER);
    tap.lost = 1;
    EXPECT_EQ(MPIDI_NM_mpi_barrier(job.world, &flag), MPIX_ERR_PROC_FAILED);
    close_job();
}

static int freed;
static void free_once(void) {
    if (freed++ == 0) (void)MPIDI_FCI_mpi_comm_free_hook(job.world);
}

TEST(Group, communicator_that_ends_within_a_collective__takes_no_turn) {
    open_job(0, 2);
    freed = 0;
    tap.between = free_once;
    tap_force(TAP_GROUP_FORM, FCI_ICL_EUNREACHABLE);
    EXPECT_EQ(calls_of_barrier(), 1);
    EXPECT_EQ(tap_count(TAP_PROGRESS), 0);
    tap.between = NULL;
    tap_force(TAP_PROGRESS, 0);
    (void)MPIDI_FCI_mpi_comm_free_hook(job.world);
    EXPECT_EQ(tap_count(TAP_PROGRESS), 1);
    close_job();

    static char none;
    open_job(0, 2);
    MPIR_Comm* const ended = new_comm(5, 6, 0, 2);
    MPIR_Comm* const world = job.world;
    (void)MPIDI_FCI_mpi_comm_commit_post_hook(ended);
    MPIDI_FCI_COMM(world).group = &none;
    freed = 0;
    job.world = ended;
    tap.between = free_once;
    tap_force(TAP_GROUP_CALL, FCI_ICL_DONE);
    EXPECT_EQ(MPIDI_NM_mpi_barrier(world, &flag), MPI_SUCCESS);
    EXPECT_EQ(freed, 1);
    EXPECT_EQ(tap_count(TAP_PROGRESS), 0);
    tap.between = NULL;
    tap_force(TAP_PROGRESS, 0);
    (void)MPIDI_FCI_mpi_comm_free_hook(ended);
    EXPECT_EQ(tap_count(TAP_PROGRESS), 1);
    job.world = world;
    MPIDI_FCI_COMM(world).group = NULL;
    free_comm(ended);
    close_job();
}
