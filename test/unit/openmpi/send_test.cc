// SPDX-License-Identifier: BSD-3-Clause
// netmod/openmpi/send.c: what arrives at the other end, and when a send is complete.
#include <gtest/gtest.h>

#include <numeric>
#include <string>
#include <vector>

#include "test/unit/openmpi/ends.h"

namespace fci::openmpi {
namespace {

class Send : public Ends {
protected:
    explicit Send(int size = 2, int rank = 0) : Ends(size, rank) {}

    /// Until it is complete, which does not depend on what the far end asks for.
    void wait(MPI_Request* request) {
        EXPECT_EQ(MPI_Wait(request, MPI_STATUS_IGNORE), MPI_SUCCESS);
    }
    static bool is_complete(MPI_Request* request) {
        int flag = false;
        EXPECT_EQ(MPI_Test(request, &flag, MPI_STATUS_IGNORE), MPI_SUCCESS);
        return flag;
    }
    /// In turns of which none brings it.
    static bool stays_active(MPI_Request* request) {
        for (int i = 0; i < 50; ++i) {
            if (is_complete(request)) return false;
        }
        return true;
    }
};

class SendOfSeveral : public Send {
protected:
    SendOfSeveral() : Send(3, 1) {}
};

TEST_F(SendOfSeveral, message__says_rank_context_and_tag) {
    for (const int to : {0, 2, 0, 2}) {  // the first to a rank goes another way than the second
        for (const int tag : {0, 7, 0x7fffffff}) {
            Far::Operation& here = far(to).receive(tag);
            ASSERT_EQ(MPI_Send("abc", 3, MPI_CHAR, to, tag, comm_), MPI_SUCCESS);
            ASSERT_TRUE(ended(here));
            EXPECT_EQ(here.status.match, word(context_id_, 1, tag));
            EXPECT_EQ(here.status.length, 3u);
            EXPECT_TRUE(same(here.data.substr(0, 3), "abc"));
        }
    }
}

TEST_F(Send, of_any_length__arrives_whole) {
    meet();
    const auto limits = near_limits();
    ASSERT_GT(limits.inject_bytes, 1u);
    for (const std::size_t bytes :
         {std::size_t{0}, std::size_t{1}, limits.inline_bytes, limits.inline_bytes + 1,
          limits.inject_bytes - 1, limits.inject_bytes, limits.inject_bytes + 1, limits.eager_bytes,
          limits.eager_bytes + 1, std::size_t{1} << 20}) {
        const std::string data = pattern(bytes);
        Far::Operation& blocking = far(1).receive(1, bytes + 1);
        Far::Operation& begun = far(1).receive(2, bytes + 1);
        ASSERT_EQ(MPI_Send(data.data(), static_cast<int>(bytes), MPI_CHAR, 1, 1, comm_),
                  MPI_SUCCESS);
        MPI_Request request;
        ASSERT_EQ(MPI_Isend(data.data(), static_cast<int>(bytes), MPI_CHAR, 1, 2, comm_, &request),
                  MPI_SUCCESS);
        wait(&request);
        for (const Far::Operation* here : {&blocking, &begun}) {
            ASSERT_TRUE(ended(*here));
            EXPECT_EQ(here->status.received, bytes);
            EXPECT_TRUE(same(here->data, data + "?"));
        }
    }
}

TEST_F(Send, short_one_that_is_begun__is_complete_at_once) {
    meet();
    MPI_Request request;
    ASSERT_EQ(MPI_Isend("x", 1, MPI_CHAR, 1, 3, comm_, &request), MPI_SUCCESS);
    ASSERT_EQ(MPI_Cancel(&request), MPI_SUCCESS);  // too late
    MPI_Status status{};
    status._cancelled = 1;
    int flag = false;
    ASSERT_EQ(MPI_Request_get_status(request, &flag, &status), MPI_SUCCESS);
    EXPECT_TRUE(flag);
    ASSERT_EQ(MPI_Wait(&request, &status), MPI_SUCCESS);
    EXPECT_EQ(request, MPI_REQUEST_NULL);
    MPI_Test_cancelled(&status, &flag);
    EXPECT_FALSE(flag);
    ASSERT_EQ(MPI_Isend("y", 1, MPI_CHAR, 1, 3, comm_, &request), MPI_SUCCESS);
    ASSERT_EQ(MPI_Request_free(&request), MPI_SUCCESS);
    EXPECT_EQ(request, MPI_REQUEST_NULL);
    Far::Operation& first = far(1).receive(3, 1);
    Far::Operation& second = far(1).receive(3, 1);
    ASSERT_TRUE(ended(second));
    EXPECT_TRUE(same(first.data + second.data, "xy"));
}

/// There is room for hundreds, and the far end takes them in turns of the near one only.
TEST_F(Send, more_than_there_is_room_for__wait_and_stay_in_order) {
    meet();
    constexpr int kMessages = 3000;
    std::vector<Far::Operation*> here;
    for (int i = 0; i < kMessages; ++i) here.push_back(&far(1).receive(4, 100));
    turn();
    std::vector<char> data(100);
    for (int i = 0; i < kMessages; ++i) {
        std::memcpy(data.data(), &i, sizeof i);
        ASSERT_EQ(MPI_Send(data.data(), 100, MPI_CHAR, 1, 4, comm_), MPI_SUCCESS);
    }
    for (int i = 0; i < kMessages; ++i) {
        ASSERT_TRUE(ended(*here[static_cast<std::size_t>(i)]));
        int number = -1;
        std::memcpy(&number, here[static_cast<std::size_t>(i)]->data.data(), sizeof number);
        ASSERT_EQ(number, i);
    }
}

TEST_F(Send, short_one_without_room__is_tried_again_after_a_turn_each) {
    meet();
    unsigned turns = 0;
    near_count_turns(&turns);
    Far::Operation& here = far(1).receive(5);
    surroundings().short_sends = {FCI_ICL_EAGAIN, FCI_ICL_EAGAIN, FCI_ICL_EAGAIN};
    EXPECT_EQ(MPI_Send("abc", 3, MPI_CHAR, 1, 5, comm_), MPI_SUCCESS);
    near_count_turns(nullptr);
    EXPECT_EQ(turns, 3u);
    EXPECT_TRUE(surroundings().short_sends.empty());
    ASSERT_TRUE(ended(here));
    turn(10);
    EXPECT_FALSE(far(1).has(5)) << "sent once";
}

TEST_F(Send, without_room_for_an_order__is_tried_again_after_a_turn_each) {
    meet();
    unsigned turns = 0;
    near_count_turns(&turns);
    Far::Operation& here = far(1).receive(5);
    surroundings().sends = {FCI_ICL_EAGAIN, FCI_ICL_EAGAIN};
    MPI_Request request;
    EXPECT_EQ(MPI_Issend("abc", 3, MPI_CHAR, 1, 5, comm_, &request), MPI_SUCCESS);
    EXPECT_EQ(turns, 2u);
    near_count_turns(nullptr);
    wait(&request);
    ASSERT_TRUE(ended(here));
    EXPECT_EQ(here.status.length, 3u);
}

TEST_F(Send, refused_by_the_core__fails) {
    meet();
    MPI_Request request;
    surroundings().sends = {FCI_ICL_ENOMEM};
    ASSERT_EQ(MPI_Issend("abc", 3, MPI_CHAR, 1, 5, comm_, &request), MPI_SUCCESS);
    EXPECT_EQ(class_of(MPI_Wait(&request, MPI_STATUS_IGNORE)), MPI_ERR_NO_MEM);
    surroundings().sends = {FCI_ICL_EFAULT};
    EXPECT_EQ(class_of(MPI_Ssend("abc", 3, MPI_CHAR, 1, 5, comm_)), MPI_ERR_OTHER);
    EXPECT_NE(said().find("a message failed"), std::string::npos);
}

TEST_F(Send, ready__arrives) {
    meet();
    Far::Operation& here = far(1).receive(6);
    ASSERT_EQ(MPI_Rsend("now", 3, MPI_CHAR, 1, 6, comm_), MPI_SUCCESS);
    ASSERT_TRUE(ended(here));
    EXPECT_TRUE(same(here.data.substr(0, 3), "now"));
}

// --- synchronous ---

TEST_F(Send, synchronous_one__is_complete_when_it_is_received) {
    meet();
    for (const std::size_t bytes : {std::size_t{0}, std::size_t{3}, std::size_t{100'000}}) {
        const std::string data = pattern(bytes);
        MPI_Request request;
        ASSERT_EQ(MPI_Issend(data.data(), static_cast<int>(bytes), MPI_CHAR, 1, 8, comm_, &request),
                  MPI_SUCCESS);
        EXPECT_TRUE(stays_active(&request)) << bytes;
        Far::Operation& here = far(1).receive(8, bytes);
        wait(&request);
        ASSERT_TRUE(ended(here));
        EXPECT_TRUE(same(here.data, data));
    }
}

TEST_F(Send, synchronous_one_that_blocks__returns_when_it_is_received) {
    meet();
    Far::Operation* here = nullptr;
    far(1).wait(200);
    far(1).then([&] { return here = &far(1).receive(8), FCI_ICL_DONE; });
    ASSERT_EQ(MPI_Ssend("abc", 3, MPI_CHAR, 1, 8, comm_), MPI_SUCCESS);
    EXPECT_NE(here, nullptr);
}

// --- those that are held back ---

class HeldBack : public Send {
protected:
    HeldBack() { meet(); }

    /// How many are complete at once though the far end asks for none; the next one, if it is not.
    int flood(std::size_t bytes, MPI_Request* next) {
        std::string& data = kept_.emplace_back(pattern(bytes));
        for (int sent = 0;; ++sent) {
            std::memcpy(data.data(), &sent, sizeof sent);
            EXPECT_EQ(MPI_Isend(data.data(), static_cast<int>(bytes), MPI_CHAR, 1, 9, comm_, next),
                      MPI_SUCCESS);
            if (stays_active(next)) return sent;
        }
    }
    /// All of a flood, in order, and unlike each other.
    void drain(int messages, std::size_t bytes) {
        for (int i = 0; i < messages; ++i) {
            const Far::Operation& here = far(1).receive(9, bytes);
            ASSERT_TRUE(ended(here));
            int number = -1;
            std::memcpy(&number, here.data.data(), sizeof number);
            ASSERT_EQ(number, i);
            ASSERT_EQ(here.data.substr(sizeof number), pattern(bytes).substr(sizeof number));
        }
    }

    std::deque<std::string> kept_;  // data of those that wait
};

/// Each copy is counted with what it takes besides its data, and is given back with just as much.
TEST_F(HeldBack, copies__are_as_many_as_the_parameter_allows_each_time) {
    constexpr std::size_t kBytes = 4000;
    MPI_Request request;
    near_set_copies_mib(0);
    const int without = flood(kBytes, &request);
    drain(without + 1, kBytes);
    wait(&request);
    constexpr int kCopies = ((1 << 20) + 384 + 4000 - 1) / (384 + 4000);
    near_set_copies_mib(1);
    for (int round = 0; round < 3; ++round) {
        const int sent = flood(kBytes, &request);
        EXPECT_EQ(sent, without + kCopies) << round;
        drain(sent + 1, kBytes);
        wait(&request);
    }
    near_set_copies_mib(2);
    const int sent = flood(kBytes, &request);
    EXPECT_EQ(sent, without + (2 * (1 << 20) + 384 + 4000 - 1) / (384 + 4000));
    drain(sent + 1, kBytes);
    wait(&request);
}

TEST_F(HeldBack, copies_of_nothing__are_counted_too) {
    MPI_Request request;
    near_set_copies_mib(0);
    const int without = flood(4, &request);
    drain(without + 1, 4);
    wait(&request);
    near_set_copies_mib(1);
    for (int round = 0; round < 2; ++round) {
        const int sent = flood(4, &request);
        EXPECT_EQ(sent, without + ((1 << 20) + 388 - 1) / 388) << round;
        drain(sent + 1, 4);
        wait(&request);
    }
}

TEST_F(HeldBack, sends_that_block__go_on_as_copies) {
    constexpr std::size_t kBytes = 1000;
    const std::string data = pattern(kBytes);
    constexpr int kMessages = 300;  // more than the far end holds
    for (int i = 0; i < kMessages; ++i) {
        std::string own = data;
        std::memcpy(own.data(), &i, sizeof i);
        ASSERT_EQ(MPI_Send(own.data(), static_cast<int>(kBytes), MPI_CHAR, 1, 9, comm_),
                  MPI_SUCCESS);
    }
    drain(kMessages, kBytes);
}

TEST_F(HeldBack, copies_for_one_who_dies__are_given_back) {
    constexpr std::size_t kBytes = 4000;
    MPI_Request request;
    near_set_copies_mib(1);
    const int sent = flood(kBytes, &request);
    far(1).close();
    EXPECT_NE(MPI_Wait(&request, MPI_STATUS_IGNORE), MPI_SUCCESS);
    // Of the next one as many as ever.
    Far& next = join(context_id_ + 10'000, 1);
    const near_card cards[] = {{}, next.card()};
    MPI_Comm comm = near_communicator(context_id_ + 10'000, 2, 0, cards);
    std::swap(comm, comm_);
    MPI_Request again;
    int count = 0;
    const std::string data = pattern(kBytes);
    for (;; ++count) {
        ASSERT_EQ(MPI_Isend(data.data(), static_cast<int>(kBytes), MPI_CHAR, 1, 9, comm_, &again),
                  MPI_SUCCESS);
        if (count < 5) turn(100);  // until they have met
        if (count >= 5 && stays_active(&again)) break;
        if (count < 5) wait(&again);
    }
    EXPECT_NEAR(count, sent, 2);
    next.close();
    EXPECT_NE(MPI_Wait(&again, MPI_STATUS_IGNORE), MPI_SUCCESS);
    MPI_Comm_free(&comm);
}

TEST_F(HeldBack, one_that_waits_for_long__is_said_once) {
    near_set_copies_mib(0);
    surroundings().now = 1000;
    MPI_Request first, second;
    const int sent = flood(4000, &first);
    surroundings().now = 1001;
    const std::string data = pattern(4000);
    ASSERT_EQ(MPI_Isend(data.data(), 4000, MPI_CHAR, 1, 9, comm_, &second), MPI_SUCCESS);
    turn(10);
    surroundings().now = 1002.999;
    EXPECT_TRUE(stays_active(&first));
    EXPECT_EQ(said(), "");
    surroundings().now = 1003;
    EXPECT_TRUE(stays_active(&first));
    EXPECT_EQ(surroundings().said.size(), 1u);
    EXPECT_NE(said().find("a send to rank 1 of communicator " + std::to_string(context_id_) +
                          " has waited for 3 s"),
              std::string::npos)
        << said();
    EXPECT_NE(said().find(" and 0 more wait here, in 0 MiB of 0 "), std::string::npos) << said();
    surroundings().now = 2000;
    EXPECT_TRUE(stays_active(&first));
    EXPECT_EQ(surroundings().said.size(), 1u);
    drain(sent + 1, 4000);
    Far::Operation& here = far(1).receive(9, 4000);
    wait(&first);
    wait(&second);
    ASSERT_TRUE(ended(here));
}

}  // namespace
}  // namespace fci::openmpi
