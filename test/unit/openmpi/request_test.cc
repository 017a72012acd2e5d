// SPDX-License-Identifier: BSD-3-Clause
// netmod/openmpi/request.c: requests from their start to their end, and begun again.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "test/unit/openmpi/ends.h"

namespace fci::openmpi {
namespace {

class Request : public Ends {
protected:
    Request() { meet(); }

    static bool test(MPI_Request* request, MPI_Status* status = MPI_STATUS_IGNORE) {
        int flag = false;
        EXPECT_EQ(MPI_Test(request, &flag, status), MPI_SUCCESS);
        return flag;
    }
};

/// One that has ended at once stands for all of them, and belongs to no communicator that ends.
TEST_F(Request, kind__is_that_of_messages) {
    char buffer = '?';
    MPI_Request receive, sent;
    ASSERT_EQ(MPI_Irecv(&buffer, 1, MPI_CHAR, 1, 1, comm_, &receive), MPI_SUCCESS);
    ASSERT_EQ(MPI_Isend("x", 1, MPI_CHAR, 1, 1, comm_, &sent), MPI_SUCCESS);
    EXPECT_TRUE(near_is_message(receive, comm_));
    EXPECT_TRUE(near_is_message(sent, MPI_COMM_WORLD));
    EXPECT_EQ(MPI_Cancel(&receive), MPI_SUCCESS);
    EXPECT_EQ(MPI_Wait(&receive, MPI_STATUS_IGNORE), MPI_SUCCESS);
    EXPECT_TRUE(test(&sent));
}

// --- freed ---

/// The user frees both while they are active, and begins others before they end.
TEST_F(Request, freed_while_it_is_active__is_not_used_for_another) {
    constexpr int kOthers = 100, kBytes = 300'000;
    const std::string sent = pattern(kBytes, 1), coming = pattern(kBytes, 2);
    std::string buffer(kBytes, '?');
    MPI_Request request;
    ASSERT_EQ(MPI_Isend(sent.data(), kBytes, MPI_CHAR, 1, 1, comm_, &request), MPI_SUCCESS);
    ASSERT_EQ(MPI_Request_free(&request), MPI_SUCCESS);
    EXPECT_EQ(request, MPI_REQUEST_NULL);
    ASSERT_EQ(MPI_Irecv(buffer.data(), kBytes, MPI_CHAR, 1, 2, comm_, &request), MPI_SUCCESS);
    ASSERT_EQ(MPI_Request_free(&request), MPI_SUCCESS);
    struct Other {
        std::string out, in;
        MPI_Request send, receive;
    };
    std::vector<Other> others(kOthers);
    for (int i = 0; i < kOthers; ++i) {
        Other& it = others[static_cast<std::size_t>(i)];
        it.out = pattern(100, static_cast<unsigned>(i));
        it.in.assign(200, '?');
        ASSERT_EQ(MPI_Issend(it.out.data(), 100, MPI_CHAR, 1, 1000 + i, comm_, &it.send),
                  MPI_SUCCESS);
        ASSERT_EQ(MPI_Irecv(it.in.data(), 200, MPI_CHAR, 1, 2000 + i, comm_, &it.receive),
                  MPI_SUCCESS);
    }
    Far::Operation& first = far(1).receive(1, kBytes);
    Far::Operation& second = far(1).send(2, coming);
    ASSERT_TRUE(ended(first));
    ASSERT_TRUE(ended(second));
    EXPECT_TRUE(same(first.data, sent));
    for (const Other& it : others) {
        for (const MPI_Request one : {it.send, it.receive}) {
            int flag = true;
            MPI_Request_get_status(one, &flag, MPI_STATUS_IGNORE);
            EXPECT_FALSE(flag) << "what was freed has ended, nothing else";
        }
    }
    for (int i = kOthers - 1; i >= 0; --i) {
        Other& it = others[static_cast<std::size_t>(i)];
        const std::string data = pattern(static_cast<std::size_t>(i), 77);
        far(1).send(2000 + i, data);
        MPI_Status status;
        ASSERT_EQ(MPI_Wait(&it.receive, &status), MPI_SUCCESS);
        EXPECT_EQ(status.MPI_SOURCE, 1);
        EXPECT_EQ(status.MPI_TAG, 2000 + i);
        EXPECT_EQ(count_of(status), i);
        EXPECT_TRUE(same(it.in, data + std::string(static_cast<std::size_t>(200 - i), '?')));
        const Far::Operation& here = far(1).receive(1000 + i, 100);
        ASSERT_EQ(MPI_Wait(&it.send, MPI_STATUS_IGNORE), MPI_SUCCESS);
        ASSERT_TRUE(ended(here));
        EXPECT_TRUE(same(here.data, it.out));
    }
    EXPECT_TRUE(same(buffer, coming));
}

TEST_F(Request, freed_when_it_is_complete__ends_there) {
    char buffer = '?';
    MPI_Request request;
    ASSERT_EQ(MPI_Irecv(&buffer, 1, MPI_CHAR, 1, 1, comm_, &request), MPI_SUCCESS);
    far(1).send(1, "x");
    int flag = false;
    ASSERT_TRUE(until("the message", [&] {
        MPI_Request_get_status(request, &flag, MPI_STATUS_IGNORE);
        return flag;
    }));
    ASSERT_EQ(MPI_Request_free(&request), MPI_SUCCESS);
    EXPECT_EQ(buffer, 'x');
}

TEST_F(Request, persistent_one_freed_while_it_is_active__still_receives) {
    std::string buffer(100, '?');
    MPI_Request request;
    MPI_Datatype each_other;
    MPI_Type_vector(50, 1, 2, MPI_CHAR, &each_other);
    MPI_Type_commit(&each_other);
    ASSERT_EQ(MPI_Recv_init(buffer.data(), 1, each_other, 1, 1, comm_, &request), MPI_SUCCESS);
    MPI_Type_free(&each_other);
    ASSERT_EQ(MPI_Start(&request), MPI_SUCCESS);
    ASSERT_EQ(MPI_Request_free(&request), MPI_SUCCESS);
    const std::string data = pattern(50);
    far(1).send(1, data);
    ASSERT_TRUE(until("the message", [&] { return buffer[98] != '?'; }));
    for (std::size_t i = 0; i < 50; ++i) {
        ASSERT_EQ(buffer[2 * i], data[i]);
        ASSERT_EQ(buffer[2 * i + 1], '?');
    }
}

/// The communicator stays as long as one of its requests does.
TEST_F(Request, of_a_communicator_that_is_freed__ends_as_ever) {
    char buffer = '?';
    MPI_Request request;
    ASSERT_EQ(MPI_Irecv(&buffer, 1, MPI_CHAR, 1, 1, comm_, &request), MPI_SUCCESS);
    MPI_Comm_free(&comm_);
    turn(10);
    far(1).send(1, "x");
    MPI_Status status;
    ASSERT_EQ(MPI_Wait(&request, &status), MPI_SUCCESS);
    EXPECT_EQ(buffer, 'x');
    EXPECT_EQ(status.MPI_SOURCE, 1);
}

// --- begun again ---

TEST_F(Request, persistent_receive__has_a_new_status_each_time) {
    std::string buffer(300'000, '?');
    MPI_Request request;
    MPI_Status status;
    ASSERT_EQ(MPI_Recv_init(buffer.data(), 300'000, MPI_CHAR, MPI_ANY_SOURCE, MPI_ANY_TAG, comm_,
                            &request),
              MPI_SUCCESS);
    ASSERT_EQ(MPI_Wait(&request, &status), MPI_SUCCESS) << "inactive";
    EXPECT_EQ(status.MPI_SOURCE, MPI_ANY_SOURCE);
    EXPECT_EQ(count_of(status), 0);
    for (const int bytes : {3, 300'000, 0}) {
        ASSERT_EQ(MPI_Start(&request), MPI_SUCCESS);
        EXPECT_FALSE(test(&request));
        const std::string data = pattern(static_cast<std::size_t>(bytes));
        far(1).send(bytes, data);
        ASSERT_EQ(MPI_Wait(&request, &status), MPI_SUCCESS);
        EXPECT_NE(request, MPI_REQUEST_NULL);
        EXPECT_EQ(status.MPI_SOURCE, 1);
        EXPECT_EQ(status.MPI_TAG, bytes);
        EXPECT_EQ(count_of(status), bytes);
        EXPECT_EQ(buffer.substr(0, data.size()), data);
    }
    ASSERT_EQ(MPI_Start(&request), MPI_SUCCESS);
    ASSERT_EQ(MPI_Cancel(&request), MPI_SUCCESS);
    ASSERT_EQ(MPI_Wait(&request, &status), MPI_SUCCESS);
    int flag = false;
    MPI_Test_cancelled(&status, &flag);
    EXPECT_TRUE(flag);
    ASSERT_EQ(MPI_Start(&request), MPI_SUCCESS);
    far(1).send(1, "abc");
    ASSERT_EQ(MPI_Wait(&request, &status), MPI_SUCCESS);
    MPI_Test_cancelled(&status, &flag);
    EXPECT_FALSE(flag);
    ASSERT_EQ(MPI_Request_free(&request), MPI_SUCCESS);
    EXPECT_EQ(request, MPI_REQUEST_NULL);
}

TEST_F(Request, persistent_send__sends_what_is_there_each_time) {
    for (const int bytes : {3, 300'000}) {
        for (const bool waits : {false, true}) {
            std::string data;
            MPI_Request request;
            data.assign(static_cast<std::size_t>(bytes), '?');
            ASSERT_EQ((waits ? MPI_Ssend_init : MPI_Send_init)(data.data(), bytes, MPI_CHAR, 1, 5,
                                                               comm_, &request),
                      MPI_SUCCESS);
            for (unsigned round = 0; round < 3; ++round) {
                data.replace(0, data.size(), pattern(data.size(), round));  // in its place
                ASSERT_EQ(MPI_Start(&request), MPI_SUCCESS);
                const Far::Operation& here = far(1).receive(5, data.size());
                ASSERT_EQ(MPI_Wait(&request, MPI_STATUS_IGNORE), MPI_SUCCESS);
                ASSERT_TRUE(ended(here));
                EXPECT_TRUE(same(here.data, data));
            }
            ASSERT_EQ(MPI_Request_free(&request), MPI_SUCCESS);
        }
    }
}

TEST_F(Request, started_while_it_is_active__is_refused_and_goes_on) {
    char buffers[2] = {'?', '?'};
    MPI_Request requests[3];
    ASSERT_EQ(MPI_Recv_init(&buffers[0], 1, MPI_CHAR, 1, 1, comm_, &requests[0]), MPI_SUCCESS);
    ASSERT_EQ(MPI_Recv_init(nullptr, 0, MPI_CHAR, MPI_PROC_NULL, 2, comm_, &requests[1]),
              MPI_SUCCESS);
    ASSERT_EQ(MPI_Recv_init(&buffers[1], 1, MPI_CHAR, 1, 2, comm_, &requests[2]), MPI_SUCCESS);
    ASSERT_EQ(MPI_Start(&requests[0]), MPI_SUCCESS);
    EXPECT_NE(MPI_Start(&requests[0]), MPI_SUCCESS);
    EXPECT_NE(near_begin(3, requests), 0);
    far(1).send(2, "b");
    far(1).send(1, "a");
    ASSERT_EQ(MPI_Waitall(3, requests, MPI_STATUSES_IGNORE), MPI_SUCCESS);
    EXPECT_EQ(buffers[0], 'a');
    EXPECT_EQ(buffers[1], 'b') << "the others were started";
    ASSERT_EQ(MPI_Startall(3, requests), MPI_SUCCESS);
    far(1).send(2, "d");
    far(1).send(1, "c");
    ASSERT_EQ(MPI_Waitall(3, requests, MPI_STATUSES_IGNORE), MPI_SUCCESS);
    EXPECT_EQ(buffers[0], 'c');
    EXPECT_EQ(buffers[1], 'd');
    for (MPI_Request& one : requests) MPI_Request_free(&one);
}

/// Of several errors the first is told, and what failed may be started again.
TEST_F(Request, start_that_fails__leaves_it_inactive) {
    const near_card cards[] = {{}, {}, join(context_id_ + 30'000, 2).card()};
    Far& other = *far_.back();
    MPI_Comm comm = near_communicator(context_id_ + 30'000, 3, 0, cards);
    MPI_Request bad, good;
    char buffer = '?';
    ASSERT_EQ(MPI_Recv_init(&buffer, 1, MPI_CHAR, 1, 1, comm, &bad), MPI_SUCCESS);
    ASSERT_EQ(MPI_Recv_init(&buffer, 1, MPI_CHAR, 2, 1, comm, &good), MPI_SUCCESS);
    ASSERT_EQ(near_begin(1, &good), 0);
    const int is_active = near_begin(1, &good), is_unknown = near_begin(1, &bad);
    EXPECT_NE(is_active, 0);
    EXPECT_NE(is_unknown, 0);
    EXPECT_NE(is_active, is_unknown);
    MPI_Request both[] = {good, bad}, turned[] = {bad, good};
    EXPECT_EQ(near_begin(2, both), is_active);
    EXPECT_EQ(near_begin(2, turned), is_unknown);
    EXPECT_TRUE(test(&bad)) << "inactive";
    other.send(1, "x");
    ASSERT_EQ(MPI_Wait(&good, MPI_STATUS_IGNORE), MPI_SUCCESS);
    EXPECT_EQ(buffer, 'x');
    EXPECT_EQ(near_begin(2, turned), is_unknown);
    other.send(1, "y");
    ASSERT_EQ(MPI_Wait(&good, MPI_STATUS_IGNORE), MPI_SUCCESS);
    EXPECT_EQ(buffer, 'y') << "the one after it was started";
    MPI_Request_free(&bad);
    MPI_Request_free(&good);
    MPI_Comm_free(&comm);
}

// --- cancelled ---

TEST_F(Request, cancelled_when_it_has_ended__is_not_cancelled) {
    char buffer = '?';
    MPI_Request request;
    MPI_Status status;
    int flag = true;
    ASSERT_EQ(MPI_Irecv(&buffer, 1, MPI_CHAR, 1, 1, comm_, &request), MPI_SUCCESS);
    far(1).send(1, "x");
    ASSERT_TRUE(until("the message", [&] { return buffer == 'x'; }));
    ASSERT_EQ(MPI_Cancel(&request), MPI_SUCCESS);
    ASSERT_EQ(MPI_Cancel(&request), MPI_SUCCESS);
    ASSERT_EQ(MPI_Wait(&request, &status), MPI_SUCCESS);
    MPI_Test_cancelled(&status, &flag);
    EXPECT_FALSE(flag);
    EXPECT_EQ(count_of(status), 1);
}

// --- those of whom somebody is called ---

struct Calls {
    std::vector<int>* order;
    int number;
    std::function<void()> then;
};
void call(void* user) {
    const auto& it = *static_cast<Calls*>(user);
    it.order->push_back(it.number);
    if (it.then) it.then();
}

TEST_F(Request, completions_that_call__come_in_their_order_outside_of_the_core) {
    std::vector<int> order;
    char buffers[3];
    MPI_Request requests[3];
    std::vector<Calls> calls;
    bool sent = false;
    for (int i = 0; i < 3; ++i) calls.push_back({&order, i, {}});
    // The one that is called first waits for another message, which is progress inside of progress.
    calls[2].then = [&] {
        char buffer = '?';
        far(1).send(9, "z");
        EXPECT_EQ(MPI_Recv(&buffer, 1, MPI_CHAR, 1, 9, comm_, MPI_STATUS_IGNORE), MPI_SUCCESS);
        sent = buffer == 'z';
    };
    for (int i = 0; i < 3; ++i) {
        ASSERT_EQ(MPI_Irecv(&buffers[i], 1, MPI_CHAR, 1, i, comm_, &requests[i]), MPI_SUCCESS);
        near_on_completion(requests[i], call, &calls[static_cast<std::size_t>(i)]);
    }
    ASSERT_EQ(MPI_Request_free(&requests[1]), MPI_SUCCESS);
    for (const int tag : {2, 0, 1}) far(1).send(tag, "x");
    ASSERT_TRUE(until("three calls", [&] { return order.size() == 3; }));
    EXPECT_EQ(order, (std::vector{2, 0, 1}));
    EXPECT_TRUE(sent);
    ASSERT_EQ(MPI_Wait(&requests[0], MPI_STATUS_IGNORE), MPI_SUCCESS);
    ASSERT_EQ(MPI_Wait(&requests[2], MPI_STATUS_IGNORE), MPI_SUCCESS);
    turn(10);
    EXPECT_EQ(order.size(), 3u);
}

/// Nobody waits for another turn, in which this process may sleep.
TEST_F(Request, completion_that_calls__comes_in_the_turn_of_its_end) {
    for (int i = 0; i < 5; ++i) {
        std::vector<int> order;
        Calls it{&order, 1, {}};
        char buffer = '?';
        MPI_Request request;
        ASSERT_EQ(MPI_Irecv(&buffer, 1, MPI_CHAR, 1, 1, comm_, &request), MPI_SUCCESS);
        near_on_completion(request, call, &it);
        far(1).send(1, "x");
        ASSERT_TRUE(until("a message", [&] { return buffer == 'x'; }));
        EXPECT_EQ(order.size(), 1u);
        ASSERT_EQ(MPI_Wait(&request, MPI_STATUS_IGNORE), MPI_SUCCESS);
    }
}

/// The end of the last request ends the communicator, in the middle of a turn.
TEST_F(Request, freed_one_of_a_freed_communicator__ends_both) {
    char buffer = '?';
    MPI_Request request;
    ASSERT_EQ(MPI_Irecv(&buffer, 1, MPI_CHAR, 1, 1, comm_, &request), MPI_SUCCESS);
    ASSERT_EQ(MPI_Request_free(&request), MPI_SUCCESS);
    MPI_Comm_free(&comm_);
    far(1).send(1, "x");
    far(1).send(2, "left over");
    ASSERT_TRUE(until("a message", [&] { return buffer == 'x'; }));
    const near_card cards[] = {{}, far(1).card()};
    comm_ = near_communicator(context_id_, 2, 0, cards);
    int flag = true;
    ASSERT_EQ(MPI_Iprobe(1, 2, comm_, &flag, MPI_STATUS_IGNORE), MPI_SUCCESS);
    EXPECT_FALSE(flag);
}

TEST_F(Request, turn_of_progress__says_how_much_has_happened) {
    turn(20);
    EXPECT_EQ(near_turn(), 0);
    far(1).send(1, "x");
    int events = 0;
    for (int i = 0; i < 100 && events == 0; ++i) events = near_turn();
    EXPECT_GT(events, 0);
    char buffer = '?';
    EXPECT_EQ(MPI_Recv(&buffer, 1, MPI_CHAR, 1, 1, comm_, MPI_STATUS_IGNORE), MPI_SUCCESS);
    EXPECT_EQ(buffer, 'x');
}

}  // namespace
}  // namespace fci::openmpi
