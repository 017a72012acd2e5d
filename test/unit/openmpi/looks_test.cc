// SPDX-License-Identifier: BSD-3-Clause
// netmod/openmpi/looks.c: which of several requests is told of, and what looking says of a program.
#include <gtest/gtest.h>
#include <x86intrin.h>

#include <array>
#include <string>
#include <vector>

#include "test/unit/limit.h"
#include "test/unit/openmpi/ends.h"

namespace fci::openmpi {
namespace {

class Looks : public Ends {
protected:
    static constexpr int kRequests = 4;

    Looks() { meet(); }

    void receive_all() {
        for (int i = 0; i < kRequests; ++i) {
            ASSERT_EQ(MPI_Irecv(&buffers_[static_cast<std::size_t>(i)], 1, MPI_CHAR, 1, i, comm_,
                                &requests_[static_cast<std::size_t>(i)]),
                      MPI_SUCCESS);
        }
    }
    /// Their ends come in the order of `tags`, before anybody looks.
    void end(const std::vector<int>& tags) {
        for (const int tag : tags) {
            far(1).send(tag, std::string(1, static_cast<char>('a' + tag)));
            ASSERT_TRUE(
                until("a message", [&] { return buffers_[static_cast<std::size_t>(tag)] != '?'; }));
        }
    }
    int wait_any(MPI_Status* status = MPI_STATUS_IGNORE) {
        int index = -5;
        EXPECT_EQ(MPI_Waitany(kRequests, requests_.data(), &index, status), MPI_SUCCESS);
        return index;
    }
    /// -1: none has ended.
    int test_any(MPI_Status* status = MPI_STATUS_IGNORE) {
        int index = -5, flag = -5;
        EXPECT_EQ(MPI_Testany(kRequests, requests_.data(), &index, &flag, status), MPI_SUCCESS);
        if (flag == 0) {
            EXPECT_EQ(index, MPI_UNDEFINED);
            return -1;
        }
        EXPECT_EQ(flag, 1);
        return index;
    }

