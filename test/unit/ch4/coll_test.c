/* SPDX-License-Identifier: BSD-3-Clause */
/* Collectives: which go by the group of their communicator, and what comes of them. */
#include "test/unit/ch4/forced.h"

static const char* const mpichs[] = {"barrier by dissemination", "MPICH's bcast(2 from 1)",
                                     "MPICH's allreduce(2)",     "MPICH's reduce(2 to 1)",
                                     "MPICH's gather(2 to 1)",   "MPICH's allgather(2)"};

static int* wanted(enum kind kind) {
    int* const all[] = {
        &MPIR_CVAR_BARRIER_FCI_INTRA_ALGORITHM,   &MPIR_CVAR_BCAST_FCI_INTRA_ALGORITHM,
        &MPIR_CVAR_ALLREDUCE_FCI_INTRA_ALGORITHM, &MPIR_CVAR_REDUCE_FCI_INTRA_ALGORITHM,
        &MPIR_CVAR_GATHER_FCI_INTRA_ALGORITHM,    &MPIR_CVAR_ALLGATHER_FCI_INTRA_ALGORITHM};
    return all[kind];
}

static int* named(enum kind kind) {
    int* const all[] = {&MPIR_CVAR_BARRIER_INTRA_ALGORITHM,   &MPIR_CVAR_BCAST_INTRA_ALGORITHM,
                        &MPIR_CVAR_ALLREDUCE_INTRA_ALGORITHM, &MPIR_CVAR_REDUCE_INTRA_ALGORITHM,
                        &MPIR_CVAR_GATHER_INTRA_ALGORITHM,    &MPIR_CVAR_ALLGATHER_INTRA_ALGORITHM};
    return all[kind];
}

/* Whether it went by the group; else by MPICH's algorithm, and by that alone. */
static bool by_group(enum kind kind, MPI_Aint count) {
    end_with(FCI_ICL_DONE, kind == BARRIER ? 0 : (size_t)count * sizeof(int));
    EXPECT_EQ(call(kind, count), MPI_SUCCESS);
    const bool is_group = tap_count(TAP_GROUP_CALL) == 1;
    tap.is_forced[TAP_GROUP_CALL] = false;
    const bool is_mpichs = strlen(notes()) > 0;
    EXPECT_TRUE(is_group != is_mpichs);
    return is_group;
}

/* --- which way --- */

TEST(Coll, data_up_to_the_limit__go_by_the_group) {
    open_forced(0, 40, 80, 120);
    const struct {
        enum kind kind;
        MPI_Aint most;
    } cases[] = {{BCAST, 20}, {ALLREDUCE, 10}, {REDUCE, 10}, {GATHER, 30}, {ALLGATHER, 30}};
    for (int i = 0; i < 5; i++) {
        EXPECT_TRUE(by_group(cases[i].kind, 1));
        EXPECT_TRUE(by_group(cases[i].kind, cases[i].most));
        EXPECT_TRUE(!by_group(cases[i].kind, cases[i].most + 1));
        EXPECT_TRUE(!by_group(cases[i].kind, 0));
    }
    EXPECT_TRUE(by_group(BARRIER, 0));
    close_forced();
}

TEST(Coll, algorithm__is_the_one_that_was_asked_for) {
    open_forced(0, 400, 400, 400);
    for (int kind = 0; kind < KINDS; kind++) {
        EXPECT_TRUE(by_group(kind, 2));
        *named(kind) = 1;
        EXPECT_TRUE(!by_group(kind, 2));
        *wanted(kind) = MPIR_CVAR_BARRIER_FCI_INTRA_ALGORITHM_fci;
        EXPECT_TRUE(by_group(kind, 2));
        *named(kind) = 0;
        EXPECT_TRUE(by_group(kind, 2));
        *wanted(kind) = MPIR_CVAR_BARRIER_FCI_INTRA_ALGORITHM_mpir;
        EXPECT_EQ(call(kind, 2), MPI_SUCCESS);
        EXPECT_TEXT(notes(), mpichs[kind]);
        EXPECT_EQ(tap_count(TAP_GROUP_CALL), 0);
        *wanted(kind) = MPIR_CVAR_BARRIER_FCI_INTRA_ALGORITHM_auto;
    }
    close_forced();
}

TEST(Coll, barrier_of_mpich__begins_no_hierarchy_anew) {
    open_forced(0, 0, 0, 0);
    *wanted(BARRIER) = MPIR_CVAR_BARRIER_FCI_INTRA_ALGORITHM_mpir;
    EXPECT_EQ(call(BARRIER, 0), MPI_SUCCESS);
    EXPECT_TEXT(notes(), "barrier by dissemination");
    *named(BARRIER) = 1;
    EXPECT_EQ(call(BARRIER, 0), MPI_SUCCESS);
    EXPECT_TEXT(notes(), "MPICH's barrier");
    *named(BARRIER) = 0;
    job.world->comm_kind = MPIR_COMM_KIND__INTERCOMM;
    EXPECT_EQ(call(BARRIER, 0), MPI_SUCCESS);
    EXPECT_TEXT(notes(), "MPICH's barrier");
    *wanted(BARRIER) = MPIR_CVAR_BARRIER_FCI_INTRA_ALGORITHM_auto;
    close_forced();
}

