// SPDX-License-Identifier: BSD-3-Clause
// netmod/openmpi/nonblocking.c: collectives that are begun, and end in progress.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "test/unit/openmpi/members.h"

namespace fci::openmpi {
namespace {

/// The near end is rank 1 of three.
class Begun : public Members {
protected:
    Begun() : Members(3, 1) {}

    static bool test(MPI_Request* request, int* answer = nullptr) {
        int flag = false;
        const int error = MPI_Test(request, &flag, MPI_STATUS_IGNORE);
        if (answer != nullptr) *answer = error;
        return flag;
    }
    static bool stays_active(MPI_Request* request) {
        for (int i = 0; i < 50; ++i) {
            if (test(request)) return false;
        }
        return true;
    }
};

TEST_F(Begun, before_a_group_is_there__goes_below) {
    MPI_Request request;
    int numbers[2] = {1, 2};
    EXPECT_EQ(MPI_Ibarrier(comm_, &request), MPI_SUCCESS);
    EXPECT_STREQ(below_.name, "ibarrier");
    EXPECT_EQ(MPI_Wait(&request, MPI_STATUS_IGNORE), MPI_SUCCESS);
    EXPECT_EQ(MPI_Ibcast(numbers, 1, MPI_INT, 2, comm_, &request), MPI_SUCCESS);
    EXPECT_STREQ(below_.name, "ibcast");
    EXPECT_EQ(below_.root, 2);
    EXPECT_EQ(below_.to, numbers);
    EXPECT_EQ(below_.to_type, MPI_INT);
    EXPECT_EQ(MPI_Wait(&request, MPI_STATUS_IGNORE), MPI_SUCCESS);
    EXPECT_EQ(MPI_Iallreduce(&numbers[0], &numbers[1], 1, MPI_INT, MPI_MAX, comm_, &request),
              MPI_SUCCESS);
    EXPECT_STREQ(below_.name, "iallreduce");
    EXPECT_EQ(below_.from, &numbers[0]);
    EXPECT_EQ(below_.to, &numbers[1]);
    EXPECT_EQ(below_.op, MPI_MAX);
    EXPECT_EQ(MPI_Wait(&request, MPI_STATUS_IGNORE), MPI_SUCCESS);
    EXPECT_EQ(MPI_Ireduce(&numbers[0], &numbers[1], 1, MPI_INT, MPI_MIN, 2, comm_, &request),
              MPI_SUCCESS);
    EXPECT_STREQ(below_.name, "ireduce");
    EXPECT_EQ(below_.root, 2);
    EXPECT_EQ(below_.op, MPI_MIN);
    EXPECT_EQ(MPI_Wait(&request, MPI_STATUS_IGNORE), MPI_SUCCESS);
    EXPECT_EQ(below_.calls, 4);
    EXPECT_TRUE(below_.with_its_module);
}

TEST_F(Begun, barrier__ends_when_the_last_has_come) {
    have_groups();
    for (int round = 0; round < 3; ++round) {
        MPI_Request request;
        ASSERT_EQ(MPI_Ibarrier(comm_, &request), MPI_SUCCESS);
        begin(barrier(0));
        EXPECT_TRUE(stays_active(&request));
        // Nobody takes it back, or lets go of it before its end.
        EXPECT_EQ(class_of(MPI_Cancel(&request)), MPI_ERR_REQUEST);
        MPI_Request same = request;
        EXPECT_EQ(class_of(MPI_Request_free(&same)), MPI_ERR_REQUEST);
        Part& last = begin(barrier(2));
        MPI_Status status{};
        ASSERT_EQ(MPI_Wait(&request, &status), MPI_SUCCESS);
        EXPECT_EQ(request, MPI_REQUEST_NULL);
        EXPECT_EQ(status.MPI_SOURCE, MPI_ANY_SOURCE);
        ASSERT_TRUE(until_done(last));
    }
    EXPECT_EQ(below_.calls, 0);
}

TEST_F(Begun, broadcast__brings_the_roots_data) {
    have_groups();
    for (const std::size_t bytes : {1, 4, 55, 56}) {
        for (const int root : {0, 1}) {
            const std::string data = pattern(bytes);
            std::string own = root == rank_ ? data : std::string(bytes, '?');
            MPI_Request request;
            Part& first = begin(broadcast(0, root, root == 0 ? data : std::string(bytes, '?')));
            Part& last = begin(broadcast(2, root, std::string(bytes, '?')));
            ASSERT_EQ(
                MPI_Ibcast(own.data(), static_cast<int>(bytes), MPI_CHAR, root, comm_, &request),
                MPI_SUCCESS);
            ASSERT_EQ(MPI_Wait(&request, MPI_STATUS_IGNORE), MPI_SUCCESS);
            EXPECT_TRUE(same(own, data));
            ASSERT_TRUE(until_done(first));
            ASSERT_TRUE(until_done(last));
            EXPECT_TRUE(same(last.data, data));
        }
    }
    EXPECT_EQ(below_.calls, 0);
    MPI_Request request;
    std::string own(57, '?');
    ASSERT_EQ(MPI_Ibcast(own.data(), 57, MPI_CHAR, 0, comm_, &request), MPI_SUCCESS);
    EXPECT_EQ(below_.calls, 1) << "more than fits into a line";
    EXPECT_EQ(below_.to_count, 57);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
}

TEST_F(Begun, broadcast_in_pieces__is_packed_and_unpacked) {
    have_groups();
    MPI_Datatype type;
    MPI_Type_vector(20, 1, 2, MPI_CHAR, &type);
    MPI_Type_commit(&type);
    for (const int root : {0, 1}) {
        const std::string sent = pattern(40);
        std::string together;
        for (std::size_t i = 0; i < 40; i += 2) together += sent[i];
        std::string own = root == rank_ ? sent : std::string(40, '?');
        MPI_Request request;
        Part& first = begin(broadcast(0, root, root == 0 ? together : std::string(20, '?')));
        begin(broadcast(2, root, std::string(20, '?')));
        ASSERT_EQ(MPI_Ibcast(own.data(), 1, type, root, comm_, &request), MPI_SUCCESS);
        if (root == rank_) own.assign(40, '!');  // not before it has ended, were it not packed
        ASSERT_EQ(MPI_Wait(&request, MPI_STATUS_IGNORE), MPI_SUCCESS);
        ASSERT_TRUE(until_done(first));
        EXPECT_TRUE(same(first.data, together));
        for (std::size_t i = 0; i < 40 && root != rank_; ++i) {
            EXPECT_EQ(own[i], i % 2 == 0 ? sent[i] : '?');
        }
        all_took_part();
    }
    MPI_Type_free(&type);
    EXPECT_EQ(below_.calls, 0);
}

TEST_F(Begun, broadcast_of_another_length__is_an_error) {
    have_groups();
    for (const std::size_t bytes : {3, 5}) {
        std::string own = "----!";
        MPI_Request request;
        begin(broadcast(0, 0, pattern(bytes)));
        begin(broadcast(2, 0, std::string(bytes, '?')));
        ASSERT_EQ(MPI_Ibcast(own.data(), 4, MPI_CHAR, 0, comm_, &request), MPI_SUCCESS);
        EXPECT_EQ(class_of(MPI_Wait(&request, MPI_STATUS_IGNORE)), MPI_ERR_TRUNCATE);
        EXPECT_EQ(own[4], '!');
        all_took_part();
    }
}

TEST_F(Begun, reduction__is_where_its_root_wants_it) {
    have_groups();
    for (const int root : {-1, 0, 1}) {
        for (const bool in_place : {false, true}) {
            Part& first = begin(sum(0, root, {1, 2}));
            Part& last = begin(sum(2, root, {100, 200}));
            std::vector<int> own{10, 20}, result{-1, -1};
            const bool is_root = root < 0 || root == rank_;
            if (in_place && is_root) result = own;
            const void* from = in_place && is_root ? MPI_IN_PLACE : own.data();
            MPI_Request request;
            ASSERT_EQ(
                root < 0
                    ? MPI_Iallreduce(from, result.data(), 2, MPI_INT, MPI_SUM, comm_, &request)
                    : MPI_Ireduce(from, result.data(), 2, MPI_INT, MPI_SUM, root, comm_, &request),
                MPI_SUCCESS);
            ASSERT_EQ(MPI_Wait(&request, MPI_STATUS_IGNORE), MPI_SUCCESS);
            const std::vector<int> wanted{111, 222};
            EXPECT_EQ(result, is_root ? wanted : (std::vector{-1, -1}));
            ASSERT_TRUE(until_done(first));
            ASSERT_TRUE(until_done(last));
            if (root <= 0) {
                EXPECT_EQ(numbers_of(first.data), wanted);
            }
            if (root < 0) {
                EXPECT_EQ(numbers_of(last.data), wanted);
            }
        }
    }
    EXPECT_EQ(below_.calls, 0);
    std::vector<int> own(15, 1), result(15, -1);
    MPI_Request request;
    ASSERT_EQ(MPI_Iallreduce(own.data(), result.data(), 15, MPI_INT, MPI_SUM, comm_, &request),
              MPI_SUCCESS);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    EXPECT_EQ(below_.calls, 1);
    ASSERT_EQ(MPI_Ireduce(own.data(), result.data(), 15, MPI_INT, MPI_SUM, 1, comm_, &request),
              MPI_SUCCESS);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    EXPECT_EQ(below_.calls, 2);
}

TEST_F(Begun, reduction_of_one_item__goes_by_the_group) {
    have_groups();
    for (const int root : {-1, 1}) {
        for (const int rank : others()) begin(sum(rank, root, {rank}));
        int number = 10, result = -1;
        MPI_Request request;
        ASSERT_EQ(root < 0 ? MPI_Iallreduce(&number, &result, 1, MPI_INT, MPI_SUM, comm_, &request)
                           : MPI_Ireduce(&number, &result, 1, MPI_INT, MPI_SUM, 1, comm_, &request),
                  MPI_SUCCESS);
        ASSERT_EQ(MPI_Wait(&request, MPI_STATUS_IGNORE), MPI_SUCCESS);
        EXPECT_EQ(result, 12);
        all_took_part();
    }
    EXPECT_EQ(below_.calls, 0);
}

/// Blocking ones have a group of their own, so their order beside those that are begun is free.
TEST_F(Begun, beside_blocking_ones__each_ends) {
    have_groups();
    MPI_Request request;
    ASSERT_EQ(MPI_Ibarrier(comm_, &request), MPI_SUCCESS);
    for (const int rank : others()) {
        barrier(rank);
        begin(barrier(rank));
    }
    ASSERT_EQ(MPI_Barrier(comm_), MPI_SUCCESS);
    ASSERT_EQ(MPI_Wait(&request, MPI_STATUS_IGNORE), MPI_SUCCESS);
    all_took_part();
    EXPECT_EQ(below_.calls, 0);
}

/// Members come to those at different times, so they may not depend on whether a group is there.
TEST_F(Begun, by_open_mpi_itself__goes_below_always) {
    have_groups();
    MPI_Request request;
    for (int i = 0; i < 2; ++i) {
        below_.calls = 0;
        ASSERT_EQ(near_begin_barrier(comm_, &request), MPI_SUCCESS);
        EXPECT_EQ(below_.calls, 1);
        ASSERT_EQ(MPI_Wait(&request, MPI_STATUS_IGNORE), MPI_SUCCESS);
        ASSERT_EQ(MPI_Ibarrier(comm_, &request), MPI_SUCCESS);
        EXPECT_EQ(below_.calls, 1) << "of the program";
        for (const int rank : others()) begin(barrier(rank));
        ASSERT_EQ(MPI_Wait(&request, MPI_STATUS_IGNORE), MPI_SUCCESS);
    }
}

TEST_F(Begun, of_a_communicator_that_is_freed__ends_as_ever) {
    have_groups();
    MPI_Request request;
    ASSERT_EQ(MPI_Ibarrier(comm_, &request), MPI_SUCCESS);
    MPI_Comm_free(&comm_);
    EXPECT_TRUE(stays_active(&request));
    for (const int rank : others()) begin(barrier(rank));
    ASSERT_EQ(MPI_Wait(&request, MPI_STATUS_IGNORE), MPI_SUCCESS);
}

TEST_F(Begun, without_a_member_that_has_gone__fails) {
    have_groups();
    MPI_Request request;
    ASSERT_EQ(MPI_Ibarrier(comm_, &request), MPI_SUCCESS);
    EXPECT_TRUE(stays_active(&request));
    far(2).close();
    EXPECT_EQ(class_of(MPI_Wait(&request, MPI_STATUS_IGNORE)), MPI_ERR_OTHER);
    EXPECT_EQ(surroundings().said.size(), 1u) << said();
}

TEST_F(Begun, that_ends_at_once__fails_or_is_complete) {
    have_groups();
    MPI_Request request = MPI_REQUEST_NULL;
    int flag = false;
    surroundings().starts = {FCI_ICL_DONE};
    ASSERT_EQ(MPI_Ibarrier(comm_, &request), MPI_SUCCESS);
    ASSERT_EQ(MPI_Test(&request, &flag, MPI_STATUS_IGNORE), MPI_SUCCESS);
    EXPECT_TRUE(flag);
    surroundings().starts = {FCI_ICL_ETRUNC};
    EXPECT_EQ(class_of(MPI_Ibarrier(comm_, &request)), MPI_ERR_TRUNCATE);
    surroundings().starts = {FCI_ICL_ENOMEM};
    EXPECT_EQ(class_of(MPI_Ibarrier(comm_, &request)), MPI_ERR_OTHER);
}

}  // namespace
}  // namespace fci::openmpi
