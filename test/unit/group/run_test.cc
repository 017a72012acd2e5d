// SPDX-License-Identifier: BSD-3-Clause
// Groups over hosts.
#include "fci_core/group/run.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <vector>

#include "test/unit/group/members.h"

namespace fci::group::test {
namespace {

// --- hosts of two members each ---

class Hosts : public testing::Test {
protected:
    static constexpr unsigned kMembers = 6;
    explicit Hosts(bool hints = false)
        : all(kMembers, {.per_host = 2, .mapped = true, .hints = {.work = hints}}) {}
    void SetUp() override {
        all.meet_all();
        ASSERT_EQ(group.form_all(), Answers(kMembers, kDone));
        ASSERT_EQ(group.run_of(0).levels().parts.count(), 3u);
    }
    /// Each with its own length and room for it.
    Answers broadcast(unsigned root, Lengths& bytes) {
        data.assign(kMembers, std::vector<std::byte>(4096));
        data[root].assign(4096, std::byte{7});
        return group.run([&](unsigned rank) {
            return group.levels(rank).broadcast(root, data[rank].data(), &bytes[rank], 1);
        });
    }
    [[nodiscard]] long heard(unsigned rank) const {
        return std::ranges::count(data[rank], std::byte{7});
    }
    Answers reduce(unsigned root, Lengths& bytes, Words& words) {
        return group.run([&](unsigned rank) {
            return group.levels(rank).reduce(root, &words[2 * rank], &words[2 * rank], &bytes[rank],
                                             kSum, 1);
        });
    }

