// SPDX-License-Identifier: BSD-3-Clause
// netmod/openmpi/form.c and coll.c: how the members of a communicator come by their groups, and how
// they leave them.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "test/unit/openmpi/members.h"

namespace fci::openmpi {
namespace {

class Form : public Members {
protected:
    /// The next communicator, with the same context id.
    void leave_and_begin_again() {
        MPI_Comm_free(&comm_);
        for (const int rank : others()) {
            fci_icl_group_leave(far(rank).context(), called_[at(rank)]);
            fci_icl_group_leave(far(rank).context(), begun_[at(rank)]);
            called_[at(rank)] = begun_[at(rank)] = nullptr;
        }
        const near_card cards[] = {{}, far(1).card(), far(2).card()};
        comm_ = near_communicator(context_id_, 3, 0, cards);
        near_note_below(comm_, &below_);
    }
};

TEST_F(Form, first_collective__forms_the_groups) {
    have_groups();
    for (const int rank : others()) {
        struct fci_icl_group_limits begun {};
        fci_icl_group_limits(begun_[at(rank)], &begun);
        EXPECT_GE(begun.longest, 56u);
        EXPECT_LE(begun.broadcast, limits_.broadcast);
    }
}

/// Whichever it is.
TEST_F(Form, first_collective_of_any_kind__goes_by_the_group_already) {
    for (int kind = 0; kind < 5; ++kind) {
        std::vector<int> numbers{10, 11, 12};
        int number = 10, result = -1;
        form();
        for (const int rank : others()) {
            if (kind == 0) broadcast(rank, 1, bytes_of({rank}));
            if (kind == 1) sum(rank, -1, {rank});
            if (kind == 2) sum(rank, 0, {rank});
            if (kind == 3) gather(rank, 0, bytes_of({rank}));
            if (kind == 4) gather(rank, -1, bytes_of({rank}));
        }
        if (kind == 0) MPI_Bcast(&result, 1, MPI_INT, 1, comm_);
        if (kind == 1) MPI_Allreduce(&number, &result, 1, MPI_INT, MPI_SUM, comm_);
        if (kind == 2) MPI_Reduce(&number, &result, 1, MPI_INT, MPI_SUM, 0, comm_);
        if (kind == 3) MPI_Gather(&number, 1, MPI_INT, numbers.data(), 1, MPI_INT, 0, comm_);
        if (kind == 4) MPI_Allgather(&number, 1, MPI_INT, numbers.data(), 1, MPI_INT, comm_);
        if (kind < 3) {
            EXPECT_EQ(result, kind == 0 ? 1 : 13) << kind;
        }
        if (kind >= 3) {
            EXPECT_EQ(numbers, (std::vector{10, 1, 2})) << kind;
        }
        EXPECT_EQ(below_.calls, 0) << kind;
        all_took_part();
        leave_and_begin_again();
    }
}

/// Without a group all collectives go below, and nobody is asked for one again.
TEST_F(Form, member_without_a_card__has_no_group) {
    const near_card cards[] = {{}, far(1).card(), {}};
    MPI_Comm comm = near_communicator(context_id_ + 5000, 3, 0, cards);
    near_note_below(comm, &below_);
    int numbers[3] = {1, 2, 3};
    MPI_Request request;
    EXPECT_EQ(MPI_Barrier(comm), MPI_SUCCESS);
    const std::size_t said_once = surroundings().said.size();
    EXPECT_EQ(said_once, 1u) << said();
    EXPECT_EQ(MPI_Bcast(numbers, 1, MPI_INT, 0, comm), MPI_SUCCESS);
    EXPECT_EQ(MPI_Allreduce(MPI_IN_PLACE, numbers, 1, MPI_INT, MPI_SUM, comm), MPI_SUCCESS);
    EXPECT_EQ(MPI_Reduce(MPI_IN_PLACE, numbers, 1, MPI_INT, MPI_SUM, 0, comm), MPI_SUCCESS);
    EXPECT_EQ(MPI_Gather(MPI_IN_PLACE, 1, MPI_INT, numbers, 1, MPI_INT, 0, comm), MPI_SUCCESS);
    EXPECT_EQ(MPI_Allgather(MPI_IN_PLACE, 1, MPI_INT, numbers, 1, MPI_INT, comm), MPI_SUCCESS);
    EXPECT_EQ(MPI_Ibarrier(comm, &request), MPI_SUCCESS);
    EXPECT_EQ(MPI_Wait(&request, MPI_STATUS_IGNORE), MPI_SUCCESS);
    EXPECT_EQ(below_.calls, 7);
    EXPECT_EQ(surroundings().said.size(), said_once);
    MPI_Comm_free(&comm);
}

/// One of them refuses: then none has it.
TEST_F(Form, members_that_have_gone__have_no_group) {
    far(2).close();
    far(1).then([&] { return far(1).close(), FCI_ICL_DONE; });
    EXPECT_EQ(MPI_Barrier(comm_), MPI_SUCCESS);
    EXPECT_EQ(below_.calls, 1);
    EXPECT_EQ(MPI_Barrier(comm_), MPI_SUCCESS);
    EXPECT_EQ(below_.calls, 2);
}

/// A group is left with its communicator, and its key is free for the next one.
TEST_F(Form, communicators_one_after_the_other__have_groups_of_their_own) {
    have_groups();
    for (int round = 0; round < 3; ++round) {
        leave_and_begin_again();
        have_groups();
        for (const int rank : others()) sum(rank, -1, {rank});
        int number = 10;
        ASSERT_EQ(MPI_Allreduce(MPI_IN_PLACE, &number, 1, MPI_INT, MPI_SUM, comm_), MPI_SUCCESS);
        EXPECT_EQ(number, 13);
        all_took_part();
    }
}

}  // namespace
}  // namespace fci::openmpi
