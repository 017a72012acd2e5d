/* SPDX-License-Identifier: BSD-3-Clause */
/* Collectives: what is handed to the group, and what comes back. */
#include "test/unit/ch4/forced.h"

TEST(Coll, barrier__has_no_data) {
    open_forced(0, 0, 0, 0);
    end_with(FCI_ICL_DONE, 0);
    EXPECT_EQ(call(BARRIER, 0), MPI_SUCCESS);
    EXPECT_EQ(tap.collective.kind, FCI_ICL_BARRIER);
    EXPECT_EQ(tap.collective.bytes, 0);
    close_forced();
}

static const char* packed_at_root;
static void look_at_data(void) {
    static char copy[4096];
    memcpy(copy, tap.collective.data, MPL_MIN(tap.collective.bytes, sizeof copy));
    packed_at_root = copy;
}

static void fill_data(void) {
    memset(tap.collective.data, 'r', tap.collective.bytes);
}

TEST(Bcast, derived_data__are_packed_at_the_root_and_unpacked_elsewhere) {
    char buffer[7] = "a.b.c.";
    open_forced(1, 400, 2000, 400);
    const MPI_Datatype type = new_type((struct shape){3, 1, 2, 0, 1});
    end_with(FCI_ICL_DONE, 3);
    tap.between = look_at_data;
    EXPECT_EQ(MPIDI_NM_mpi_bcast(buffer, 1, type, 1, job.world, &flag), MPI_SUCCESS);
    EXPECT_EQ(tap.collective.kind, FCI_ICL_BROADCAST);
    EXPECT_EQ(tap.collective.root, 1);
    EXPECT_EQ(tap.collective.bytes, 3);
    EXPECT_BYTES(packed_at_root, "abc", 3);
    EXPECT_TEXT(buffer, "a.b.c.");
    end_with(FCI_ICL_DONE, 3);
    tap.between = fill_data;
    EXPECT_EQ(MPIDI_NM_mpi_bcast(buffer, 1, type, 0, job.world, &flag), MPI_SUCCESS);
    EXPECT_TEXT(buffer, "r.r.r.");
    memcpy(buffer, "a.b.c.", 7);
    end_with(FCI_ICL_DONE, 2);
    EXPECT_EQ(MPIDI_NM_mpi_bcast(buffer, 1, type, 0, job.world, &flag), MPI_ERR_OTHER);
    EXPECT_TEXT(buffer, "a.b.c.");
    free_type(type);
    close_forced();
}

TEST(Bcast, derived_data_of_any_length__are_packed) {
    static char buffer[2 * 1025];
    open_forced(0, 400, 2000, 400);
    for (int bytes = 1023; bytes <= 1025; bytes++) {
        const MPI_Datatype type = new_type((struct shape){bytes, 1, 2, 0, 1});
        memset(buffer, '.', sizeof buffer);
        tap.between = fill_data;
        end_with(FCI_ICL_DONE, (size_t)bytes);
        upper.mallocs_good = bytes > 1024;
        EXPECT_EQ(MPIDI_NM_mpi_bcast(buffer, 1, type, 1, job.world, &flag), MPI_SUCCESS);
        EXPECT_EQ(upper.mallocs_good, 0);
        upper.mallocs_good = -1;
        for (int i = 0; i < bytes; i++) {
            if (buffer[2 * i] != 'r' || buffer[2 * i + 1] != '.') EXPECT_EQ(i, -1);
        }
        free_type(type);
    }
    const MPI_Datatype type = new_type((struct shape){1025, 1, 2, 0, 1});
    (void)tap_count(TAP_GROUP_CALL);
    upper.mallocs_good = 0;
    EXPECT_EQ(MPIDI_NM_mpi_bcast(buffer, 1, type, 1, job.world, &flag), MPI_ERR_OTHER);
    upper.mallocs_good = -1;
    EXPECT_EQ(tap_count(TAP_GROUP_CALL), 0);
    free_type(type);
    close_forced();
}

