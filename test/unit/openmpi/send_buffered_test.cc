// SPDX-License-Identifier: BSD-3-Clause
// netmod/openmpi/send.c: buffered sends, sends to those who have gone, and those that are taken
// back.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "test/unit/openmpi/ends.h"

namespace fci::openmpi {
namespace {

class Buffered : public Ends {
protected:
    Buffered() { MPI_Buffer_attach(room_.data(), static_cast<int>(room_.size())); }
    void TearDown() override {
        detach();
        Ends::TearDown();
    }

    /// Ends when all that was sent has left the buffer.
    void detach() {
        void* place = nullptr;
        int bytes = 0;
        if (is_attached_) MPI_Buffer_detach(&place, &bytes);
        is_attached_ = false;
    }
    int send(const std::string& data, int tag) {
        std::string own = data;
        const int answer =
            MPI_Bsend(own.data(), static_cast<int>(own.size()), MPI_CHAR, 1, tag, comm_);
        own.assign(own.size(), '!');
        return answer;
    }
    void expect(const std::string& data, int tag) {
        const Far::Operation& here = far(1).receive(tag, data.size());
        ASSERT_TRUE(ended(here));
        EXPECT_EQ(here.status.length, data.size());
        EXPECT_TRUE(same(here.data, data));
    }

