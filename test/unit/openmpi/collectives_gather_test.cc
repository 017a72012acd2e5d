// SPDX-License-Identifier: BSD-3-Clause
// netmod/openmpi/collectives.c: what is gathered, what goes below, and what fails.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "test/unit/openmpi/members.h"

namespace fci::openmpi {
namespace {

/// The near end is rank 1 of three.
class Gather : public Members {
protected:
    Gather() : Members(3, 1) { have_groups(); }

    static std::string own_of(int rank, std::size_t bytes) {
        return pattern(bytes, static_cast<unsigned>(rank));
    }
    static std::string all_of(std::size_t bytes) {
        return own_of(0, bytes) + own_of(1, bytes) + own_of(2, bytes);
    }
    /// Of which every second byte belongs to it.
    static MPI_Datatype each_other(std::size_t bytes) {
        MPI_Datatype type, items;
        MPI_Type_vector(static_cast<int>(bytes), 1, 2, MPI_CHAR, &items);
        MPI_Type_create_resized(items, 0, static_cast<MPI_Aint>(2 * bytes), &type);
        MPI_Type_commit(&type);
        MPI_Type_free(&items);
        return type;
    }
    static std::string apart(const std::string& data) {
        std::string all;
        for (const char one : data) all += {one, '?'};
        return all;
    }
};

TEST_F(Gather, what_all_bring__is_at_its_root_by_rank) {
    for (const std::size_t bytes :
         {std::size_t{1}, std::size_t{4}, std::size_t{100}, limits_.gather}) {
        const auto count = static_cast<int>(bytes);
        for (const int root : {-1, 0, 1, 2}) {
            for (const bool in_place : {false, true}) {
                const Part& first = gather(0, root, own_of(0, bytes));
                const Part& last = gather(2, root, own_of(2, bytes));
                const bool is_root = root < 0 || root == rank_;
                const std::string own = own_of(1, bytes);
                std::string all(3 * bytes, '?');
                if (in_place && is_root) all.replace(bytes, bytes, own);
                const void* from = in_place && is_root ? MPI_IN_PLACE : own.data();
                // Arguments of the root are not looked at elsewhere.
                ASSERT_EQ(
                    root < 0
                        ? MPI_Allgather(from, count, MPI_CHAR, all.data(), count, MPI_CHAR, comm_)
                        : MPI_Gather(from, count, MPI_CHAR, is_root ? all.data() : nullptr,
                                     is_root ? count : 0, MPI_CHAR, root, comm_),
                    MPI_SUCCESS);
                if (is_root) {
                    EXPECT_TRUE(same(all, all_of(bytes))) << bytes;
                }
                ASSERT_TRUE(until_done(first));
                ASSERT_TRUE(until_done(last));
                if (root <= 0) {
                    EXPECT_TRUE(same(first.data, all_of(bytes)));
                }
                if (root < 0 || root == 2) {
                    EXPECT_TRUE(same(last.data, all_of(bytes)));
                }
            }
        }
    }
    EXPECT_EQ(below_.calls, 0);
}

TEST_F(Gather, in_pieces__is_packed_and_unpacked_by_rank) {
    for (const std::size_t bytes : {5, 50}) {
        MPI_Datatype type = each_other(bytes);
        const std::string own = apart(own_of(1, bytes));
        for (const int root : {-1, 0, 1}) {
            for (const bool in_place : {false, true}) {
                if (in_place && root == 0) continue;
                const Part& first = gather(0, root, own_of(0, bytes));
                const Part& last = gather(2, root, own_of(2, bytes));
                std::string all(6 * bytes, '?');
                if (in_place) all.replace(2 * bytes, 2 * bytes, own);
                const void* from = in_place ? MPI_IN_PLACE : own.data();
                ASSERT_EQ(root < 0 ? MPI_Allgather(from, 1, type, all.data(), 1, type, comm_)
                                   : MPI_Gather(from, 1, type, all.data(), 1, type, root, comm_),
                          MPI_SUCCESS);
                if (root != 0) {
                    EXPECT_TRUE(same(all, apart(all_of(bytes))));
                }
                ASSERT_TRUE(until_done(first));
                ASSERT_TRUE(until_done(last));
                if (root <= 0) {
                    EXPECT_TRUE(same(first.data, all_of(bytes)));
                }
            }
        }
        MPI_Type_free(&type);
    }
    EXPECT_EQ(below_.calls, 0);
}

/// The arguments that only the root needs may be anything elsewhere.
TEST_F(Gather, what_only_the_root_receives__is_not_looked_at_elsewhere) {
    MPI_Datatype type = each_other(8);
    const Part& first = gather(0, 0, own_of(0, 4));
    gather(2, 0, own_of(2, 4));
    ASSERT_EQ(MPI_Gather(own_of(1, 4).data(), 4, MPI_CHAR, nullptr, 7, type, 0, comm_),
              MPI_SUCCESS);
    ASSERT_TRUE(until_done(first));
    EXPECT_TRUE(same(first.data, all_of(4)));
    EXPECT_EQ(below_.calls, 0);
    all_took_part();
    MPI_Type_free(&type);
}

/// The type of what a member brings may be another than the type of what is received of it.
TEST_F(Gather, of_one_type_into_another__has_as_many_bytes) {
    MPI_Datatype type = each_other(8);
    const std::string own = apart(own_of(1, 8));
    gather(0, 1, own_of(0, 8));
    gather(2, 1, own_of(2, 8));
    std::string all(24, '?');
    ASSERT_EQ(MPI_Gather(own.data(), 1, type, all.data(), 8, MPI_CHAR, 1, comm_), MPI_SUCCESS);
    EXPECT_TRUE(same(all, all_of(8)));
    all_took_part();
    gather(0, -1, own_of(0, 8));
    gather(2, -1, own_of(2, 8));
    std::string wide(48, '?');
    ASSERT_EQ(MPI_Allgather(own_of(1, 8).data(), 8, MPI_CHAR, wide.data(), 1, type, comm_),
              MPI_SUCCESS);
    EXPECT_TRUE(same(wide, apart(all_of(8))));
    all_took_part();
    MPI_Type_free(&type);
}

TEST_F(Gather, of_too_much__goes_below) {
    const auto count = static_cast<int>(limits_.gather) + 1;
    std::string own(static_cast<std::size_t>(count), 'a'), all(own.size() * 3, '?');
    ASSERT_EQ(MPI_Gather(own.data(), count, MPI_CHAR, all.data(), count, MPI_CHAR, 1, comm_),
              MPI_SUCCESS);
    EXPECT_EQ(below_.calls, 1);
    EXPECT_STREQ(below_.name, "gather");
    EXPECT_EQ(below_.from, own.data());
    EXPECT_EQ(below_.to, all.data());
    EXPECT_EQ(below_.from_count, count);
    EXPECT_EQ(below_.to_count, count);
    EXPECT_EQ(below_.from_type, MPI_CHAR);
    EXPECT_EQ(below_.to_type, MPI_CHAR);
    EXPECT_EQ(below_.root, 1);
    EXPECT_TRUE(below_.with_its_module);
    // Elsewhere it is what is sent that counts.
    ASSERT_EQ(MPI_Gather(own.data(), count, MPI_CHAR, nullptr, 0, MPI_CHAR, 2, comm_), MPI_SUCCESS);
    EXPECT_EQ(below_.calls, 2);
    ASSERT_EQ(MPI_Allgather(MPI_IN_PLACE, 0, MPI_CHAR, all.data(), count, MPI_CHAR, comm_),
              MPI_SUCCESS);
    EXPECT_EQ(below_.calls, 3);
    EXPECT_STREQ(below_.name, "allgather");
    EXPECT_EQ(below_.from, MPI_IN_PLACE);
    EXPECT_EQ(below_.to, all.data());
    EXPECT_EQ(below_.to_count, count);
}

// --- what fails, of all collectives ---

TEST_F(Gather, of_other_lengths__fails_at_all) {
    const Part& first = gather(0, -1, own_of(0, 8));
    const Part& last = gather(2, -1, own_of(2, 4));
    std::string all(12, '?');
    EXPECT_EQ(
        class_of(MPI_Allgather(own_of(1, 4).data(), 4, MPI_CHAR, all.data(), 4, MPI_CHAR, comm_)),
        MPI_ERR_TRUNCATE);
    EXPECT_NE(said().find("MPI_Allgather of communicator"), std::string::npos) << said();
    EXPECT_NE(said().find(": another rank has "), std::string::npos) << said();
    EXPECT_NE(said().find("rank 1 has 4. All ranks have to say the same"), std::string::npos)
        << said();
    ASSERT_TRUE(until_done(first));
    ASSERT_TRUE(until_done(last));
    EXPECT_EQ(last.answer, FCI_ICL_ETRUNC);
}

TEST_F(Gather, without_a_member_that_has_gone__fails_and_says_which) {
    near_lend_world(comm_);
    barrier(0);
    far(2).wait(100);
    far(2).then([&] { return far(2).close(), FCI_ICL_DONE; });
    EXPECT_EQ(class_of(MPI_Barrier(comm_)), MPI_ERR_OTHER);
    EXPECT_NE(said().find("fci: lost rank 2 of MPI_COMM_WORLD: "), std::string::npos) << said();
    int number = 1;
    EXPECT_EQ(class_of(MPI_Allreduce(MPI_IN_PLACE, &number, 1, MPI_INT, MPI_SUM, comm_)),
              MPI_ERR_OTHER);
    EXPECT_EQ(surroundings().said.size(), 1u) << said();
    EXPECT_EQ(below_.calls, 0);
    near_lend_world(MPI_COMM_NULL);
}

/// The core answers so at all members alike.
TEST_F(Gather, that_the_group_refuses__goes_below) {
    surroundings().calls = {FCI_ICL_OK, FCI_ICL_EAGAIN, FCI_ICL_EUNSUPPORTED};
    int number = 1;
    EXPECT_EQ(MPI_Bcast(&number, 1, MPI_INT, 0, comm_), MPI_SUCCESS);
    EXPECT_EQ(below_.calls, 1);
    EXPECT_STREQ(below_.name, "bcast");
    EXPECT_TRUE(surroundings().calls.empty());
    surroundings().calls = {FCI_ICL_ENOMEM};
    EXPECT_EQ(class_of(MPI_Bcast(&number, 1, MPI_INT, 0, comm_)), MPI_ERR_OTHER);
    EXPECT_EQ(below_.calls, 1);
}

/// Open MPI has a turn where the core asks for one, and only there.
TEST_F(Gather, that_waits__has_turns_where_the_group_asks_for_them) {
    unsigned turns = 0;
    surroundings().calls = {FCI_ICL_OK, FCI_ICL_EAGAIN, FCI_ICL_OK, FCI_ICL_EAGAIN, FCI_ICL_DONE};
    near_count_turns(&turns);
    EXPECT_EQ(MPI_Barrier(comm_), MPI_SUCCESS);
    near_count_turns(nullptr);
    EXPECT_EQ(turns, 2u);
}

}  // namespace
}  // namespace fci::openmpi