TEST(Bcast, root_that_cannot_pack__takes_part_all_the_same_and_tells) {
    char buffer[7] = "a.b.c.";
    open_forced(1, 400, 2000, 400);
    const MPI_Datatype type = new_type((struct shape){3, 1, 2, 0, 1});
    upper.upper_error = MPI_ERR_TYPE;
    end_with(FCI_ICL_DONE, 3);
    EXPECT_EQ(MPIDI_NM_mpi_bcast(buffer, 1, type, 1, job.world, &flag), MPI_ERR_TYPE);
    EXPECT_EQ(tap_count(TAP_GROUP_CALL), 1);
    free_type(type);
    close_forced();
}

TEST(Bcast, predefined_data__are_the_buffer_itself) {
    open_forced(1, 400, 400, 400);
    end_with(FCI_ICL_DONE, 8);
    EXPECT_EQ(call(BCAST, 2), MPI_SUCCESS);
    EXPECT_TRUE(tap.collective.data == numbers);
    EXPECT_EQ(tap.collective.bytes, 8);
    close_forced();
}

static void combine(void) {
    const int theirs[2] = {3, 4};
    tap.collective.reduction.apply(tap.collective.reduction.user, theirs, tap.collective.data);
}

TEST(Reduce, operation__is_mpichs_on_all_items) {
    open_forced(0, 400, 400, 400);
    numbers[0] = 1;
    results[0] = 5;
    results[1] = 6;
    results[2] = 7;
    tap.between = combine;
    end_with(FCI_ICL_DONE, 8);
    EXPECT_EQ(call(ALLREDUCE, 2), MPI_SUCCESS);
    EXPECT_EQ(tap.collective.kind, FCI_ICL_REDUCE);
    EXPECT_TRUE(tap.collective.root == FCI_ICL_GROUP_ALL);
    EXPECT_TRUE(tap.collective.own == numbers && tap.collective.data == results);
    EXPECT_EQ(tap.collective.bytes, 8);
    EXPECT_EQ(results[0], 35);
    EXPECT_EQ(results[1], 46);
    EXPECT_EQ(results[2], 7);
    end_with(FCI_ICL_DONE, 8);
    EXPECT_EQ(call(REDUCE, 2), MPI_SUCCESS);
    EXPECT_EQ(tap.collective.root, 1);
    end_with(FCI_ICL_DONE, 8);
    EXPECT_EQ(MPIDI_NM_mpi_allreduce(MPI_IN_PLACE, results, 2, MPI_INT, MPI_SUM, job.world, &flag),
              MPI_SUCCESS);
    EXPECT_TRUE(tap.collective.own == results);
    close_forced();
}

TEST(Reduce, error_of_the_operation__is_told_unless_the_group_has_one) {
    open_forced(0, 400, 400, 400);
    tap.between = combine;
    upper.upper_error = MPI_ERR_OP;
    end_with(FCI_ICL_DONE, 8);
    EXPECT_EQ(call(ALLREDUCE, 2), MPI_ERR_OP);
    upper.upper_error = MPI_ERR_OP;
    end_with(FCI_ICL_ETRUNC, 9);
    EXPECT_EQ(call(ALLREDUCE, 2), MPI_ERR_TRUNCATE);
    close_forced();
}

TEST(Gather, data__are_those_of_the_side_that_matters) {
    open_forced(1, 400, 400, 400);
    end_with(FCI_ICL_DONE, 12);
    EXPECT_EQ(MPIDI_NM_mpi_gather(numbers, 12, MPI_BYTE, results, 3, MPI_INT, 1, job.world, &flag),
              MPI_SUCCESS);
    EXPECT_EQ(tap.collective.kind, FCI_ICL_GATHER);
    EXPECT_EQ(tap.collective.root, 1);
    EXPECT_EQ(tap.collective.bytes, 12);
    EXPECT_TRUE(tap.collective.own == numbers && tap.collective.data == results);
    end_with(FCI_ICL_DONE, 8);
    EXPECT_EQ(
        MPIDI_NM_mpi_gather(numbers, 2, MPI_INT, NULL, 0, MPI_DATATYPE_NULL, 0, job.world, &flag),
        MPI_SUCCESS);
    EXPECT_EQ(tap.collective.bytes, 8);
    EXPECT_EQ(tap.collective.root, 0);
    end_with(FCI_ICL_DONE, 12);
    EXPECT_EQ(MPIDI_NM_mpi_allgather(numbers, 12, MPI_BYTE, results, 3, MPI_INT, job.world, &flag),
              MPI_SUCCESS);
    EXPECT_TRUE(tap.collective.root == FCI_ICL_GROUP_ALL);
    EXPECT_EQ(tap.collective.bytes, 12);
    close_forced();
}