    Processes all;
    Formed group{all};
    std::vector<std::vector<std::byte>> data;
};

TEST_F(Hosts, broadcast__of_any_root_and_any_length) {
    for (unsigned root = 0; root < kMembers; ++root) {
        for (const std::size_t length : {std::size_t{0}, std::size_t{1}, Entry::kLong}) {
            Lengths bytes(kMembers, length);
            EXPECT_EQ(broadcast(root, bytes), Answers(kMembers, kDone)) << root;
            EXPECT_EQ(bytes, Lengths(kMembers, length));
            for (unsigned rank = 0; rank < kMembers; ++rank) {
                if (rank != root) {
                    EXPECT_EQ(heard(rank), static_cast<long>(length)) << rank;
                }
            }
        }
    }
    EXPECT_EQ(all[5].counters().host_collectives, 1 + 3 * kMembers);
}

TEST_F(Hosts, broadcast__what_there_is_no_room_for_is_not_copied) {
    for (const unsigned root : {0u, 3u}) {
        Lengths bytes{16, 16, 15, 16, 8, 15};
        bytes[root] = 16;
        const Lengths room = bytes;
        EXPECT_EQ(broadcast(root, bytes), Answers(kMembers, kDone));
        EXPECT_EQ(bytes, Lengths(kMembers, 16));
        for (unsigned rank = 0; rank < kMembers; ++rank) {
            if (rank != root) {
                EXPECT_EQ(heard(rank), room[rank] == 16 ? 16 : 0) << rank;
            }
        }
    }
}

// More than a table takes, as only somebody who forges it can send it.
TEST_F(Hosts, broadcast__of_data_that_are_longer_than_any_can_be) {
    for (const std::size_t length : {Entry::kLong, Entry::kLong + 1, HintSlots::kMost}) {
        const std::uint64_t number = group.run_of(2).ended() + 1;
        std::vector<std::byte> forged(length, std::byte{7});
        const iovec range{forged.data(), length};
        ASSERT_GE(
            all[0].messages->send(
                {all[0].peers[2], mp::kGroupSpace, 0, match_of(0, number, false), 0, {&range, 1}},
                {}, nullptr),
            0);
        all.settle();
        std::array<int, 2> answers{kWaits, kWaits};
        Lengths bytes(2, 2048);
        data.assign(2, std::vector<std::byte>(4096));
        for (unsigned i = 0; i < 4; ++i) {
            for (const unsigned at : {0u, 1u}) {
                if (answers[at] != kWaits) continue;
                answers[at] = group.levels(2 + at).broadcast(0, data[at].data(), &bytes[at], 1);
            }
        }
        const bool is_good = length <= Entry::kLong;
        for (const unsigned at : {0u, 1u}) {
            EXPECT_EQ(answers[at], is_good ? kDone : FCI_ICL_ETRUNC) << length;
            EXPECT_EQ(heard(at), is_good ? static_cast<long>(length) : 0);
        }
    }
}

TEST_F(Hosts, reduce__to_one_root_or_to_all) {
    for (const unsigned root : {0u, 1u, 4u, 5u, kAll}) {
        Words words(2 * kMembers);
        for (unsigned rank = 0; rank < kMembers; ++rank) words[2 * rank] = 1u << rank;
        const Words before = words;
        Lengths bytes(kMembers, 8);
        EXPECT_EQ(reduce(root, bytes, words), Answers(kMembers, kDone));
        EXPECT_EQ(bytes, Lengths(kMembers, 8));
        for (unsigned rank = 0; rank < kMembers; ++rank) {
            const bool is_told = root == kAll || root == rank;
            EXPECT_EQ(words[2 * rank], is_told ? 63u : before[2 * rank]) << root << ' ' << rank;
        }
    }
}

TEST_F(Hosts, reduce__of_a_length_unlike_the_others) {
    for (unsigned other = 0; other < kMembers; ++other) {
        Words words(2 * kMembers, 3);
        Lengths bytes(kMembers, 8);
        bytes[other] = 16;
        EXPECT_EQ(reduce(kAll, bytes, words), Answers(kMembers, FCI_ICL_ETRUNC)) << other;
        EXPECT_EQ(words, Words(2 * kMembers, 3));
        EXPECT_EQ(group.run([&](unsigned rank) { return group.levels(rank).barrier(1); }),
                  Answers(kMembers, kDone));
    }
}

TEST_F(Hosts, waiting__for_what_it_has_come_to) {
    Calls first = group.levels(4);
    Calls second = group.levels(5);
    EXPECT_EQ(first.barrier(1), kWaits);
    EXPECT_EQ(first.run.waiting(), wait_of(first.here()));
    EXPECT_EQ(second.barrier(1), kWaits);
    EXPECT_EQ(second.run.waiting(), wait_of(second.here()));
    EXPECT_EQ(first.barrier(1), kWaits);
    EXPECT_EQ(first.run.waiting(), first.exchange());
    EXPECT_EQ(first.run.ended(), 0u);
    EXPECT_EQ(first.between(), nullptr);
    EXPECT_EQ(group.run([&](unsigned rank) { return group.levels(rank).barrier(1); }),
              Answers(kMembers, kDone));
    EXPECT_EQ(first.run.ended(), 2u);
    EXPECT_EQ(first.run.waiting(), wait_of(first.here()));
    // One that is only told waits for a message like any.
    std::uint64_t word = 0;
    std::size_t bytes = 8;
    EXPECT_EQ(group.levels(4).broadcast(0, &word, &bytes, 1), kWaits);
    EXPECT_EQ(group.run_of(4).waiting(), nullptr);
    Lengths lengths(kMembers, 8);
    EXPECT_EQ(broadcast(0, lengths), Answers(kMembers, kDone));
}

// A collective is known by its number, so those of a root that is ahead wait.
TEST_F(Hosts, broadcast__a_root_is_ahead_of_other_hosts) {
    for (std::uint64_t i = 0; i < 5; ++i) {
        std::size_t bytes = 8;
        EXPECT_EQ(group.levels(0).broadcast(0, &i, &bytes, 1), kDone);
    }
    all.settle();
    for (std::uint64_t i = 0; i < 5; ++i) {
        for (unsigned rank = 1; rank < kMembers; ++rank) {
            std::uint64_t word = 99;
            std::size_t bytes = 8;
            ASSERT_EQ(group.levels(rank).broadcast(0, &word, &bytes, 1), kDone);
            EXPECT_EQ(word, i);
        }
    }
}

TEST(Run, collectives__name_who_has_gone) {
    for (unsigned victim = 0; victim < 6; ++victim) {
        for (const bool reduces : {false, true}) {
            Processes all(6, {.per_host = 2, .mapped = true});
            Formed group(all);
            all.meet_all();
            ASSERT_EQ(group.form_all(), Answers(6, kDone));
            all.lose(victim);
            Words words(6);
            const Answers answers = group.run([&](unsigned rank) {
                std::size_t bytes = 8;
                Calls own = group.levels(rank);
                return reduces ? own.reduce(kAll, &words[rank], &words[rank], &bytes, kSum, 1)
                               : own.barrier(1);
            });
            for (unsigned rank = 0; rank < 6; ++rank) {
                if (rank == victim) continue;
                EXPECT_EQ(answers[rank], FCI_ICL_EPEER) << rank << " without " << victim;
                EXPECT_EQ(group.run_of(rank).lost(), victim) << "as " << rank << " has it";
            }
            group.leave();
            all.settle();
        }
    }
}

TEST(Run, broadcast__of_a_root_that_has_gone) {
    for (const unsigned root : {2u, 3u}) {
        Processes all(6, {.per_host = 2, .mapped = true});
        Formed group(all);
        all.meet_all();
        ASSERT_EQ(group.form_all(), Answers(6, kDone));
        all.lose(root);
        std::uint64_t word = 5;
        const Answers answers = group.run([&](unsigned rank) {
            std::size_t bytes = 8;
            return group.levels(rank).broadcast(root, &word, &bytes, 1);
        });
        for (unsigned rank = 0; rank < 6; ++rank) {
            if (rank == root) continue;
            EXPECT_EQ(answers[rank], FCI_ICL_EPEER) << rank;
            EXPECT_EQ(group.run_of(rank).lost(), root) << "as " << rank << " has it";
        }
        EXPECT_EQ(word, 5u);
    }
}

// --- forming ---

TEST(Run, form__the_least_that_any_host_has_room_for) {
    Processes all(6, {.per_host = 2, .mapped = true});
    all.meet_all();
    std::vector<Group*> groups;
    for (unsigned rank = 0; rank < 6; ++rank) {
        all[rank].groups = std::make_unique<Groups>(*all[rank].messages);
        const std::size_t most = rank / 2 == 1 ? Entry::kShort : Entry::kLong;
        groups.push_back(&all[rank].groups->begin(all.members(rank, 0, most)));
    }
    std::vector<int> answers(6, kWaits);
    for (unsigned i = 0; i < 20; ++i, all.settle()) {
        for (unsigned rank = 0; rank < 6; ++rank) {
            if (answers[rank] != kWaits) continue;
            answers[rank] = all[rank].groups->form(*groups[rank], false, 1);
        }
    }
    EXPECT_EQ(answers, Answers(6, kDone));
    for (const Group* const one : groups) EXPECT_EQ(one->longest(), Entry::kShort);
}

TEST(Run, form__where_one_host_has_no_table_for_its_members_there_is_none) {
    Processes all(6, {.per_host = 2, .mapped = false});
    Formed group(all);
    all.meet_all();
    EXPECT_EQ(group.form_all(), Answers(6, FCI_ICL_EUNREACHABLE));
    group.leave();
    Processes alone(3, {.per_host = 1, .mapped = false});
    Formed other(alone);
    EXPECT_EQ(other.form_all(), Answers(3, kDone)) << "they need none";
    EXPECT_EQ(other[0].longest(), Entry::kLong);
}

TEST(Run, form__names_who_has_gone_then_and_later) {
    for (unsigned victim = 0; victim < 6; ++victim) {
        Processes all(6, {.per_host = 2, .mapped = true});
        Formed group(all);
        all.meet_all();
        all.lose(victim);
        const Answers formed = group.form_all();
        const Answers later =
            group.run([&](unsigned rank) { return group.levels(rank).barrier(1); });
        for (unsigned rank = 0; rank < 6; ++rank) {
            if (rank == victim) continue;
            EXPECT_EQ(formed[rank], FCI_ICL_EPEER) << rank << " without " << victim;
            EXPECT_EQ(later[rank], FCI_ICL_EPEER) << rank << " without " << victim;
            EXPECT_EQ(group.run_of(rank).lost(), victim) << "as " << rank << " has it";
        }
        group.leave();
        all.settle();
    }
}

// --- with hints ---

class HintedHosts : public Hosts {
protected:
    HintedHosts() : Hosts(true) {}
    void SetUp() override {
        Hosts::SetUp();
        ASSERT_TRUE(group.run_of(0).hinting().works());
    }
    void TearDown() override {
        group.leave();
        all.settle();
    }
};

TEST_F(HintedHosts, broadcast__of_any_root_and_any_length) {
    for (unsigned round = 0; round < 2; ++round) {
        for (unsigned root = 0; root < kMembers; ++root) {
            for (const std::size_t length : {std::size_t{0}, std::size_t{9}, Entry::kLong}) {
                Lengths bytes(kMembers, length);
                EXPECT_EQ(broadcast(root, bytes), Answers(kMembers, kDone)) << root;
                EXPECT_EQ(bytes, Lengths(kMembers, length));
                for (unsigned rank = 0; rank < kMembers; ++rank) {
                    if (rank != root) {
                        EXPECT_EQ(heard(rank), static_cast<long>(length)) << rank;
                    }
                }
            }
        }
    }
    EXPECT_GT(all.world.statistics().hints, 0u);
}

// The leader of the root's host has them not, so no other host gets them.
TEST_F(HintedHosts, broadcast__of_more_than_the_leader_of_the_roots_host_has_room_for) {
    for (const std::size_t room : {15u, 16u}) {
        Lengths bytes(kMembers, 16);
        bytes[2] = room;
        const Answers answers = broadcast(3, bytes);
        for (unsigned rank = 0; rank < kMembers; ++rank) {
            const bool fails = room == 15 && rank != 3;
            EXPECT_EQ(answers[rank], fails ? FCI_ICL_ETRUNC : kDone) << rank;
            EXPECT_EQ(heard(rank), rank == 3 ? 4096 : fails ? 0 : 16);
        }
    }
    Lengths bytes(kMembers, 16);
    EXPECT_EQ(broadcast(0, bytes), Answers(kMembers, kDone)) << "and all goes on";
}

TEST_F(HintedHosts, broadcast__what_there_is_no_room_for_is_not_copied) {
    for (const unsigned root : {0u, 2u}) {
        Lengths bytes{16, 15, 16, 16, 15, 16};
        EXPECT_EQ(broadcast(root, bytes), Answers(kMembers, kDone));
        EXPECT_EQ(bytes, Lengths(kMembers, 16));
        EXPECT_EQ(heard(1), 0);
        EXPECT_EQ(heard(3), 16);
        EXPECT_EQ(heard(4), 0);
        EXPECT_EQ(heard(5), 16);
    }
}

// A member that hears of it can have missed what its root said of the next ones, and takes no more
// part.
TEST(Run, broadcast__with_hints_without_one_that_has_gone) {
    for (const unsigned victim : {0u, 2u, 3u, 4u}) {
        Processes all(6, {.per_host = 2, .mapped = true, .hints = {.work = true}});
        Formed group(all);
        all.meet_all();
        ASSERT_EQ(group.form_all(), Answers(6, kDone));
        all.lose(victim);
        for (const unsigned root : {victim, 1u}) {
            if (root == victim && victim == 1) continue;
            std::uint64_t word = 5;
            const Answers answers = group.run([&](unsigned rank) {
                std::size_t bytes = 8;
                std::uint64_t own = 5;
                return group.levels(rank).broadcast(root, rank == root ? &word : &own, &bytes, 1);
            });
            for (unsigned rank = 0; rank < 6; ++rank) {
                if (rank == victim) continue;
                EXPECT_NE(answers[rank], kWaits) << rank << " without " << victim;
                if (root == victim) {
                    EXPECT_EQ(answers[rank], FCI_ICL_EPEER) << rank;
                }
            }
        }
        group.leave();
        all.settle();
    }
}

}  // namespace
}  // namespace fci::group::test
