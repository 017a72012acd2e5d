// SPDX-License-Identifier: BSD-3-Clause
// netmod/openmpi/data.c: datatypes in one piece, in few and in many, on their way out and in.
#include <gtest/gtest.h>

#include <numeric>
#include <string>
#include <vector>

#include "test/unit/openmpi/ends.h"

namespace fci::openmpi {
namespace {

class Data : public Ends {
protected:
    Data() { meet(); }

    /// Blocks of `length` bytes, with as many bytes between them.
    static MPI_Datatype blocks(int count, int length) {
        MPI_Datatype type;
        MPI_Type_vector(count, length, 2 * length, MPI_CHAR, &type);
        MPI_Type_commit(&type);
        return type;
    }
    /// The bytes that such blocks take of `data`.
    static std::string together(const std::string& data, std::size_t count, std::size_t length) {
        std::string all;
        for (std::size_t i = 0; i < count; ++i) all += data.substr(2 * i * length, length);
        return all;
    }
};

/// 16 pieces go as they lie, 17 and more packed.
TEST_F(Data, of_any_number_of_pieces__is_sent_whole) {
    for (const int count : {1, 2, 15, 16, 17, 32, 33, 100}) {
        for (const int length : {1, 8, 5000}) {
            const std::size_t bytes = static_cast<std::size_t>(count * length);
            const std::string data = pattern(2 * bytes);
            MPI_Datatype type = blocks(count, length);
            const Far::Operation& blocking = far(1).receive(1, bytes + 1);
            const Far::Operation& begun = far(1).receive(2, bytes + 1);
            MPI_Request request;
            ASSERT_EQ(MPI_Isend(data.data(), 1, type, 1, 2, comm_, &request), MPI_SUCCESS);
            ASSERT_EQ(MPI_Ssend(data.data(), 1, type, 1, 1, comm_), MPI_SUCCESS);
            ASSERT_EQ(MPI_Wait(&request, MPI_STATUS_IGNORE), MPI_SUCCESS);
            for (const Far::Operation* here : {&blocking, &begun}) {
                ASSERT_TRUE(ended(*here));
                EXPECT_EQ(here->status.length, bytes) << count;
                EXPECT_TRUE(same(here->data, together(data, static_cast<std::size_t>(count),
                                                      static_cast<std::size_t>(length)) +
                                                 "?"));
            }
            MPI_Type_free(&type);
        }
    }
}

TEST_F(Data, of_any_number_of_pieces__is_received_between_the_gaps) {
    for (const int count : {1, 2, 15, 16, 17, 32, 33, 100}) {
        for (const int length : {1, 8, 5000}) {
            const std::size_t bytes = static_cast<std::size_t>(count * length);
            const std::string data = pattern(bytes);
            MPI_Datatype type = blocks(count, length);
            for (const bool before : {true, false}) {
                std::string buffer(2 * bytes, '?');
                MPI_Request request;
                MPI_Status status;
                if (before) far(1).send(1, data), turn(20);
                ASSERT_EQ(MPI_Irecv(buffer.data(), 1, type, 1, 1, comm_, &request), MPI_SUCCESS);
                if (!before) far(1).send(1, data);
                ASSERT_EQ(MPI_Wait(&request, &status), MPI_SUCCESS);
                EXPECT_EQ(count_of(status), static_cast<int>(bytes));
                EXPECT_EQ(count_of(status, type), 1);
                const auto pieces = static_cast<std::size_t>(count);
                const auto piece = static_cast<std::size_t>(length);
                EXPECT_TRUE(same(together(buffer, pieces, piece), data)) << count;
                EXPECT_TRUE(
                    same(together(buffer.substr(piece) + std::string(piece, '?'), pieces, piece),
                         std::string(bytes, '?')));
            }
            MPI_Type_free(&type);
        }
    }
}

/// The bytes that come fill the first blocks, and more than fit are lost, in pieces as in one.
TEST_F(Data, message_of_another_length__fills_as_much_as_there_is) {
    for (const std::size_t count : {2, 16, 17, 33}) {
        MPI_Datatype type = blocks(static_cast<int>(count), 10);
        for (const std::size_t bytes :
             {std::size_t{0}, std::size_t{1}, std::size_t{10}, std::size_t{15}, 10 * count - 1,
              10 * count, 10 * count + 1, 10 * count + 5000}) {
            std::string buffer(20 * count, '?');
            MPI_Status status;
            far(1).send(1, pattern(bytes));
            const int answer = MPI_Recv(buffer.data(), 1, type, 1, 1, comm_, &status);
            const std::size_t here = std::min(bytes, 10 * count);
            EXPECT_EQ(class_of(answer), bytes > here ? MPI_ERR_TRUNCATE : MPI_SUCCESS);
            EXPECT_EQ(count_of(status), static_cast<int>(here));
            EXPECT_EQ(status.MPI_SOURCE, 1);
            EXPECT_EQ(status.MPI_TAG, 1);
            EXPECT_TRUE(same(together(buffer, count, 10),
                             pattern(bytes).substr(0, here) + std::string(10 * count - here, '?')))
                << count << " blocks, " << bytes << " bytes";
        }
        MPI_Type_free(&type);
    }
}

/// One item with a gap at its end lies together, two of them do not.
TEST_F(Data, items_with_gaps_between_them__lie_together_one_by_one) {
    MPI_Datatype type, shifted;
    MPI_Type_create_resized(MPI_INT, 0, 12, &type);
    MPI_Type_commit(&type);
    const MPI_Aint at = 8;
    const int length = 1;
    MPI_Type_create_hindexed(1, &length, &at, MPI_INT, &shifted);
    MPI_Type_commit(&shifted);
    const int data[] = {1, 2, 3, 4, 5, 6, 7, 8, 9};
    struct Case {
        MPI_Datatype type;
        int count;
        std::vector<int> sent;
    };
    for (const Case& it :
         {Case{type, 0, {}}, Case{type, 1, {1}}, Case{type, 2, {1, 4}}, Case{type, 3, {1, 4, 7}},
          Case{shifted, 1, {3}}, Case{shifted, 2, {3, 4}}}) {
        const std::size_t bytes = it.sent.size() * sizeof(int);
        const Far::Operation& here = far(1).receive(1, bytes);
        ASSERT_EQ(MPI_Send(data, it.count, it.type, 1, 1, comm_), MPI_SUCCESS);
        ASSERT_TRUE(ended(here));
        ASSERT_EQ(here.status.length, bytes);
        std::vector<int> words(it.sent.size());
        if (bytes != 0) std::memcpy(words.data(), here.data.data(), bytes);
        EXPECT_EQ(words, it.sent);
        std::vector<int> buffer(9, -1);
        far(1).send(1, here.data);
        ASSERT_EQ(MPI_Recv(buffer.data(), it.count, it.type, 1, 1, comm_, MPI_STATUS_IGNORE),
                  MPI_SUCCESS);
        std::vector<int> wanted(9, -1);
        for (const int value : it.sent) wanted[static_cast<std::size_t>(value - 1)] = value;
        EXPECT_EQ(buffer, wanted);
    }
    MPI_Type_free(&type);
    MPI_Type_free(&shifted);
}

TEST_F(Data, type_that_is_freed__is_used_until_the_end) {
    const std::string data = pattern(200);
    for (const int count : {10, 40}) {
        std::string buffer(200, '?');
        MPI_Datatype type = blocks(count, 1), again = blocks(count, 1);
        MPI_Request receive, send;
        ASSERT_EQ(MPI_Irecv(buffer.data(), 1, type, 1, 1, comm_, &receive), MPI_SUCCESS);
        ASSERT_EQ(MPI_Issend(data.data(), 1, again, 1, 1, comm_, &send), MPI_SUCCESS);
        MPI_Type_free(&type);
        MPI_Type_free(&again);
        MPI_Datatype other = blocks(3, 7);
        const auto pieces = static_cast<std::size_t>(count);
        far(1).send(1, data.substr(0, pieces));
        ASSERT_EQ(MPI_Wait(&receive, MPI_STATUS_IGNORE), MPI_SUCCESS);
        EXPECT_TRUE(same(together(buffer, pieces, 1), data.substr(0, pieces)));
        const Far::Operation& here = far(1).receive(1, pieces);
        ASSERT_EQ(MPI_Wait(&send, MPI_STATUS_IGNORE), MPI_SUCCESS);
        ASSERT_TRUE(ended(here));
        EXPECT_TRUE(same(here.data, together(data, pieces, 1)));
        MPI_Type_free(&other);
    }
}

/// Data that are packed for a message that fails leave the buffer alone.
TEST_F(Data, receive_in_many_pieces_that_fails__leaves_the_buffer) {
    std::string buffer(200, '?');
    MPI_Datatype type = blocks(40, 1);
    MPI_Request request;
    ASSERT_EQ(MPI_Irecv(buffer.data(), 1, type, 1, 1, comm_, &request), MPI_SUCCESS);
    far(1).close();
    EXPECT_EQ(class_of(MPI_Wait(&request, MPI_STATUS_IGNORE)), MPI_ERR_OTHER);
    EXPECT_TRUE(same(buffer, std::string(200, '?')));
    EXPECT_EQ(class_of(MPI_Send(buffer.data(), 1, type, 1, 1, comm_)), MPI_ERR_OTHER);
    MPI_Type_free(&type);
}

#ifndef __SANITIZE_ADDRESS__
TEST_F(Data, too_much_to_pack__is_no_memory) {
    MPI_Datatype piece, type;
    MPI_Type_contiguous(0x40000000, MPI_DOUBLE, &piece);
    MPI_Type_vector(17, 1, 2, piece, &type);
    MPI_Type_commit(&type);
    constexpr int kCount = 0x100000;  // 2^57 bytes
    char buffer = '?';
    MPI_Request request;
    EXPECT_NE(MPI_Isend(&buffer, kCount, type, 1, 1, comm_, &request), MPI_SUCCESS);
    EXPECT_NE(MPI_Irecv(&buffer, kCount, type, 1, 1, comm_, &request), MPI_SUCCESS);
    EXPECT_NE(MPI_Send(&buffer, kCount, type, 1, 1, comm_), MPI_SUCCESS);
    EXPECT_NE(MPI_Recv(&buffer, kCount, type, 1, 1, comm_, MPI_STATUS_IGNORE), MPI_SUCCESS);
    EXPECT_EQ(buffer, '?');
    MPI_Type_free(&piece);
    MPI_Type_free(&type);
    // A receive that failed is given back: it takes no message from others.
    far(1).send(1, "x");
    EXPECT_EQ(MPI_Recv(&buffer, 1, MPI_CHAR, 1, 1, comm_, MPI_STATUS_IGNORE), MPI_SUCCESS);
    EXPECT_EQ(buffer, 'x');
}
#endif

}  // namespace
}  // namespace fci::openmpi
