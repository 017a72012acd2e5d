// SPDX-License-Identifier: BSD-3-Clause
// netmod/openmpi/probe.c and the receives of what was probed: messages before anybody takes them.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "test/unit/openmpi/ends.h"

namespace fci::openmpi {
namespace {

/// The near end is rank 1 of three.
class Probe : public Ends {
protected:
    Probe() : Ends(3, 1) { meet(); }

    bool is_there(int source, int tag, MPI_Status* status = MPI_STATUS_IGNORE) {
        int flag = -5;
        EXPECT_EQ(MPI_Iprobe(source, tag, comm_, &flag, status), MPI_SUCCESS);
        EXPECT_TRUE(flag == 0 || flag == 1);
        return flag;
    }
    bool comes(int source, int tag, MPI_Status* status = MPI_STATUS_IGNORE) {
        return until("a message", [&] { return is_there(source, tag, status); });
    }
    static void expect(const MPI_Status& status, int source, int tag, int count) {
        EXPECT_EQ(status.MPI_SOURCE, source);
        EXPECT_EQ(status.MPI_TAG, tag);
        EXPECT_EQ(count_of(status), count);
        int flag = true;
        MPI_Test_cancelled(&status, &flag);
        EXPECT_FALSE(flag);
    }
};

TEST_F(Probe, message__is_told_of_and_stays) {
    for (const std::size_t bytes : {0, 5, 1000, 300'000}) {
        const auto count = static_cast<int>(bytes);
        far(2).send(6, pattern(bytes));
        far(2).send(7, "");
        MPI_Status status{};
        ASSERT_TRUE(comes(MPI_ANY_SOURCE, MPI_ANY_TAG, &status));
        expect(status, 2, 6, count);
        ASSERT_TRUE(comes(2, 7, &status));
        expect(status, 2, 7, 0);
        ASSERT_EQ(MPI_Probe(MPI_ANY_SOURCE, 6, comm_, &status), MPI_SUCCESS);
        expect(status, 2, 6, count);
        ASSERT_EQ(MPI_Probe(2, MPI_ANY_TAG, comm_, MPI_STATUS_IGNORE), MPI_SUCCESS);
        EXPECT_FALSE(is_there(0, 6));
        EXPECT_FALSE(is_there(2, 8));
        std::string buffer(bytes, '?');
        ASSERT_EQ(MPI_Recv(buffer.data(), count, MPI_CHAR, 2, 6, comm_, &status), MPI_SUCCESS);
        EXPECT_TRUE(same(buffer, pattern(bytes)));
        EXPECT_FALSE(is_there(2, 6));
        ASSERT_EQ(MPI_Recv(nullptr, 0, MPI_CHAR, 2, 7, comm_, &status), MPI_SUCCESS);
    }
}

TEST_F(Probe, none__has_one_turn_and_one_has_none) {
    unsigned turns = 0;
    near_count_turns(&turns);
    EXPECT_FALSE(is_there(2, 1));
    EXPECT_EQ(turns, 1u);
    near_count_turns(nullptr);
    far(2).send(1, "x");
    ASSERT_TRUE(comes(2, 1));
    turns = 0;
    near_count_turns(&turns);
    EXPECT_TRUE(is_there(2, 1));
    EXPECT_EQ(turns, 0u);
    near_count_turns(nullptr);
    EXPECT_EQ(MPI_Recv(&turns, 1, MPI_CHAR, 2, 1, comm_, MPI_STATUS_IGNORE), MPI_SUCCESS);
}

/// A message that has come is seen by the second look of one call.
TEST_F(Probe, message_that_came_meanwhile__is_seen_by_the_same_call) {
    far(2).send(1, "x");
    for (int i = 0; i < 10; ++i) fci_icl_progress(far(2).context());
    EXPECT_TRUE(is_there(2, 1));
    char buffer = '?';
    EXPECT_EQ(MPI_Recv(&buffer, 1, MPI_CHAR, 2, 1, comm_, MPI_STATUS_IGNORE), MPI_SUCCESS);
}

TEST_F(Probe, that_waits__ends_when_the_message_comes) {
    for (const bool claims : {false, true}) {
        far(2).wait(100);
        far(2).then([&] { return far(2).send(1, "x"), FCI_ICL_DONE; });
        MPI_Message message = MPI_MESSAGE_NULL;
        MPI_Status status{};
        char buffer = '?';
        if (claims) {
            ASSERT_EQ(MPI_Mprobe(MPI_ANY_SOURCE, 1, comm_, &message, &status), MPI_SUCCESS);
        } else {
            ASSERT_EQ(MPI_Probe(MPI_ANY_SOURCE, 1, comm_, &status), MPI_SUCCESS);
        }
        expect(status, 2, 1, 1);
        if (claims) {
            ASSERT_EQ(MPI_Mrecv(&buffer, 1, MPI_CHAR, &message, &status), MPI_SUCCESS);
        } else {
            ASSERT_EQ(MPI_Recv(&buffer, 1, MPI_CHAR, 2, 1, comm_, &status), MPI_SUCCESS);
        }
        EXPECT_EQ(buffer, 'x');
    }
}

// --- taken out of the matching ---

TEST_F(Probe, claimed_message__is_nobody_elses) {
    for (const std::size_t bytes : {0, 5, 1000, 300'000}) {
        const auto count = static_cast<int>(bytes);
        far(2).send(6, pattern(bytes, 1));
        far(2).send(6, pattern(bytes, 2));
        ASSERT_TRUE(comes(2, 6));
        turn(20);
        int flag = false;
        MPI_Message message = MPI_MESSAGE_NULL, another = MPI_MESSAGE_NULL;
        MPI_Status status{};
        ASSERT_EQ(MPI_Improbe(MPI_ANY_SOURCE, MPI_ANY_TAG, comm_, &flag, &message, &status),
                  MPI_SUCCESS);
        ASSERT_TRUE(flag);
        expect(status, 2, 6, count);
        ASSERT_NE(message, MPI_MESSAGE_NULL);
        std::string second(bytes, '?'), first(bytes + 1, '?');
        ASSERT_EQ(MPI_Recv(second.data(), count, MPI_CHAR, 2, 6, comm_, &status), MPI_SUCCESS);
        EXPECT_TRUE(same(second, pattern(bytes, 2)));
        ASSERT_EQ(MPI_Improbe(2, 6, comm_, &flag, &another, &status), MPI_SUCCESS);
        EXPECT_FALSE(flag);
        EXPECT_EQ(another, MPI_MESSAGE_NULL);
        status = {};
        ASSERT_EQ(MPI_Mrecv(first.data(), count + 1, MPI_CHAR, &message, &status), MPI_SUCCESS);
        expect(status, 2, 6, count);
        EXPECT_EQ(message, MPI_MESSAGE_NULL);
        EXPECT_TRUE(same(first, pattern(bytes, 1) + "?"));
    }
}

TEST_F(Probe, claimed_message_of_a_known_rank__says_it_again) {
    for (const bool begun : {false, true}) {
        far(0).send(3, "abc");
        MPI_Message message;
        MPI_Status status{};
        MPI_Request request;
        char buffer[4] = "";
        ASSERT_EQ(MPI_Mprobe(0, MPI_ANY_TAG, comm_, &message, MPI_STATUS_IGNORE), MPI_SUCCESS);
        if (begun) {
            ASSERT_EQ(MPI_Imrecv(buffer, 4, MPI_CHAR, &message, &request), MPI_SUCCESS);
            ASSERT_EQ(MPI_Wait(&request, &status), MPI_SUCCESS);
        } else {
            ASSERT_EQ(MPI_Mrecv(buffer, 4, MPI_CHAR, &message, &status), MPI_SUCCESS);
        }
        EXPECT_EQ(message, MPI_MESSAGE_NULL);
        expect(status, 0, 3, 3);
        EXPECT_STREQ(buffer, "abc");
    }
}

TEST_F(Probe, claimed_message_longer_than_the_buffer__is_cut_and_said) {
    for (const std::size_t bytes : {5, 1000, 300'000}) {
        far(2).send(3, pattern(bytes));
        const auto room = static_cast<int>(bytes - 1);
        MPI_Message message;
        MPI_Status status{};
        std::string buffer(bytes, '?');
        ASSERT_EQ(MPI_Mprobe(MPI_ANY_SOURCE, 3, comm_, &message, &status), MPI_SUCCESS);
        status = {};
        EXPECT_EQ(class_of(MPI_Mrecv(buffer.data(), room, MPI_CHAR, &message, &status)),
                  MPI_ERR_TRUNCATE);
        expect(status, 2, 3, room);
        EXPECT_TRUE(same(buffer, pattern(bytes).substr(0, bytes - 1) + "?"));
    }
}

TEST_F(Probe, claimed_message__is_received_in_many_pieces) {
    for (const int count : {16, 17, 33}) {
        for (const int length : {1, 5000}) {
            MPI_Datatype type;
            MPI_Type_vector(count, length, 2 * length, MPI_CHAR, &type);
            MPI_Type_commit(&type);
            const auto bytes = static_cast<std::size_t>(count * length);
            far(2).send(3, pattern(bytes));
            MPI_Message message;
            MPI_Status status{};
            std::string buffer(2 * bytes, '?');
            ASSERT_EQ(MPI_Mprobe(2, 3, comm_, &message, &status), MPI_SUCCESS);
            ASSERT_EQ(MPI_Mrecv(buffer.data(), 1, type, &message, &status), MPI_SUCCESS);
            EXPECT_EQ(count_of(status), static_cast<int>(bytes));
            std::string together;
            for (int i = 0; i < count; ++i) {
                together += buffer.substr(static_cast<std::size_t>(2 * i * length),
                                          static_cast<std::size_t>(length));
            }
            EXPECT_TRUE(same(together, pattern(bytes)));
            MPI_Type_free(&type);
        }
    }
}

TEST_F(Probe, of_nobody__is_there_and_empty) {
    int flag = false;
    MPI_Message message = MPI_MESSAGE_NULL;
    MPI_Status status{};
    ASSERT_EQ(MPI_Improbe(MPI_PROC_NULL, 1, comm_, &flag, &message, &status), MPI_SUCCESS);
    EXPECT_TRUE(flag);
    EXPECT_EQ(message, MPI_MESSAGE_NO_PROC);
    ASSERT_EQ(MPI_Mrecv(nullptr, 0, MPI_CHAR, &message, &status), MPI_SUCCESS);
    EXPECT_EQ(status.MPI_SOURCE, MPI_PROC_NULL);
}

TEST_F(Probe, of_oneself__is_what_was_sent) {
    MPI_Request request;
    MPI_Message message;
    MPI_Status status{};
    char buffer = '?';
    ASSERT_EQ(MPI_Isend("x", 1, MPI_CHAR, 1, 4, comm_, &request), MPI_SUCCESS);
    ASSERT_EQ(MPI_Mprobe(MPI_ANY_SOURCE, 4, comm_, &message, &status), MPI_SUCCESS);
    expect(status, 1, 4, 1);
    ASSERT_EQ(MPI_Mrecv(&buffer, 1, MPI_CHAR, &message, &status), MPI_SUCCESS);
    expect(status, 1, 4, 1);
    EXPECT_EQ(buffer, 'x');
    ASSERT_EQ(MPI_Wait(&request, MPI_STATUS_IGNORE), MPI_SUCCESS);
}

// --- that fail ---

TEST_F(Probe, of_one_who_has_gone__fails) {
    far(2).close();
    int flag = true;
    MPI_Message message;
    ASSERT_TRUE(until("the loss", [&] {
        return MPI_Iprobe(2, 1, comm_, &flag, MPI_STATUS_IGNORE) != MPI_SUCCESS;
    }));
    EXPECT_FALSE(flag);
    EXPECT_EQ(class_of(MPI_Iprobe(2, 1, comm_, &flag, MPI_STATUS_IGNORE)), MPI_ERR_OTHER);
    EXPECT_EQ(class_of(MPI_Probe(2, 1, comm_, MPI_STATUS_IGNORE)), MPI_ERR_OTHER);
    flag = true;
    EXPECT_EQ(class_of(MPI_Improbe(2, 1, comm_, &flag, &message, MPI_STATUS_IGNORE)),
              MPI_ERR_OTHER);
    EXPECT_FALSE(flag);
    EXPECT_EQ(class_of(MPI_Mprobe(2, 1, comm_, &message, MPI_STATUS_IGNORE)), MPI_ERR_OTHER);
    EXPECT_FALSE(is_there(0, 1)) << "others are as ever";
    EXPECT_EQ(surroundings().said.size(), 1u) << said();
}

TEST_F(Probe, of_one_who_has_gone_before_they_have_met__fails) {
    Far& other = join(context_id_ + 50'000, 1);
    const near_card cards[] = {{}, other.card()};
    MPI_Comm comm = near_communicator(context_id_ + 50'000, 2, 0, cards);
    other.close();
    EXPECT_EQ(class_of(MPI_Probe(1, 1, comm, MPI_STATUS_IGNORE)), MPI_ERR_OTHER);
    MPI_Comm_free(&comm);
}

TEST_F(Probe, of_one_without_a_card__fails) {
    const near_card cards[] = {{}, {}};
    MPI_Comm comm = near_communicator(context_id_ + 40'000, 2, 0, cards);
    int flag = true;
    MPI_Message message;
    EXPECT_NE(MPI_Iprobe(1, 1, comm, &flag, MPI_STATUS_IGNORE), MPI_SUCCESS);
    EXPECT_FALSE(flag);
    EXPECT_NE(MPI_Probe(1, 1, comm, MPI_STATUS_IGNORE), MPI_SUCCESS);
    EXPECT_NE(MPI_Mprobe(1, 1, comm, &message, MPI_STATUS_IGNORE), MPI_SUCCESS);
    MPI_Comm_free(&comm);
}

}  // namespace
}  // namespace fci::openmpi