    std::array<char, kRequests> buffers_{'?', '?', '?', '?'};
    std::array<MPI_Request, kRequests> requests_{MPI_REQUEST_NULL, MPI_REQUEST_NULL,
                                                 MPI_REQUEST_NULL, MPI_REQUEST_NULL};
};

TEST_F(Looks, any_of_those_that_have_ended__is_the_first_that_did) {
    for (const std::vector<int>& order :
         {std::vector{0, 1, 2, 3}, std::vector{3, 2, 1, 0}, std::vector{2, 0, 3, 1}}) {
        for (const bool waits : {true, false}) {
            buffers_.fill('?');
            receive_all();
            EXPECT_EQ(test_any(), -1);
            end(order);
            for (const int expected : order) {
                MPI_Status status{};
                EXPECT_EQ(waits ? wait_any(&status) : test_any(&status), expected);
                EXPECT_EQ(status.MPI_SOURCE, 1);
                EXPECT_EQ(status.MPI_TAG, expected);
                EXPECT_EQ(count_of(status), 1);
                EXPECT_EQ(requests_[static_cast<std::size_t>(expected)], MPI_REQUEST_NULL);
            }
        }
    }
}

TEST_F(Looks, none_that_is_active__is_undefined_at_once) {
    MPI_Status status{};
    EXPECT_EQ(wait_any(&status), MPI_UNDEFINED);
    EXPECT_EQ(status.MPI_SOURCE, MPI_ANY_SOURCE);
    EXPECT_EQ(test_any(&status), MPI_UNDEFINED);
    ASSERT_EQ(MPI_Recv_init(buffers_.data(), 1, MPI_CHAR, 1, 0, comm_, &requests_[2]), MPI_SUCCESS);
    EXPECT_EQ(wait_any(&status), MPI_UNDEFINED) << "it was not started";
    EXPECT_EQ(test_any(&status), MPI_UNDEFINED);
    ASSERT_EQ(MPI_Start(&requests_[2]), MPI_SUCCESS);
    EXPECT_EQ(test_any(&status), -1);
    far(1).send(0, "x");
    EXPECT_EQ(wait_any(&status), 2);
    EXPECT_EQ(wait_any(&status), MPI_UNDEFINED);
    EXPECT_EQ(MPI_Request_free(&requests_[2]), MPI_SUCCESS);
}

TEST_F(Looks, one_that_was_complete_when_it_was_begun__is_before_all_others) {
    for (const bool waits : {true, false}) {
        buffers_.fill('?');
        receive_all();
        end({3, 2});
        ASSERT_EQ(MPI_Cancel(&requests_[1]), MPI_SUCCESS);
        MPI_Status status;
        ASSERT_EQ(MPI_Wait(&requests_[1], &status), MPI_SUCCESS);
        ASSERT_EQ(MPI_Isend("x", 1, MPI_CHAR, 1, 0, comm_, &requests_[1]), MPI_SUCCESS);
        EXPECT_EQ(waits ? wait_any() : test_any(), 1);
        EXPECT_EQ(waits ? wait_any() : test_any(), 3);
        EXPECT_EQ(waits ? wait_any() : test_any(), 2);
        end({0});
        EXPECT_EQ(waits ? wait_any() : test_any(), 0);
    }
}

/// A look has one turn, if it needs it.
TEST_F(Looks, any_that_is_to_come__comes_while_it_is_looked_for) {
    receive_all();
    far(1).wait(100);
    far(1).then([&] { return far(1).send(1, "x"), FCI_ICL_DONE; });
    EXPECT_EQ(wait_any(), 1);
    far(1).send(3, "x");
    int index = -1;
    for (Limit limit("a message"); index < 0 && limit.holds();) index = test_any();
    EXPECT_EQ(index, 3);
    for (const int tag : {0, 2}) far(1).send(tag, "x");
    int flag = false;
    std::array<MPI_Status, kRequests> statuses{};
    for (Limit limit("two messages"); !flag && limit.holds();) {
        ASSERT_EQ(MPI_Testall(kRequests, requests_.data(), &flag, statuses.data()), MPI_SUCCESS);
    }
    EXPECT_EQ(statuses[0].MPI_TAG, 0);
    EXPECT_EQ(statuses[2].MPI_TAG, 2);
}

TEST_F(Looks, some_that_have_ended__are_told_of) {
    receive_all();
    end({3, 1});
    int count = 0;
    std::array<int, kRequests> indices{};
    std::array<MPI_Status, kRequests> statuses{};
    ASSERT_EQ(MPI_Testsome(kRequests, requests_.data(), &count, indices.data(), statuses.data()),
              MPI_SUCCESS);
    ASSERT_EQ(count, 2);
    EXPECT_EQ(indices[0] + indices[1], 4);
    end({0, 2});
    ASSERT_EQ(MPI_Waitall(kRequests, requests_.data(), statuses.data()), MPI_SUCCESS);
}

TEST_F(Looks, error_of_any__is_told) {
    receive_all();
    far(1).close();
    MPI_Status status{};
    int index = -5;
    EXPECT_EQ(class_of(MPI_Waitany(kRequests, requests_.data(), &index, &status)), MPI_ERR_OTHER);
    EXPECT_GE(index, 0);
    int flag = false;
    for (MPI_Request& one : requests_) {
        if (one != MPI_REQUEST_NULL) MPI_Wait(&one, MPI_STATUS_IGNORE);
    }
    receive_all();
    EXPECT_EQ(class_of(MPI_Testany(kRequests, requests_.data(), &index, &flag, &status)),
              MPI_ERR_OTHER);
    for (MPI_Request& one : requests_) {
        if (one != MPI_REQUEST_NULL) MPI_Wait(&one, MPI_STATUS_IGNORE);
    }
}

/// A program whose steps between its looks are long computes, and its turns do not sleep; from the
/// first that waits on they may again.
TEST_F(Looks, long_steps_between_looks__keep_the_core) {
    receive_all();
    surroundings().idle.clear();
    unsigned looks = 0;
    const auto look = [&](int which, unsigned ticks = 2000) {
        ++looks;
        int flag = true, index = 0;
        if (which == 0) MPI_Test(&requests_[0], &flag, MPI_STATUS_IGNORE);
        if (which == 1) MPI_Testall(kRequests, requests_.data(), &flag, MPI_STATUSES_IGNORE);
        if (which == 2) {
            MPI_Testany(kRequests, requests_.data(), &index, &flag, MPI_STATUS_IGNORE);
        }
        if (which == 3) {
            std::array<int, kRequests> indices{};
            MPI_Testsome(kRequests, requests_.data(), &flag, indices.data(), MPI_STATUSES_IGNORE);
        }
        EXPECT_FALSE(flag);
        const std::uint64_t until = __rdtsc() + ticks;
        while (__rdtsc() < until) {
        }
    };
    for (int i = 0; i < 2000; ++i) look(i % 4, 0);  // short steps are forgotten
    turn();
    surroundings().idle.clear();
    for (int round = 0; round < 2; ++round) {
        for (const int which : {0, 1, 2, 3}) {
            looks = 0;
            while (surroundings().idle.empty() && looks < 1'000'000) look(which);
            if (round + which > 0) {
                EXPECT_GE(looks, 8u * 64) << "of 64 looks one is measured, and 8 judged together";
            }
            ASSERT_EQ(surroundings().idle, std::vector<int>{FCI_ICL_KEEPS_CORE});
            surroundings().idle.clear();
            far(1).send(9, "x");
            char buffer = '?';
            ASSERT_EQ(MPI_Recv(&buffer, 1, MPI_CHAR, 1, 9, comm_, MPI_STATUS_IGNORE), MPI_SUCCESS);
            turn();
            EXPECT_EQ(surroundings().idle, std::vector<int>{FCI_ICL_MAY_SLEEP});
            surroundings().idle.clear();
        }
    }
    for (int i = 0; i < 4000; ++i) look(i % 4);
    EXPECT_EQ(surroundings().idle, std::vector<int>{FCI_ICL_KEEPS_CORE}) << "said once";
    end({0, 1, 2, 3});
    ASSERT_EQ(MPI_Waitall(kRequests, requests_.data(), MPI_STATUSES_IGNORE), MPI_SUCCESS);
}

}  // namespace
}  // namespace fci::openmpi