TEST(Gather, in_place__brings_what_lies_at_ones_own_place) {
    open_forced(1, 400, 400, 400);
    end_with(FCI_ICL_DONE, 12);
    EXPECT_EQ(MPIDI_NM_mpi_allgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, results, 3, MPI_INT,
                                     job.world, &flag),
              MPI_SUCCESS);
    EXPECT_TRUE(tap.collective.own == results + 3);
    close_forced();
}

static char own_copy[64];
static void gather_all(void) {
    memcpy(own_copy, tap.collective.own, tap.collective.bytes);
    memset(tap.collective.data, 'g', 2 * tap.collective.bytes);
}

TEST(Gather, derived_data__are_packed_and_unpacked) {
    char from[7] = "a.b.c.", to[13] = "............";
    open_forced(1, 400, 400, 400);
    const MPI_Datatype type = new_type((struct shape){3, 1, 2, 0, 1});
    tap.between = gather_all;
    end_with(FCI_ICL_DONE, 3);
    EXPECT_EQ(MPIDI_NM_mpi_gather(from, 1, type, to, 1, type, 1, job.world, &flag), MPI_SUCCESS);
    EXPECT_BYTES(own_copy, "abc", 3);
    EXPECT_TEXT(to, "g.g.g.g.g.g.");
    EXPECT_TRUE(tap.collective.own != from && tap.collective.data != to);

    memcpy(to, "123456u.v.w.", 12);
    end_with(FCI_ICL_DONE, 3);
    EXPECT_EQ(
        MPIDI_NM_mpi_allgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, to, 1, type, job.world, &flag),
        MPI_SUCCESS);
    EXPECT_BYTES(own_copy, "uvw", 3);
    free_type(type);
    close_forced();
}

TEST(Gather, error__leaves_the_result_alone) {
    char from[7] = "a.b.c.", to[13] = "............";
    open_forced(1, 400, 400, 400);
    const MPI_Datatype type = new_type((struct shape){3, 1, 2, 0, 1});
    tap.between = gather_all;
    end_with(FCI_ICL_ETRUNC, 4);
    EXPECT_EQ(MPIDI_NM_mpi_gather(from, 1, type, to, 1, type, 1, job.world, &flag),
              MPI_ERR_TRUNCATE);
    upper.upper_error = MPI_ERR_TYPE;
    end_with(FCI_ICL_DONE, 3);
    EXPECT_EQ(MPIDI_NM_mpi_gather(from, 1, type, to, 1, type, 1, job.world, &flag), MPI_ERR_TYPE);
    EXPECT_TEXT(to, "............");
    EXPECT_EQ(tap_count(TAP_GROUP_CALL), 2);
    upper.mallocs_good = 0;
    EXPECT_EQ(MPIDI_NM_mpi_gather(from, 1, type, to, 1, type, 1, job.world, &flag), MPI_ERR_OTHER);
    EXPECT_EQ(tap_count(TAP_GROUP_CALL), 0);
    upper.mallocs_good = -1;
    free_type(type);
    close_forced();
}

TEST(Gather, member_that_takes_nothing__needs_no_memory_for_it) {
    char from[7] = "a.b.c.";
    open_forced(1, 400, 400, 400);
    const MPI_Datatype type = new_type((struct shape){3, 1, 2, 0, 1});
    upper.mallocs_good = 0;
    end_with(FCI_ICL_DONE, 3);
    EXPECT_EQ(MPIDI_NM_mpi_gather(from, 1, type, NULL, 1, type, 0, job.world, &flag), MPI_SUCCESS);
    upper.mallocs_good = -1;
    EXPECT_TRUE(tap.collective.data == NULL);
    free_type(type);
    close_forced();
}
