// SPDX-License-Identifier: BSD-3-Clause
// All of the component, for programs with several threads: each call of the core is under the lock,
// which is given back whatever comes of it.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "test/unit/openmpi/members.h"

namespace fci::openmpi {
namespace {

class Threads : public Members {
protected:
    void SetUp() override {
        near_use_threads(true);
        surroundings().has_threads = true;
    }
    void TearDown() override {
        given_back();
        EXPECT_GT(surroundings().locked_calls, 0u);
        MPI_Comm_free(&comm_);
        given_back();
        surroundings().has_threads = false;
        Members::TearDown();
    }
    static void given_back() { ASSERT_EQ(near_locked(), 0u); }
};

TEST_F(Threads, messages__are_sent_and_received_under_the_lock) {
    std::string buffer(100'000, '?');
    for (const int bytes : {0, 4, 1000, 100'000}) {
        const std::string data = pattern(static_cast<std::size_t>(bytes));
        MPI_Request request;
        for (int round = 0; round < 2; ++round) {
            Far::Operation& here = far(1).receive(1, data.size());
            ASSERT_EQ(MPI_Send(data.data(), bytes, MPI_CHAR, 1, 1, comm_), MPI_SUCCESS);
            given_back();
            ASSERT_TRUE(ended(here));
            Far::Operation& another = far(1).receive(2, data.size());
            ASSERT_EQ(MPI_Issend(data.data(), bytes, MPI_CHAR, 1, 2, comm_, &request), MPI_SUCCESS);
            given_back();
            ASSERT_EQ(MPI_Wait(&request, MPI_STATUS_IGNORE), MPI_SUCCESS);
            ASSERT_TRUE(ended(another));
            far(1).send(3, data);
            ASSERT_EQ(MPI_Irecv(buffer.data(), bytes, MPI_CHAR, 1, 3, comm_, &request),
                      MPI_SUCCESS);
            given_back();
            ASSERT_EQ(MPI_Wait(&request, MPI_STATUS_IGNORE), MPI_SUCCESS);
            far(1).send(4, data);
            ASSERT_EQ(MPI_Recv(buffer.data(), bytes, MPI_CHAR, 1, 4, comm_, MPI_STATUS_IGNORE),
                      MPI_SUCCESS);
            given_back();
            EXPECT_TRUE(same(buffer.substr(0, data.size()), data));
        }
    }
}

TEST_F(Threads, requests__are_freed_and_cancelled_under_the_lock) {
    char buffer[2] = {'?', '?'};
    MPI_Request requests[2];
    for (MPI_Request& one : requests) {
        ASSERT_EQ(MPI_Irecv(&buffer[&one - requests], 1, MPI_CHAR, 1, 1, comm_, &one), MPI_SUCCESS);
    }
    ASSERT_EQ(MPI_Request_free(&requests[0]), MPI_SUCCESS);
    given_back();
    ASSERT_EQ(MPI_Cancel(&requests[1]), MPI_SUCCESS);
    given_back();
    ASSERT_EQ(MPI_Wait(&requests[1], MPI_STATUS_IGNORE), MPI_SUCCESS);
    ASSERT_EQ(MPI_Recv_init(&buffer[1], 1, MPI_CHAR, 1, 1, comm_, &requests[1]), MPI_SUCCESS);
    ASSERT_EQ(MPI_Start(&requests[1]), MPI_SUCCESS);
    given_back();
    far(1).send(1, "x");
    far(1).send(1, "y");
    ASSERT_EQ(MPI_Wait(&requests[1], MPI_STATUS_IGNORE), MPI_SUCCESS);
    EXPECT_EQ(buffer[0], 'x');
    EXPECT_EQ(buffer[1], 'y');
    ASSERT_EQ(MPI_Request_free(&requests[1]), MPI_SUCCESS);
    given_back();
}

TEST_F(Threads, probes__are_under_the_lock) {
    int flag = false;
    MPI_Message message;
    char buffer = '?';
    MPI_Request request;
    ASSERT_EQ(MPI_Iprobe(1, 1, comm_, &flag, MPI_STATUS_IGNORE), MPI_SUCCESS);
    given_back();
    far(1).send(1, "x");
    ASSERT_EQ(MPI_Mprobe(1, 1, comm_, &message, MPI_STATUS_IGNORE), MPI_SUCCESS);
    given_back();
    ASSERT_EQ(MPI_Imrecv(&buffer, 1, MPI_CHAR, &message, &request), MPI_SUCCESS);
    given_back();
    ASSERT_EQ(MPI_Wait(&request, MPI_STATUS_IGNORE), MPI_SUCCESS);
    EXPECT_EQ(buffer, 'x');
    far(1).close();
    EXPECT_NE(MPI_Probe(1, 1, comm_, MPI_STATUS_IGNORE), MPI_SUCCESS);
    given_back();
}

TEST_F(Threads, buffered_sends__are_under_the_lock) {
    std::vector<char> room(10'000);
    MPI_Buffer_attach(room.data(), 10'000);
    for (const int bytes : {0, 10, 5000}) {
        ASSERT_EQ(MPI_Bsend(pattern(5000).data(), bytes, MPI_CHAR, 1, 1, comm_), MPI_SUCCESS);
        given_back();
        ASSERT_TRUE(ended(far(1).receive(1, 5000)));
    }
    far(1).close();
    for (int i = 0; i < 3; ++i) {
        ASSERT_EQ(MPI_Bsend(room.data(), 1, MPI_CHAR, 1, 1, comm_), MPI_SUCCESS);
        given_back();
        turn(100);
    }
    void* place = nullptr;
    int bytes = 0;
    MPI_Buffer_detach(&place, &bytes);
}

TEST_F(Threads, sends_without_room__give_the_lock_back_for_each_turn) {
    meet();
    MPI_Request request;
    surroundings().sends = {FCI_ICL_EAGAIN, FCI_ICL_EAGAIN, FCI_ICL_ENOMEM};
    ASSERT_EQ(MPI_Issend("abc", 3, MPI_CHAR, 1, 5, comm_, &request), MPI_SUCCESS);
    given_back();
    EXPECT_EQ(class_of(MPI_Wait(&request, MPI_STATUS_IGNORE)), MPI_ERR_NO_MEM);
    given_back();
}

TEST_F(Threads, collectives__are_under_the_lock) {
    have_groups();
    given_back();
    for (const int rank : others()) {
        sum(rank, -1, {1});
        begin(barrier(rank));
    }
    int number = 1;
    MPI_Request request;
    ASSERT_EQ(MPI_Allreduce(MPI_IN_PLACE, &number, 1, MPI_INT, MPI_SUM, comm_), MPI_SUCCESS);
    given_back();
    EXPECT_EQ(number, 3);
    ASSERT_EQ(MPI_Ibarrier(comm_, &request), MPI_SUCCESS);
    given_back();
    ASSERT_EQ(MPI_Wait(&request, MPI_STATUS_IGNORE), MPI_SUCCESS);
    all_took_part();
}

/// A function that is called after an end may wait for a lock under which another thread sends.
TEST_F(Threads, completions_that_call__come_without_the_lock) {
    struct Seen {
        unsigned locked = 77;
        static void call(void* user) { static_cast<Seen*>(user)->locked = near_locked(); }
    };
    for (const bool freed : {false, true}) {
        Seen seen;
        char buffer = '?';
        MPI_Request request;
        ASSERT_EQ(MPI_Irecv(&buffer, 1, MPI_CHAR, 1, 1, comm_, &request), MPI_SUCCESS);
        near_on_completion(request, Seen::call, &seen);
        if (freed) {
            ASSERT_EQ(MPI_Request_free(&request), MPI_SUCCESS);
        }
        far(1).send(1, "x");
        ASSERT_TRUE(until("a call", [&] { return seen.locked != 77; }));
        EXPECT_EQ(seen.locked, 0u);
        given_back();
        if (!freed) {
            ASSERT_EQ(MPI_Wait(&request, MPI_STATUS_IGNORE), MPI_SUCCESS);
        }
    }
}

}  // namespace
}  // namespace fci::openmpi