TEST(Coll, operation__must_commute_where_hosts_come_as_they_like) {
    open_forced(0, 400, 400, 400);
    for (int keeps = 0; keeps < 2; keeps++) {
        MPIDI_FCI_COMM(job.world).keeps_order = keeps;
        EXPECT_TRUE(by_group(ALLREDUCE, 2));
        end_with(FCI_ICL_DONE, 8);
        EXPECT_EQ(
            MPIDI_NM_mpi_allreduce(numbers, results, 2, MPI_INT, MPI_MINLOC, job.world, &flag),
            MPI_SUCCESS);
        EXPECT_EQ(tap_count(TAP_GROUP_CALL), keeps);
        tap.is_forced[TAP_GROUP_CALL] = false;
        EXPECT_TEXT(notes(), keeps ? "" : "MPICH's allreduce(2)");
    }
    const MPI_Datatype type = new_type((struct shape){1, 4, 4, 0, 1});
    (void)notes();
    EXPECT_EQ(MPIDI_NM_mpi_reduce(numbers, results, 2, type, MPI_SUM, 1, job.world, &flag),
              MPI_SUCCESS);
    EXPECT_TEXT(notes(), "MPICH's reduce(2 to 1)");
    free_type(type);
    close_forced();
}

/* --- how one ends --- */

TEST(Coll, length_of_others__is_an_error) {
    open_forced(0, 400, 400, 400);
    end_with(FCI_ICL_DONE, 9);
    EXPECT_EQ(call(BCAST, 2), MPI_ERR_TRUNCATE);
    EXPECT_TEXT(upper.error, "**truncate 9 8");
    end_with(FCI_ICL_DONE, 7);
    EXPECT_EQ(call(BCAST, 2), MPI_ERR_OTHER);
    EXPECT_TEXT(upper.error, "**collective_size_mismatch 7 8");
    end_with(FCI_ICL_ETRUNC, 9);
    EXPECT_EQ(call(ALLREDUCE, 2), MPI_ERR_TRUNCATE);
    end_with(FCI_ICL_ETRUNC, 8);
    EXPECT_EQ(call(ALLREDUCE, 2), MPI_ERR_OTHER);
    EXPECT_EQ(tap_count(TAP_GROUP_CALL), 4);
    EXPECT_TEXT(notes(), "");
    close_forced();
}

TEST(Coll, member_that_has_gone__is_named) {
    open_forced(0, 400, 400, 400);
    tap.lost = 1;
    end_with(FCI_ICL_EPEER, 0);
    EXPECT_EQ(call(BARRIER, 0), MPIX_ERR_PROC_FAILED);
    EXPECT_TRUE(strncmp(upper.error, "**fci_nm_peer rank 1 of MPI_COMM_WORLD: ", 40) == 0);
    tap.lost = FCI_ICL_NO_RANK;
    MPIDI_FCI_global.dead = 4711;
    end_with(FCI_ICL_EPEER, 0);
    EXPECT_EQ(call(BARRIER, 0), MPIX_ERR_PROC_FAILED);
    EXPECT_TRUE(strstr(upper.error, "rank") == NULL);
    end_with(FCI_ICL_ENOMEM, 0);
    EXPECT_EQ(call(BARRIER, 0), MPI_ERR_OTHER);
    EXPECT_TRUE(strncmp(upper.error, "**fci_nm_failed ", 16) == 0);
    EXPECT_TEXT(notes(), "");
    close_forced();
}

TEST(Coll, refused_broadcast__goes_by_mpich) {
    open_forced(0, 400, 400, 400);
    end_with(FCI_ICL_EUNSUPPORTED, 8);
    EXPECT_EQ(call(BCAST, 2), MPI_SUCCESS);
    EXPECT_TEXT(notes(), "MPICH's bcast(2 from 1)");
    const MPI_Datatype type = new_type((struct shape){2, 1, 2, 0, 1});
    end_with(FCI_ICL_EUNSUPPORTED, 2);
    EXPECT_EQ(MPIDI_NM_mpi_bcast(numbers, 1, type, 1, job.world, &flag), MPI_SUCCESS);
    EXPECT_TEXT(notes(), "MPICH's bcast(1 from 1)");
    free_type(type);
    close_forced();
}

static int step;
static int script[8];
static void next_answer(void) {
    if (!tap.is_forced[TAP_GROUP_CALL] && script[step] != FCI_ICL_ENOENT)
        end_with(script[step++], 8);
}

TEST(Coll, wait__makes_progress_where_it_is_told_to_and_says_its_first_error) {
    open_forced(0, 400, 400, 400);
    memcpy(script, (int[]){FCI_ICL_OK, FCI_ICL_OK, FCI_ICL_DONE, FCI_ICL_ENOENT}, 4 * sizeof(int));
    step = 0;
    next_answer();
    tap.between = next_answer;
    EXPECT_EQ(call(BCAST, 2), MPI_SUCCESS);
    EXPECT_EQ(tap_count(TAP_GROUP_CALL), 3);
    EXPECT_EQ(tap_count(TAP_PROGRESS), 0);

    memcpy(script,
           (int[]){FCI_ICL_EAGAIN, FCI_ICL_OK, FCI_ICL_EAGAIN, FCI_ICL_DONE, FCI_ICL_ENOENT},
           5 * sizeof(int));
    step = 0;
    next_answer();
    upper.progress_error = MPI_ERR_INTERN;
    EXPECT_EQ(call(BCAST, 2), MPI_ERR_INTERN);
    EXPECT_EQ(tap_count(TAP_GROUP_CALL), 4);
    EXPECT_EQ(tap_count(TAP_PROGRESS), 1);
    tap.between = NULL;
    close_forced();
}
