// SPDX-License-Identifier: BSD-3-Clause
// netmod/openmpi/unlike.c: members of which one goes by the group, and another one, with another
// number of bytes, does not.
#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

#include "test/unit/openmpi/members.h"

namespace fci::openmpi {
namespace {

constexpr std::uint32_t kMessage = 1;  // the number of the active message

/// As one member tells another what it was called with.
struct Told {
    std::uint64_t key, number, bytes;
    std::uint32_t kind, below;
    std::uint64_t is_answer;
};
constexpr std::uint32_t kBcast = 1;

/// The near end is rank 0 of three. Its second collective is the first of a test.
class Unlike : public Members {
protected:
    Unlike() {
        have_groups();
        for (const int rank : others()) {
            fci_icl_am_register(far(rank).context(), kMessage, hear, &heard_[at(rank)]);
        }
    }

    static void hear(void* user, fci_icl_peer, const void* header, std::size_t bytes, const void*,
                     std::uint64_t, fci_icl_am_landing*) {
        Told it{};
        ASSERT_EQ(bytes, sizeof it);
        std::memcpy(&it, header, sizeof it);
        static_cast<std::vector<Told>*>(user)->push_back(it);
    }
    void tell(int from, const Told& it, std::size_t bytes = sizeof(Told)) {
        fci_icl_order order = 0;
        EXPECT_GE(fci_icl_am_send(far(from).context(), far(from).near(), kMessage, 0, &it, bytes,
                                  nullptr, 0, nullptr, &order),
                  0);
        told_.push_back(it);
    }
    /// The second call of the near end: a broadcast of four bytes.
    Told mine() const { return {key(), 2, 4, kBcast, 0, 0}; }
    std::size_t answers() const { return heard_[1].size(); }
    /// The near end waits for a broadcast of rank 2 that comes so many turns after `first`.
    int broadcast_that_waits(std::function<void()> first, unsigned turns) {
        int number = 0;
        far(1).wait(20);  // so that it waits already
        far(1).then([first] { return first(), FCI_ICL_DONE; });
        far(2).wait(turns);
        broadcast(2, 2, bytes_of({42}));
        broadcast(1, 2, "????");
        const int answer = MPI_Bcast(&number, 1, MPI_INT, 2, comm_);
        all_took_part();
        return answer;
    }

