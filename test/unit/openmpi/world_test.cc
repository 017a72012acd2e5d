// SPDX-License-Identifier: BSD-3-Clause
// netmod/openmpi/world.c: communicators, whom their ranks stand for, and what is said of those.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "test/unit/openmpi/ends.h"

namespace fci::openmpi {
namespace {

using World = Ends;

/// A context id is used again, and what nobody has received of its last communicator is not new.
TEST_F(World, leftovers_of_a_communicator__are_not_seen_by_the_next) {
    meet();
    for (const bool turns : {false, true}) {
        far(1).send(1, "old");
        far(1).send(-20, "old");
        far(1).send_word(word(context_id_ + 1, 1, 1), "another");
        if (turns) turn(20);
        MPI_Comm_free(&comm_);
        const near_card cards[] = {{}, far(1).card()};
        comm_ = near_communicator(context_id_, 2, 0, cards);
        int flag = true;
        for (int i = 0; i < 20; ++i) {
            ASSERT_EQ(MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, comm_, &flag, MPI_STATUS_IGNORE),
                      MPI_SUCCESS);
            EXPECT_FALSE(flag);
        }
        char buffer[8] = "";
        far(1).send(1, "new");
        ASSERT_EQ(MPI_Recv(buffer, 8, MPI_CHAR, 1, 1, comm_, MPI_STATUS_IGNORE), MPI_SUCCESS);
        EXPECT_STREQ(buffer, "new");
        MPI_Comm other = near_communicator(context_id_ + 1, 2, 0, cards);
        MPI_Comm_free(&other);
    }
}

/// Of ranks that share a residue in the message's word, the source is told by its peer.
TEST_F(World, ranks_of_a_large_communicator__are_told_apart) {
    constexpr int kSize = 2 * 4096 + 2;
    Far& first = join(context_id_ + 1000, 1);
    Far& second = join(context_id_ + 1000, 4096 + 1);
    Far& third = join(context_id_ + 1000, 2 * 4096 + 1);
    std::vector<near_card> cards(kSize, far(1).card());
    cards[1] = first.card();
    cards[4096 + 1] = second.card();
    cards[2 * 4096 + 1] = third.card();
    MPI_Comm comm = near_communicator(context_id_ + 1000, kSize, 0, cards.data());
    struct Case {
        Far* from;
        int rank;
    };
    for (const auto& [from, rank] :
         {Case{&third, 2 * 4096 + 1}, Case{&first, 1}, Case{&second, 4096 + 1}}) {
        MPI_Status status{};
        from->send(7, "x");
        char buffer = '?';
        ASSERT_EQ(MPI_Recv(&buffer, 1, MPI_CHAR, MPI_ANY_SOURCE, 7, comm, &status), MPI_SUCCESS);
        EXPECT_EQ(status.MPI_SOURCE, rank);
        Far::Operation& here = from->receive(8);
        ASSERT_EQ(MPI_Send("y", 1, MPI_CHAR, rank, 8, comm), MPI_SUCCESS);
        ASSERT_TRUE(ended(here));
    }
    MPI_Comm_free(&comm);
}

/// The match word of one such rank.
TEST_F(World, high_rank__is_in_the_word_of_what_it_sends) {
    constexpr int kSize = 4096 + 6;
    Far& peer = join(context_id_ + 2000, 0);
    std::vector<near_card> cards(kSize, peer.card());
    MPI_Comm comm = near_communicator(context_id_ + 2000, kSize, 4096 + 5, cards.data());
    Far::Operation& here = peer.receive(8);
    ASSERT_EQ(MPI_Send("y", 1, MPI_CHAR, 0, 8, comm), MPI_SUCCESS);
    ASSERT_TRUE(ended(here));
    EXPECT_EQ(here.status.match, word(context_id_ + 2000, 5, 8));
    MPI_Comm_free(&comm);
}

/// Those of MPI_COMM_WORLD are met at once where they are few, so that their deaths are heard of.
TEST_F(World, ranks_of_the_world__are_known_at_once_up_to_128) {
    EXPECT_EQ(near_peer(comm_, 1), FCI_ICL_ANY_SOURCE) << "in others when they are spoken to";
    for (const int size : {128, 129}) {
        const std::vector<near_card> cards(static_cast<std::size_t>(size), far(1).card());
        MPI_Comm comm = near_communicator(context_id_ + 3000, size, 0, cards.data());
        near_lend_world(comm);
        for (const int rank : {1, size - 1}) {
            EXPECT_EQ(near_peer(MPI_COMM_WORLD, rank) == FCI_ICL_ANY_SOURCE, size == 129);
        }
        near_lend_world(MPI_COMM_NULL);
        MPI_Comm_free(&comm);
    }
}

TEST_F(World, one_who_has_gone__is_said_once_with_its_rank) {
    meet();
    near_lend_world(comm_);
    far(1).close();
    EXPECT_EQ(class_of(MPI_Recv(nullptr, 0, MPI_CHAR, 1, 1, comm_, MPI_STATUS_IGNORE)),
              MPI_ERR_OTHER);
    ASSERT_EQ(surroundings().said.size(), 1u) << said();
    EXPECT_EQ(said().find("fci: lost rank 1 of MPI_COMM_WORLD: "), 0u) << said();
    EXPECT_GT(said().size(), std::string("fci: lost rank 1 of MPI_COMM_WORLD: x\n").size());
    EXPECT_EQ(class_of(MPI_Recv(nullptr, 0, MPI_CHAR, 1, 1, comm_, MPI_STATUS_IGNORE)),
              MPI_ERR_OTHER);
    EXPECT_EQ(surroundings().said.size(), 1u) << said();
    Far& next = join(context_id_ + 4000, 1);
    const near_card cards[] = {{}, next.card()};
    MPI_Comm comm = near_communicator(context_id_ + 4000, 2, 0, cards);
    next.send(1, "");
    ASSERT_EQ(MPI_Recv(nullptr, 0, MPI_CHAR, 1, 1, comm, MPI_STATUS_IGNORE), MPI_SUCCESS);
    next.close();
    EXPECT_EQ(class_of(MPI_Recv(nullptr, 0, MPI_CHAR, 1, 1, comm, MPI_STATUS_IGNORE)),
              MPI_ERR_OTHER);
    ASSERT_EQ(surroundings().said.size(), 2u) << "another one: " << said();
    EXPECT_NE(said().find("lost a process of another job"), std::string::npos) << said();
    MPI_Comm_free(&comm);
    near_lend_world(MPI_COMM_NULL);
}

/// A program that uses no window waits asleep; one that uses one looks after it.
TEST_F(World, windows__are_counted_when_their_number_changes) {
    turn();
    surroundings().idle.clear();
    turn();
    EXPECT_TRUE(surroundings().idle.empty());
    near_have_window(true);
    turn();
    turn();
    EXPECT_EQ(surroundings().idle, std::vector<int>{FCI_ICL_MAY_YIELD});
    near_have_window(false);
    turn();
    turn();
    EXPECT_EQ(surroundings().idle, (std::vector<int>{FCI_ICL_MAY_YIELD, FCI_ICL_MAY_SLEEP}));
}

}  // namespace
}  // namespace fci::openmpi
