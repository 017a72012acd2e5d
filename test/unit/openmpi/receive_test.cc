// SPDX-License-Identifier: BSD-3-Clause
// netmod/openmpi/receive.c: what a receive takes, and what its status says.
#include <gtest/gtest.h>

#include <array>
#include <string>
#include <vector>

#include "test/unit/openmpi/ends.h"

namespace fci::openmpi {
namespace {

/// The near end is rank 1 of three.
class Receive : public Ends {
protected:
    Receive() : Ends(3, 1) {}

    /// Whichever way MPI has to receive one message.
    enum class Way { kBlocking, kBegun, kThreads, kPersistent };
    static constexpr std::array kWays{Way::kBlocking, Way::kBegun, Way::kThreads, Way::kPersistent};
    int receive(Way way, void* buffer, int count, MPI_Datatype datatype, int source, int tag,
                MPI_Status* status) {
        MPI_Request request;
        switch (way) {
            case Way::kThreads:
                near_use_threads(true);
                [[fallthrough]];
            case Way::kBlocking: {
                const int answer = MPI_Recv(buffer, count, datatype, source, tag, comm_, status);
                near_use_threads(false);
                return answer;
            }
            case Way::kBegun:
                EXPECT_EQ(MPI_Irecv(buffer, count, datatype, source, tag, comm_, &request),
                          MPI_SUCCESS);
                return MPI_Wait(&request, status);
            case Way::kPersistent:
                break;
        }
        EXPECT_EQ(MPI_Recv_init(buffer, count, datatype, source, tag, comm_, &request),
                  MPI_SUCCESS);
        EXPECT_EQ(MPI_Start(&request), MPI_SUCCESS);
        const int answer = MPI_Wait(&request, status);
        if (request != MPI_REQUEST_NULL) MPI_Request_free(&request);  // not where it has failed
        return answer;
    }
    /// The message is there before the receive, or comes when that waits already.
    void send(int from, int tag, const std::string& data, bool before) {
        if (!before) {
            far(from).wait(20);
            far(from).then([=, this] { return far(from).send(tag, data), FCI_ICL_DONE; });
            return;
        }
        far(from).send(tag, data);
        int flag = false;
        until("the message", [&] {
            MPI_Iprobe(from, tag, comm_, &flag, MPI_STATUS_IGNORE);
            return flag;
        });
    }
};

TEST_F(Receive, status__says_source_tag_and_count) {
    for (const std::size_t bytes : {0, 5, 48, 49, 1000, 300'000}) {
        const std::string data = pattern(bytes);
        for (const Way way : kWays) {
            for (const bool before : {true, false}) {
                for (const bool any : {true, false}) {
                    std::string buffer(bytes + 10, '?');
                    MPI_Status status{};
                    status.MPI_ERROR = 4711;
                    send(2, 6, data, before);
                    ASSERT_EQ(receive(way, buffer.data(), static_cast<int>(buffer.size()), MPI_CHAR,
                                      any ? MPI_ANY_SOURCE : 2, any ? MPI_ANY_TAG : 6, &status),
                              MPI_SUCCESS);
                    EXPECT_EQ(status.MPI_SOURCE, 2);
                    EXPECT_EQ(status.MPI_TAG, 6);
                    EXPECT_EQ(count_of(status), static_cast<int>(bytes));
                    EXPECT_EQ(status.MPI_ERROR, 4711) << "one status has its error elsewhere";
                    EXPECT_TRUE(same(buffer, data + "??????????"));
                    int flag = true;
                    MPI_Test_cancelled(&status, &flag);
                    EXPECT_FALSE(flag);
                }
            }
        }
    }
}

/// The count is what is in the buffer, the rest is as with a message that fits.
TEST_F(Receive, message_longer_than_the_buffer__is_cut_and_said) {
    for (const std::size_t bytes : {10, 45, 1000, 300'000}) {
        const std::string data = pattern(bytes);
        for (const Way way : kWays) {
            for (const bool before : {true, false}) {
                for (const bool any : {true, false}) {
                    std::string buffer(bytes, '?');
                    MPI_Status status{};
                    status.MPI_ERROR = 4711;
                    send(2, 6, data, before);
                    const int answer =
                        receive(way, buffer.data(), static_cast<int>(bytes - 1), MPI_CHAR,
                                any ? MPI_ANY_SOURCE : 2, any ? MPI_ANY_TAG : 6, &status);
                    EXPECT_EQ(class_of(answer), MPI_ERR_TRUNCATE);
                    EXPECT_EQ(status.MPI_SOURCE, 2);
                    EXPECT_EQ(status.MPI_TAG, 6);
                    EXPECT_EQ(count_of(status), static_cast<int>(bytes - 1));
                    EXPECT_EQ(status.MPI_ERROR, 4711);
                    EXPECT_TRUE(same(buffer, data.substr(0, bytes - 1) + "?"));
                }
            }
        }
    }
    EXPECT_EQ(said(), "");
}

TEST_F(Receive, into_nothing__takes_a_message_of_nothing_only) {
    for (const Way way : kWays) {
        MPI_Status status{};
        send(0, 1, "", true);
        EXPECT_EQ(receive(way, nullptr, 0, MPI_CHAR, 0, 1, &status), MPI_SUCCESS);
        EXPECT_EQ(count_of(status), 0);
        send(0, 1, "x", true);
        EXPECT_EQ(class_of(receive(way, nullptr, 0, MPI_CHAR, 0, 1, &status)), MPI_ERR_TRUNCATE);
        EXPECT_EQ(count_of(status), 0);
        EXPECT_EQ(status.MPI_SOURCE, 0);
        EXPECT_EQ(receive(way, nullptr, 0, MPI_CHAR, MPI_PROC_NULL, 1, &status), MPI_SUCCESS);
        EXPECT_EQ(status.MPI_SOURCE, MPI_PROC_NULL);
        EXPECT_EQ(status.MPI_TAG, MPI_ANY_TAG);
    }
}

/// Around the length up to which a receive looks before it is posted.
TEST_F(Receive, buffers_around_the_edge_of_a_line__are_filled_and_no_more) {
    meet();
    const auto limits = near_limits();
    const std::size_t line = limits.inline_bytes, edge = limits.take_bytes;
    for (const std::size_t room : {line, line + 9, edge - 1, edge, edge + 1, edge + 2}) {
        for (const std::size_t bytes : {room - 1, room, room + 1}) {
            for (const bool before : {true, false}) {
                std::string buffer(room + 1, '?');
                MPI_Status status{};
                send(0, 3, pattern(bytes), before);
                const int answer =
                    MPI_Recv(buffer.data(), static_cast<int>(room), MPI_CHAR, 0, 3, comm_, &status);
                EXPECT_EQ(class_of(answer), bytes > room ? MPI_ERR_TRUNCATE : MPI_SUCCESS);
                EXPECT_EQ(count_of(status), static_cast<int>(std::min(bytes, room)));
                EXPECT_TRUE(same(buffer.substr(0, std::min(bytes, room)),
                                 pattern(bytes).substr(0, std::min(bytes, room))));
                EXPECT_EQ(buffer[room], '?');
            }
        }
    }
}

TEST_F(Receive, without_a_status__is_a_receive) {
    for (const Way way : kWays) {
        for (const int bytes : {4, 100}) {
            std::string buffer(100, '?');
            send(2, 6, pattern(static_cast<std::size_t>(bytes)), false);
            EXPECT_EQ(receive(way, buffer.data(), 100, MPI_CHAR, 2, 6, MPI_STATUS_IGNORE),
                      MPI_SUCCESS);
            send(2, 6, pattern(static_cast<std::size_t>(bytes)), false);
            EXPECT_EQ(
                class_of(receive(way, buffer.data(), bytes - 1, MPI_CHAR, 2, 6, MPI_STATUS_IGNORE)),
                MPI_ERR_TRUNCATE);
        }
    }
}

// --- which message it takes ---

TEST_F(Receive, one_of_a_rank__leaves_others_messages) {
    for (const Way way : kWays) {
        char buffer = '?';
        send(0, 4, "a", true);
        send(2, 4, "b", true);
        EXPECT_EQ(receive(way, &buffer, 1, MPI_CHAR, 2, 4, MPI_STATUS_IGNORE), MPI_SUCCESS);
        EXPECT_EQ(buffer, 'b');
        EXPECT_EQ(receive(way, &buffer, 1, MPI_CHAR, 0, 4, MPI_STATUS_IGNORE), MPI_SUCCESS);
        EXPECT_EQ(buffer, 'a');
    }
}

TEST_F(Receive, one_of_a_tag__leaves_other_tags) {
    for (const Way way : kWays) {
        char buffer = '?';
        send(2, 0, "a", true);
        send(2, 0x7fffffff, "b", true);
        EXPECT_EQ(receive(way, &buffer, 1, MPI_CHAR, 2, 0x7fffffff, MPI_STATUS_IGNORE),
                  MPI_SUCCESS);
        EXPECT_EQ(buffer, 'b');
        EXPECT_EQ(receive(way, &buffer, 1, MPI_CHAR, MPI_ANY_SOURCE, 0, MPI_STATUS_IGNORE),
                  MPI_SUCCESS);
        EXPECT_EQ(buffer, 'a');
    }
}

/// Negative tags are Open MPI's own, and another context is another communicator.
TEST_F(Receive, one_of_any_tag__leaves_what_is_not_for_the_program) {
    for (const Way way : kWays) {
        char buffer = '?';
        far(2).send(-17, "a");
        far(2).send_word(word(context_id_ + 1, 2, 5), "b");
        send(2, 5, "c", true);
        EXPECT_EQ(
            receive(way, &buffer, 1, MPI_CHAR, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_STATUS_IGNORE),
            MPI_SUCCESS);
        EXPECT_EQ(buffer, 'c');
    }
    int flag = true;
    MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, comm_, &flag, MPI_STATUS_IGNORE);
    EXPECT_FALSE(flag);
}

TEST_F(Receive, of_oneself__is_what_was_sent) {
    for (const std::size_t bytes : {0, 4, 1000, 300'000}) {
        for (const Way way : kWays) {
            const std::string data = pattern(bytes);
            std::string buffer(bytes, '?');
            MPI_Request request;
            MPI_Status status;
            ASSERT_EQ(
                MPI_Isend(data.data(), static_cast<int>(bytes), MPI_CHAR, 1, 5, comm_, &request),
                MPI_SUCCESS);
            ASSERT_EQ(receive(way, buffer.data(), static_cast<int>(bytes), MPI_CHAR, MPI_ANY_SOURCE,
                              5, &status),
                      MPI_SUCCESS);
            EXPECT_EQ(status.MPI_SOURCE, 1);
            EXPECT_EQ(count_of(status), static_cast<int>(bytes));
            EXPECT_TRUE(same(buffer, data));
            ASSERT_EQ(MPI_Wait(&request, MPI_STATUS_IGNORE), MPI_SUCCESS);
        }
    }
}

// --- that ends otherwise ---

TEST_F(Receive, from_one_who_goes__fails) {
    meet();
    for (const std::size_t room : {4, 300'000}) {
        std::string buffer(room, '?');
        MPI_Request request;
        MPI_Status status{};
        if (room == 4) {
            ASSERT_EQ(MPI_Irecv(buffer.data(), 4, MPI_CHAR, 2, 1, comm_, &request), MPI_SUCCESS);
            far(2).wait(20);
            far(2).then([&] { return far(2).close(), FCI_ICL_DONE; });
            EXPECT_EQ(class_of(receive(Way::kBlocking, buffer.data(), 4, MPI_CHAR, 2, 2, &status)),
                      MPI_ERR_OTHER);
            EXPECT_EQ(class_of(MPI_Wait(&request, &status)), MPI_ERR_OTHER);
        }
        for (const Way way : kWays) {
            EXPECT_EQ(class_of(receive(way, buffer.data(), static_cast<int>(room), MPI_CHAR, 2, 2,
                                       &status)),
                      MPI_ERR_OTHER);
        }
    }
    EXPECT_EQ(surroundings().said.size(), 1u) << said();
}

TEST_F(Receive, of_what_was_sent_before_its_sender_has_gone__is_well) {
    meet();
    char buffer[4] = "?";
    send(2, 1, "abc", true);
    far(2).close();
    turn(100);
    EXPECT_EQ(MPI_Recv(buffer, 3, MPI_CHAR, 2, 1, comm_, MPI_STATUS_IGNORE), MPI_SUCCESS);
    EXPECT_STREQ(buffer, "abc");
}

TEST_F(Receive, cancelled__takes_nothing) {
    for (const int room : {4, 300'000}) {
        std::string buffer(300'000, '?');
        MPI_Request request;
        MPI_Status status;
        int flag = false;
        ASSERT_EQ(MPI_Irecv(buffer.data(), room, MPI_CHAR, 2, 1, comm_, &request), MPI_SUCCESS);
        ASSERT_EQ(MPI_Cancel(&request), MPI_SUCCESS);
        ASSERT_EQ(MPI_Wait(&request, &status), MPI_SUCCESS);
        MPI_Test_cancelled(&status, &flag);
        EXPECT_TRUE(flag);
        send(2, 1, "abc", true);
        EXPECT_TRUE(same(buffer, std::string(300'000, '?')));
        EXPECT_EQ(MPI_Recv(buffer.data(), 3, MPI_CHAR, 2, 1, comm_, &status), MPI_SUCCESS);
        EXPECT_TRUE(same(buffer.substr(0, 3), "abc"));
    }
}

// --- what it does while it waits ---

/// Turns are FCI's alone: Open MPI's come seldom, and after a while more often.
TEST_F(Receive, that_waits__lets_open_mpi_have_a_turn_now_and_then) {
    meet();
    struct Case {
        unsigned waits, turns;
    };
    for (const auto [waits, expected] :
         {Case{100, 0}, Case{1000, 3}, Case{4000, 15}, Case{4096 + 160, 25}}) {
        unsigned turns = 0;
        char buffer = '?';
        turn(100);
        far(2).wait(waits);
        far(2).then([&] { return far(2).send(1, "x"), FCI_ICL_DONE; });
        near_count_turns(&turns);
        ASSERT_EQ(MPI_Recv(&buffer, 1, MPI_CHAR, 2, 1, comm_, MPI_STATUS_IGNORE), MPI_SUCCESS);
        near_count_turns(nullptr);
        EXPECT_NEAR(turns, expected, 1) << waits;
        EXPECT_EQ(buffer, 'x');
    }
}

/// Data that come through a window come by Open MPI's ways only.
TEST_F(Receive, that_waits_beside_a_window__lets_open_mpi_have_each_turn) {
    meet();
    for (const bool has_window : {true, false}) {
        unsigned turns = 0;
        char buffer = '?';
        near_have_window(has_window);
        turn(100);
        far(2).wait(200);
        far(2).then([&] { return far(2).send(1, "x"), FCI_ICL_DONE; });
        near_count_turns(&turns);
        ASSERT_EQ(MPI_Recv(&buffer, 1, MPI_CHAR, 2, 1, comm_, MPI_STATUS_IGNORE), MPI_SUCCESS);
        near_count_turns(nullptr);
        EXPECT_NEAR(turns, has_window ? 100 : 0, 2);  // one turn of both kinds each
        EXPECT_EQ(surroundings().idle.back(), has_window ? FCI_ICL_MAY_YIELD : FCI_ICL_MAY_SLEEP);
    }
}

}  // namespace
}  // namespace fci::openmpi