    std::vector<char> room_ = std::vector<char>(100'000);
    bool is_attached_ = true;
};

TEST_F(Buffered, send__is_complete_before_anybody_asks) {
    for (const std::size_t bytes : {1, 50, 5000, 60'000}) {
        ASSERT_EQ(send(pattern(bytes), 1), MPI_SUCCESS);
        expect(pattern(bytes), 1);
        ASSERT_EQ(send("", 2), MPI_SUCCESS);
        expect("", 2);
    }
}

TEST_F(Buffered, begun_or_persistent__is_complete_at_once) {
    meet();
    std::string data = pattern(20'000);
    MPI_Request request;
    int flag = false;
    ASSERT_EQ(MPI_Ibsend(data.data(), 20'000, MPI_CHAR, 1, 1, comm_, &request), MPI_SUCCESS);
    ASSERT_EQ(MPI_Request_get_status(request, &flag, MPI_STATUS_IGNORE), MPI_SUCCESS);
    EXPECT_TRUE(flag);
    ASSERT_EQ(MPI_Wait(&request, MPI_STATUS_IGNORE), MPI_SUCCESS);
    ASSERT_EQ(MPI_Bsend_init(data.data(), 20'000, MPI_CHAR, 1, 2, comm_, &request), MPI_SUCCESS);
    for (const unsigned seed : {7u, 8u}) {
        data.replace(0, data.size(), pattern(data.size(), seed));  // in its place
        ASSERT_EQ(MPI_Start(&request), MPI_SUCCESS);
        ASSERT_EQ(MPI_Test(&request, &flag, MPI_STATUS_IGNORE), MPI_SUCCESS);
        EXPECT_TRUE(flag);
    }
    ASSERT_EQ(MPI_Request_free(&request), MPI_SUCCESS);
    expect(pattern(20'000), 1);
    expect(pattern(20'000, 7), 2);
    expect(pattern(20'000, 8), 2);
}

TEST_F(Buffered, in_pieces__arrives_as_one) {
    MPI_Datatype each_other;
    MPI_Type_vector(40, 1, 2, MPI_CHAR, &each_other);
    MPI_Type_commit(&each_other);
    const std::string data = pattern(80);
    ASSERT_EQ(MPI_Bsend(data.data(), 1, each_other, 1, 1, comm_), MPI_SUCCESS);
    MPI_Type_free(&each_other);
    std::string wanted;
    for (std::size_t i = 0; i < data.size(); i += 2) wanted += data[i];
    expect(wanted, 1);
}

TEST_F(Buffered, without_room__fails_until_some_has_left) {
    meet();
    EXPECT_EQ(class_of(send(pattern(100'001), 1)), MPI_ERR_BUFFER);
    ASSERT_EQ(send(pattern(60'000, 1), 1), MPI_SUCCESS);
    EXPECT_EQ(class_of(send(pattern(60'000, 2), 1)), MPI_ERR_BUFFER);
    expect(pattern(60'000, 1), 1);
    // Asking makes room, but not more than once.
    ASSERT_TRUE(until("room", [&] { return send(pattern(60'000, 3), 1) == MPI_SUCCESS; }));
    expect(pattern(60'000, 3), 1);
}

TEST_F(Buffered, buffer__is_detached_when_all_has_left) {
    meet();
    ASSERT_EQ(send(pattern(60'000), 1), MPI_SUCCESS);
    Far::Operation* here = nullptr;
    far(1).wait(100);
    far(1).then([&] { return here = &far(1).receive(1, 60'000), FCI_ICL_DONE; });
    detach();
    ASSERT_NE(here, nullptr) << "it was detached before";
    ASSERT_TRUE(ended(*here));
    EXPECT_TRUE(same(here->data, pattern(60'000)));
}

/// The send was complete before; its data do not stay in the buffer.
TEST_F(Buffered, for_one_who_has_gone__is_said_and_given_back) {
    meet();
    ASSERT_EQ(send(pattern(60'000), 1), MPI_SUCCESS);
    far(1).close();
    ASSERT_TRUE(until("a loss", [] { return !surroundings().said.empty(); }));
    EXPECT_NE(said().find("fci: lost a process of another job"), std::string::npos) << said();
    ASSERT_EQ(send(pattern(60'000), 1), MPI_SUCCESS);  // where there would be no room for both
    ASSERT_EQ(send(pattern(60'000), 1), MPI_SUCCESS);
    ASSERT_EQ(send("", 1), MPI_SUCCESS);
    detach();
    EXPECT_EQ(surroundings().said.size(), 1u) << said();
}

// --- errors, and what is taken back ---

using SendError = Ends;

TEST_F(SendError, to_one_who_has_gone__fails) {
    meet();
    MPI_Request request;
    const std::string data = pattern(1'000'000);
    ASSERT_EQ(MPI_Issend("abc", 3, MPI_CHAR, 1, 1, comm_, &request), MPI_SUCCESS);
    far(1).close();
    MPI_Status status;
    EXPECT_EQ(class_of(MPI_Wait(&request, &status)), MPI_ERR_OTHER);
    EXPECT_EQ(class_of(MPI_Send("abc", 3, MPI_CHAR, 1, 1, comm_)), MPI_ERR_OTHER);
    EXPECT_EQ(class_of(MPI_Ssend("abc", 3, MPI_CHAR, 1, 1, comm_)), MPI_ERR_OTHER);
    EXPECT_EQ(class_of(MPI_Send(data.data(), 1'000'000, MPI_CHAR, 1, 1, comm_)), MPI_ERR_OTHER);
    EXPECT_EQ(surroundings().said.size(), 1u) << said();
}

TEST_F(SendError, one_without_a_card__cannot_be_sent_to) {
    Far other(context_id_, 1);
    for (const std::size_t length : {0, FCI_ICL_CARD_BYTES - 1}) {
        near_card cards[] = {{}, other.card()};
        cards[1].length = length;
        MPI_Comm comm = near_communicator(context_id_ + 20'000, 2, 0, cards);
        MPI_Request request;
        EXPECT_NE(MPI_Send("abc", 3, MPI_CHAR, 1, 1, comm), MPI_SUCCESS);
        EXPECT_NE(MPI_Isend("abc", 3, MPI_CHAR, 1, 1, comm, &request), MPI_SUCCESS);
        EXPECT_NE(said().find("has no card of FCI"), std::string::npos) << said();
        MPI_Comm_free(&comm);
    }
}

TEST_F(SendError, cancelled__is_taken_back) {
    meet();
    MPI_Request request;
    MPI_Status status;
    int flag = false;
    ASSERT_EQ(MPI_Issend("abc", 3, MPI_CHAR, 1, 1, comm_, &request), MPI_SUCCESS);
    ASSERT_EQ(MPI_Cancel(&request), MPI_SUCCESS);
    ASSERT_EQ(MPI_Wait(&request, &status), MPI_SUCCESS);
    MPI_Test_cancelled(&status, &flag);
    EXPECT_TRUE(flag);
    turn(20);
    EXPECT_FALSE(far(1).has(1));
}

TEST_F(SendError, cancelled_when_it_is_matched__is_sent) {
    meet();
    MPI_Request request;
    MPI_Status status;
    int flag = true;
    ASSERT_EQ(MPI_Issend("abc", 3, MPI_CHAR, 1, 1, comm_, &request), MPI_SUCCESS);
    ASSERT_TRUE(until("the message", [&] { return far(1).has(1); }));
    const Far::Operation& here = far(1).receive(1);
    ASSERT_EQ(MPI_Cancel(&request), MPI_SUCCESS);
    ASSERT_EQ(MPI_Wait(&request, &status), MPI_SUCCESS);
    MPI_Test_cancelled(&status, &flag);
    EXPECT_FALSE(flag);
    ASSERT_TRUE(ended(here));
}

}  // namespace
}  // namespace fci::openmpi
