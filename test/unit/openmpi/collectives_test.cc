// SPDX-License-Identifier: BSD-3-Clause
// netmod/openmpi/collectives.c: which collectives go by a group, with which data, and which do not.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "test/unit/openmpi/members.h"

namespace fci::openmpi {
namespace {

/// The near end is rank 1 of three.
class Collective : public Members {
protected:
    Collective() : Members(3, 1) { have_groups(); }

    /// A collective that is for the group goes there with and without threads.
    static constexpr bool kWays[] = {false, true};
    void expect_below(const char* name, int calls) const {
        EXPECT_EQ(below_.calls, calls);
        EXPECT_STREQ(below_.name, name);
        EXPECT_EQ(below_.comm, comm_);
        EXPECT_TRUE(below_.with_its_module);
    }
};

TEST_F(Collective, communicator__of_two_groups_or_of_one_rank_is_left_to_others) {
    EXPECT_TRUE(near_is_taken(comm_, false));
    EXPECT_FALSE(near_is_taken(comm_, true));
    EXPECT_FALSE(near_is_taken(MPI_COMM_SELF, false));
}

TEST_F(Collective, barrier__ends_when_the_last_has_come) {
    for (const bool threads : kWays) {
        near_use_threads(threads);
        barrier(0);
        far(2).wait(300);
        bool came = false;
        far(2).then([&] { return came = true, FCI_ICL_DONE; });
        Part& last = barrier(2);
        ASSERT_EQ(MPI_Barrier(comm_), MPI_SUCCESS);
        EXPECT_TRUE(came);
        near_use_threads(false);
        ASSERT_TRUE(until_done(last));
        EXPECT_EQ(last.answer, FCI_ICL_DONE);
    }
    EXPECT_EQ(below_.calls, 0);
}

TEST_F(Collective, broadcast__brings_the_roots_data) {
    for (const std::size_t bytes :
         {std::size_t{1}, std::size_t{56}, std::size_t{57}, std::size_t{1024}, std::size_t{1025},
          limits_.longest, limits_.broadcast}) {
        for (const int root : {0, 1, 2}) {
            const std::string data = pattern(bytes, static_cast<unsigned>(root));
            std::string own = root == rank_ ? data : std::string(bytes, '?');
            std::vector<Part*> parts;
            for (const int rank : others()) {
                parts.push_back(
                    &broadcast(rank, root, rank == root ? data : std::string(bytes, '?')));
            }
            ASSERT_EQ(MPI_Bcast(own.data(), static_cast<int>(bytes), MPI_CHAR, root, comm_),
                      MPI_SUCCESS);
            EXPECT_TRUE(same(own, data)) << bytes << " bytes of " << root;
            for (const Part* part : parts) {
                ASSERT_TRUE(until_done(*part));
                EXPECT_TRUE(same(part->data, data));
            }
        }
    }
    EXPECT_EQ(below_.calls, 0);
}

TEST_F(Collective, broadcast_of_too_much__goes_below) {
    std::string data(limits_.broadcast + 1, '?');
    below_.answer = MPI_ERR_COUNT;
    EXPECT_EQ(class_of(MPI_Bcast(data.data(), static_cast<int>(data.size()), MPI_CHAR, 2, comm_)),
              MPI_ERR_COUNT);
    expect_below("bcast", 1);
    EXPECT_EQ(below_.to, data.data());
    EXPECT_EQ(below_.to_count, static_cast<int>(data.size()));
    EXPECT_EQ(below_.to_type, MPI_CHAR);
    EXPECT_EQ(below_.root, 2);
}

TEST_F(Collective, of_nothing__asks_nobody) {
    int number = 7;
    EXPECT_EQ(MPI_Bcast(&number, 0, MPI_INT, 0, comm_), MPI_SUCCESS);
    EXPECT_EQ(MPI_Allreduce(MPI_IN_PLACE, &number, 0, MPI_INT, MPI_SUM, comm_), MPI_SUCCESS);
    EXPECT_EQ(MPI_Reduce(&number, nullptr, 0, MPI_INT, MPI_SUM, 0, comm_), MPI_SUCCESS);
    EXPECT_EQ(MPI_Gather(&number, 0, MPI_INT, nullptr, 0, MPI_INT, 0, comm_), MPI_SUCCESS);
    EXPECT_EQ(MPI_Allgather(&number, 0, MPI_INT, nullptr, 0, MPI_INT, comm_), MPI_SUCCESS);
    EXPECT_EQ(number, 7);
    EXPECT_EQ(below_.calls, 0);
}

/// Few bytes are packed on the stack, more than 1024 in memory of their own.
TEST_F(Collective, broadcast_in_pieces__is_packed_and_unpacked) {
    for (const int length : {1, 24, 25, 26}) {
        MPI_Datatype type;
        MPI_Type_vector(41, length, 2 * length, MPI_CHAR, &type);
        MPI_Type_commit(&type);
        const auto piece = static_cast<std::size_t>(length), bytes = 41 * piece;
        ASSERT_LE(bytes, limits_.broadcast);
        for (const int root : {0, 1}) {
            const std::string sent = pattern(2 * bytes);
            std::string together;
            for (std::size_t i = 0; i < 41; ++i) together += sent.substr(2 * i * piece, piece);
            std::string own = root == rank_ ? sent : std::string(2 * bytes, '?');
            const Part& first = broadcast(0, root, root == 0 ? together : std::string(bytes, '?'));
            broadcast(2, root, std::string(bytes, '?'));
            ASSERT_EQ(MPI_Bcast(own.data(), 1, type, root, comm_), MPI_SUCCESS);
            ASSERT_TRUE(until_done(first));
            EXPECT_TRUE(same(first.data, together));
            for (std::size_t i = 0; i < 41; ++i) {
                EXPECT_EQ(own.substr(2 * i * piece, piece), sent.substr(2 * i * piece, piece));
                EXPECT_EQ(own.substr((2 * i + 1) * piece, piece),
                          root == rank_ ? sent.substr((2 * i + 1) * piece, piece)
                                        : std::string(piece, '?'));
            }
        }
        MPI_Type_free(&type);
    }
    EXPECT_EQ(below_.calls, 0);
}

/// A root that brings more or less than there is room for: nothing is written beyond the buffer.
TEST_F(Collective, broadcast_of_another_length__is_an_error_that_says_both) {
    for (const std::size_t bytes : {3, 5, 40}) {
        std::string own = "----!";
        surroundings().said.clear();
        broadcast(0, 0, pattern(bytes));
        broadcast(2, 0, std::string(bytes, '?'));
        EXPECT_EQ(class_of(MPI_Bcast(own.data(), 4, MPI_CHAR, 0, comm_)), MPI_ERR_TRUNCATE);
        EXPECT_EQ(own[4], '!');
        EXPECT_NE(said().find("MPI_Bcast of communicator " + std::to_string(context_id_) +
                              ": rank 0 has " + std::to_string(bytes) + " bytes, rank 1 has 4"),
                  std::string::npos)
            << said();
        EXPECT_EQ(surroundings().slept_us, 200'000u) << "so that the launcher brings it";
        surroundings().slept_us = 0;
        all_took_part();
    }
}

// --- reductions ---

TEST_F(Collective, reduction__is_where_its_root_wants_it) {
    for (const int root : {-1, 0, 1, 2}) {
        for (const bool in_place : {false, true}) {
            const Part& first = sum(0, root, {1, 2, 3});
            const Part& last = sum(2, root, {100, 200, 300});
            std::vector<int> own{10, 20, 30}, result{-1, -1, -1};
            const bool is_root = root < 0 || root == rank_;
            if (in_place && is_root) result = own;
            const void* from = in_place && is_root ? MPI_IN_PLACE : own.data();
            if (root < 0) {
                ASSERT_EQ(MPI_Allreduce(from, result.data(), 3, MPI_INT, MPI_SUM, comm_),
                          MPI_SUCCESS);
            } else {
                ASSERT_EQ(MPI_Reduce(from, result.data(), 3, MPI_INT, MPI_SUM, root, comm_),
                          MPI_SUCCESS);
            }
            const std::vector<int> wanted{111, 222, 333};
            EXPECT_EQ(result, is_root ? wanted : (std::vector{-1, -1, -1}));
            EXPECT_EQ(own, (std::vector{10, 20, 30}));
            ASSERT_TRUE(until_done(first));
            ASSERT_TRUE(until_done(last));
            if (root <= 0) {
                EXPECT_EQ(numbers_of(first.data), wanted);
            }
            if (root < 0 || root == 2) {
                EXPECT_EQ(numbers_of(last.data), wanted);
            }
        }
    }
    EXPECT_EQ(below_.calls, 0);
}

TEST_F(Collective, reduction_of_too_much__goes_below) {
    const int most = static_cast<int>(limits_.longest / sizeof(int));
    std::vector<int> own(static_cast<std::size_t>(most) + 1, 1), result(own.size(), -1);
    std::vector<int> others_own(static_cast<std::size_t>(most), 2);
    sum(0, -1, others_own);
    sum(2, -1, others_own);
    ASSERT_EQ(MPI_Allreduce(own.data(), result.data(), most, MPI_INT, MPI_SUM, comm_), MPI_SUCCESS);
    EXPECT_EQ(result.front(), 5);
    EXPECT_EQ(result[static_cast<std::size_t>(most) - 1], 5);
    EXPECT_EQ(result.back(), -1);
    EXPECT_EQ(below_.calls, 0);
    ASSERT_EQ(MPI_Allreduce(own.data(), result.data(), most + 1, MPI_INT, MPI_MAX, comm_),
              MPI_SUCCESS);
    expect_below("allreduce", 1);
    EXPECT_EQ(below_.from, own.data());
    EXPECT_EQ(below_.to, result.data());
    EXPECT_EQ(below_.to_count, most + 1);
    EXPECT_EQ(below_.to_type, MPI_INT);
    EXPECT_EQ(below_.op, MPI_MAX);
    ASSERT_EQ(MPI_Reduce(own.data(), result.data(), most + 1, MPI_INT, MPI_MIN, 2, comm_),
              MPI_SUCCESS);
    expect_below("reduce", 2);
    EXPECT_EQ(below_.root, 2);
    EXPECT_EQ(below_.op, MPI_MIN);
}

void nothing(void*, void*, int*, MPI_Datatype*) {}

/// The items that are combined lie side by side, and their order is kept or does not matter.
TEST(TakesReduction, type_and_operation__decide) {
    MPI_Op commutes, keeps_order;
    MPI_Op_create(nothing, 1, &commutes);
    MPI_Op_create(nothing, 0, &keeps_order);
    for (const MPI_Op op : {MPI_MAX, MPI_MIN, MPI_SUM, MPI_PROD, MPI_LAND, MPI_BAND, MPI_LOR,
                            MPI_BOR, MPI_LXOR, MPI_BXOR, MPI_MAXLOC, MPI_MINLOC, commutes}) {
        EXPECT_TRUE(near_takes_reduction(8, false, op, 1, MPI_INT));
    }
    EXPECT_FALSE(near_takes_reduction(8, false, keeps_order, 1, MPI_INT));
    EXPECT_TRUE(near_takes_reduction(8, true, keeps_order, 1, MPI_INT));
    EXPECT_TRUE(near_takes_reduction(8, true, MPI_SUM, 2, MPI_INT));
    EXPECT_FALSE(near_takes_reduction(7, true, MPI_SUM, 2, MPI_INT));
    EXPECT_FALSE(near_takes_reduction(8, true, MPI_SUM, 3, MPI_INT));
    // A type with a gap inside counts with that.
    EXPECT_TRUE(near_takes_reduction(16, true, MPI_MAXLOC, 1, MPI_DOUBLE_INT));
    EXPECT_FALSE(near_takes_reduction(15, true, MPI_MAXLOC, 1, MPI_DOUBLE_INT));
    MPI_Datatype together, apart, later, shifted;
    MPI_Type_contiguous(2, MPI_INT, &together);
    MPI_Type_vector(2, 1, 2, MPI_INT, &apart);
    MPI_Type_create_resized(MPI_INT, -4, 8, &shifted);
    const int length = 1, at = 1;
    MPI_Type_indexed(1, &length, &at, MPI_INT, &later);
    for (MPI_Datatype* const type : {&together, &apart, &later, &shifted}) MPI_Type_commit(type);
    EXPECT_TRUE(near_takes_reduction(1000, true, commutes, 2, together));
    EXPECT_FALSE(near_takes_reduction(1000, true, commutes, 2, apart));
    EXPECT_FALSE(near_takes_reduction(1000, true, commutes, 2, later));
    EXPECT_FALSE(near_takes_reduction(1000, true, commutes, 2, shifted));
    for (MPI_Datatype* const type : {&together, &apart, &later, &shifted}) MPI_Type_free(type);
    MPI_Op_free(&commutes);
    MPI_Op_free(&keeps_order);
}

void append(void* in, void* inout, int* length, MPI_Datatype*) {
    for (int i = 0; i < *length; ++i) {
        static_cast<int*>(inout)[i] = static_cast<int*>(in)[i] * 10 + static_cast<int*>(inout)[i];
    }
}

/// The near end combines its own with what came from others, in the order of the ranks.
TEST_F(Collective, reduction_of_the_programs_own__is_called_with_lower_ranks_first) {
    MPI_Op op;
    MPI_Op_create(append, 0, &op);
    struct Append {
        static void apply(void*, const void* in, void* inout) {
            int length = 2;
            append(const_cast<void*>(in), inout, &length, nullptr);
        }
    };
    for (const int root : {-1, 1}) {
        for (const int rank : others()) {
            sum(rank, root, {rank + 1, rank + 4}).what.reduction = {Append::apply, nullptr};
        }
        const std::vector<int> own{2, 5};
        std::vector<int> result{-1, -1};
        if (root < 0) {
            ASSERT_EQ(MPI_Allreduce(own.data(), result.data(), 2, MPI_INT, op, comm_), MPI_SUCCESS);
        } else {
            ASSERT_EQ(MPI_Reduce(own.data(), result.data(), 2, MPI_INT, op, 1, comm_), MPI_SUCCESS);
        }
        // ((1 * 10 + 2) * 10 + 3) or (1 * 10 + (2 * 10 + 3)): both say the order.
        EXPECT_TRUE(result == (std::vector{123, 456}) || result == (std::vector{33, 96}))
            << result[0] << " " << result[1];
        all_took_part();
    }
    MPI_Op_free(&op);
}

}  // namespace
}  // namespace fci::openmpi