    std::vector<Told> heard_[3];
    std::deque<Told> told_;
};

TEST_F(Unlike, one_that_waits_for_long__asks_the_others_again_and_again) {
    surroundings().now = 50;
    // The clock is looked at in each 16th turn.
    far(1).wait(100);
    far(1).then([&] { return surroundings().now = 52.9, FCI_ICL_DONE; });
    far(1).wait(100);
    std::size_t before = 0, after = 0, later = 0;
    far(1).then([&] {
        before = heard_[1].size() + heard_[2].size();
        surroundings().now = 53;
        return FCI_ICL_DONE;
    });
    far(1).wait(100);
    far(1).then([&] {
        after = heard_[1].size() + heard_[2].size();
        surroundings().now = 55.9;
        return FCI_ICL_DONE;
    });
    far(1).wait(100);
    far(1).then([&] {
        later = heard_[1].size() + heard_[2].size();
        surroundings().now = 57;
        return FCI_ICL_DONE;
    });
    ASSERT_EQ(broadcast_that_waits([] {}, 1000), MPI_SUCCESS);
    EXPECT_EQ(before, 0u);
    EXPECT_EQ(after, 2u);
    EXPECT_EQ(later, 2u);
    for (const int rank : others()) {
        ASSERT_EQ(heard_[rank].size(), 2u);
        const Told& it = heard_[rank].front();
        EXPECT_EQ(it.key, key());
        EXPECT_EQ(it.number, 2u);
        EXPECT_EQ(it.bytes, 4u);
        EXPECT_EQ(it.kind, kBcast);
        EXPECT_EQ(it.below, 0u);
        EXPECT_EQ(it.is_answer, 0u);
    }
    EXPECT_EQ(said(), "");
    EXPECT_EQ(surroundings().aborted_with, 0);
}

TEST_F(Unlike, answer_that_differs__ends_the_job_and_says_why) {
    const auto answer = [this] {
        Told it = mine();
        it.bytes = 1'000'000;
        it.below = 1;
        it.is_answer = 1;
        tell(1, it);
    };
    EXPECT_EQ(broadcast_that_waits(answer, 300), MPI_SUCCESS) << "were it not for the end";
    EXPECT_EQ(surroundings().aborted_with, MPI_ERR_TRUNCATE);
    ASSERT_EQ(surroundings().said.size(), 1u) << "once: " << said();
    EXPECT_NE(said().find("MPI_Bcast of communicator " + std::to_string(context_id_) +
                          ": rank 1 has 1000000 bytes, rank 0 has 4."),
              std::string::npos)
        << said();
}

/// An answer that is not about this very collective, or says the same, is not believed.
TEST_F(Unlike, answer_about_another__is_left_alone) {
    struct Case {
        const char* name;
        std::function<void(Told&)> change;
    };
    const Case cases[] = {
        {"another communicator", [](Told& it) { ++it.key; }},
        {"another call", [](Told& it) { it.number += 32; }},
        {"an older call", [](Told& it) { --it.number; }},
        {"another collective", [](Told& it) { it.kind = 2; }},
        {"as many bytes", [](Told& it) { it.bytes = 4; }},
        {"the same way", [](Told& it) { it.below = 0; }},
        {"a question", [](Told& it) { it.is_answer = 0; }},
    };
    std::uint64_t number = 1;
    for (const Case& one : cases) {
        ++number;
        const auto answer = [&] {
            Told it = mine();
            it.number = number;
            it.bytes = 9;
            it.below = 1;
            it.is_answer = 1;
            one.change(it);
            tell(1, it);
        };
        EXPECT_EQ(broadcast_that_waits(answer, 200), MPI_SUCCESS);
        EXPECT_EQ(surroundings().aborted_with, 0) << one.name;
        EXPECT_EQ(said(), "") << one.name;
    }
    ++number;
    const auto cut = [&] { tell(1, {key(), number, 9, kBcast, 1, 1}, sizeof(Told) - 8); };
    EXPECT_EQ(broadcast_that_waits(cut, 200), MPI_SUCCESS);
    EXPECT_EQ(surroundings().aborted_with, 0) << "a message of another length";
}

/// One is asked by a member that waits, about what it was called with last, or some time ago.
TEST_F(Unlike, question__is_answered_where_it_was_called_otherwise) {
    ASSERT_EQ(broadcast_that_waits([] {}, 1), MPI_SUCCESS);
    struct Case {
        const char* name;
        std::function<void(Told&)> change;
        std::size_t answers;
    };
    const Case cases[] = {
        {"differs", [](Told&) {}, 1},
        {"another communicator", [](Told& it) { ++it.key; }, 0},
        {"to come", [](Told& it) { ++it.number; }, 0},
        {"long ago", [](Told& it) { it.number += 32; }, 0},
        {"another collective", [](Told& it) { it.kind = 3; }, 0},
        {"as many bytes", [](Told& it) { it.bytes = 4; }, 0},
        {"the same way", [](Told& it) { it.below = 0; }, 0},
    };
    for (const Case& one : cases) {
        heard_[1].clear();
        Told it = mine();
        it.bytes = 9;
        it.below = 1;
        one.change(it);
        tell(1, it);
        turn(50);
        EXPECT_EQ(heard_[1].size(), one.answers) << one.name;
        EXPECT_EQ(heard_[2].size(), 0u);
    }
    heard_[1].clear();
    tell(1, {key(), 2, 9, kBcast, 1, 0});
    ASSERT_TRUE(until("an answer", [&] { return answers() == 1; }));
    const Told& it = heard_[1].front();
    EXPECT_EQ(it.key, key());
    EXPECT_EQ(it.number, 2u);
    EXPECT_EQ(it.bytes, 4u);
    EXPECT_EQ(it.kind, kBcast);
    EXPECT_EQ(it.below, 0u);
    EXPECT_EQ(it.is_answer, 1u);
}

/// One that went below says so.
TEST_F(Unlike, question__is_answered_by_one_that_went_below) {
    std::string data(limits_.broadcast + 1, '?');
    ASSERT_EQ(MPI_Bcast(data.data(), static_cast<int>(data.size()), MPI_CHAR, 2, comm_),
              MPI_SUCCESS);
    ASSERT_EQ(below_.calls, 1);
    tell(1, {key(), 2, 4, kBcast, 0, 0});
    ASSERT_TRUE(until("an answer", [&] { return answers() == 1; }));
    EXPECT_EQ(heard_[1].front().bytes, data.size());
    EXPECT_EQ(heard_[1].front().below, 1u);
}

}  // namespace
}  // namespace fci::openmpi
