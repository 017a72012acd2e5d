// SPDX-License-Identifier: BSD-3-Clause
#include "fci_core/group/group.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "fci_core/group/hosts/notes.h"
#include "test/unit/group/members.h"

namespace fci::group::test {
namespace {

using Bytes = std::vector<std::uint8_t>;

Collective collective(int kind, unsigned root, void* data, std::size_t bytes) {
    Collective it{};
    it.kind = kind;
    it.root = root;
    it.own = it.data = data;
    it.bytes = bytes;
    it.lost = 99;
    it.reduction = kSum;
    return it;
}

/// A group refuses what is none of its collectives: at once, and nothing has begun.
void expect_refusals(Group& group, unsigned self, unsigned members) {
    std::vector<std::byte> data(2 * 70'000);
    const std::size_t longest = group.longest(), gather = group.longest_gather();
    const unsigned other = self == 0 ? 1 : 0;
    const auto answer = [&](int kind, unsigned root, std::size_t bytes) {
        Collective it = collective(kind, root, data.data(), bytes);
        return group.call(it, 1);
    };
    EXPECT_EQ(answer(-1, 0, 0), FCI_ICL_EINVAL);
    EXPECT_EQ(answer(FCI_ICL_REDUCE + 1, 0, 0), FCI_ICL_EINVAL);
    EXPECT_EQ(answer(FCI_ICL_BROADCAST, members, 8), FCI_ICL_EINVAL);
    EXPECT_EQ(answer(FCI_ICL_BROADCAST, kAll, 8), FCI_ICL_EINVAL);
    if (group.longest_broadcast() == longest) {
        EXPECT_EQ(answer(FCI_ICL_BROADCAST, self, longest + 1), FCI_ICL_EINVAL);
    } else {
        EXPECT_EQ(answer(FCI_ICL_BROADCAST, self, 1ull << 32), FCI_ICL_EINVAL);
        EXPECT_EQ(answer(FCI_ICL_BROADCAST, members, longest + 1), FCI_ICL_EINVAL);
    }
    EXPECT_EQ(answer(FCI_ICL_GATHER, members, 8), FCI_ICL_EINVAL);
    EXPECT_EQ(answer(FCI_ICL_GATHER, self, gather + 1), FCI_ICL_EINVAL);
    EXPECT_EQ(answer(FCI_ICL_GATHER, kAll, gather + 1), FCI_ICL_EINVAL);
    EXPECT_EQ(answer(FCI_ICL_REDUCE, members, 8), FCI_ICL_EINVAL);
    EXPECT_EQ(answer(FCI_ICL_REDUCE, other, longest + 1), FCI_ICL_EINVAL);
    EXPECT_EQ(answer(FCI_ICL_REDUCE, kAll, longest + 1), FCI_ICL_EINVAL);
}

TEST(Group, call__what_is_none_of_its_collectives) {
    Processes near(3);
    Formed on_one(near);
    ASSERT_EQ(on_one.form_all(), Answers(3, kDone));
    EXPECT_EQ(on_one[1].longest(), Entry::kLong);
    EXPECT_EQ(on_one[1].longest_gather(), Entry::kLong);
    EXPECT_EQ(on_one[1].longest_broadcast(), Entry::kLong);
    expect_refusals(on_one[1], 1, 3);
    Processes far(4, {.per_host = 2, .mapped = true});
    Formed on_two(far);
    ASSERT_EQ(on_two.form_all(), Answers(4, kDone));
    EXPECT_EQ(on_two[1].longest(), Entry::kLong);
    EXPECT_EQ(on_two[1].longest_gather(), Entry::kLong / 4);
    EXPECT_EQ(on_two[1].longest_broadcast(), Entry::kLong);
    expect_refusals(on_two[1], 1, 4);
    Processes hinted(6, {.per_host = 2, .mapped = true, .hints = {.work = true}});
    Formed on_three(hinted);
    ASSERT_EQ(on_three.form_all(), Answers(6, kDone));
    EXPECT_EQ(on_three[1].longest_broadcast(), UINT32_MAX);
    expect_refusals(on_three[1], 1, 6);
    on_three.leave();
    hinted.settle();
}

/// All kinds, of each root, where there is one table, neighbours, and hosts with and without hints.
TEST(Group, call__all_kinds_in_all_kinds_of_groups) {
    struct Layout {
        unsigned size, per_host;
        bool hints;
    };
    for (const Layout is :
         {Layout{3, 0, false}, Layout{17, 0, false}, Layout{5, 2, false}, Layout{5, 2, true}}) {
        Processes all(is.size,
                      {.per_host = is.per_host, .mapped = true, .hints = {.work = is.hints}});
        Formed group(all);
        all.meet_all();
        ASSERT_EQ(group.form_all(), Answers(is.size, kDone));
        for (const int kind :
             {FCI_ICL_BARRIER, FCI_ICL_BROADCAST, FCI_ICL_GATHER, FCI_ICL_REDUCE}) {
            for (const unsigned root : {0u, is.size - 1, 1u, kAll}) {
                if (root == kAll && kind == FCI_ICL_BROADCAST) continue;
                std::vector<std::uint64_t> own(is.size);
                std::vector<std::vector<std::uint64_t>> data(is.size,
                                                             std::vector<std::uint64_t>(is.size));
                std::vector<Collective> its;
                std::uint64_t sum = 0;
                for (unsigned rank = 0; rank < is.size; ++rank) {
                    sum += own[rank] = 100 + rank;
                    if (kind == FCI_ICL_BROADCAST) data[rank][0] = own[rank];
                    its.push_back(collective(kind, root, data[rank].data(), 8));
                    its[rank].own = &own[rank];
                }
                EXPECT_EQ(group.run([&](unsigned rank) { return group[rank].call(its[rank], 1); }),
                          Answers(is.size, kDone))
                    << kind << " of " << is.size;
                for (unsigned rank = 0; rank < is.size; ++rank) {
                    const bool is_told = root == kAll || root == rank;
                    if (kind == FCI_ICL_BROADCAST) {
                        EXPECT_EQ(data[rank][0], own[root]);
                    }
                    if (kind == FCI_ICL_REDUCE) {
                        EXPECT_EQ(data[rank][0], is_told ? sum : 0u);
                    }
                    if (kind == FCI_ICL_GATHER && is_told) {
                        EXPECT_EQ(data[rank], own);
                    }
                    EXPECT_EQ(its[rank].lost, 99u) << "nobody";
                }
            }
        }
        group.leave();
        all.settle();
    }
}

// A collective that all end together goes by the tables of neighbours, another by that of all.
TEST(Group, waiting__for_the_part_that_it_has_come_to) {
    Processes all(17);
    Formed group(all);
    ASSERT_EQ(group.form_all(), Answers(17, kDone));
    Group& one = group[3];
    std::uint64_t word = 1;
    Collective it = collective(FCI_ICL_BARRIER, 0, nullptr, 0);
    EXPECT_EQ(one.waiting(it), wait_of(one.run->levels().here));
    it = collective(FCI_ICL_REDUCE, kAll, &word, 8);
    EXPECT_EQ(one.waiting(it), wait_of(one.run->levels().here));
    it = collective(FCI_ICL_REDUCE, 3, &word, 8);
    EXPECT_EQ(one.waiting(it), wait_of(one.table));
    it = collective(FCI_ICL_GATHER, kAll, &word, 8);
    EXPECT_EQ(one.waiting(it), wait_of(one.table));
    it = collective(FCI_ICL_BROADCAST, 3, &word, 8);
    EXPECT_EQ(one.waiting(it), wait_of(one.table));
    EXPECT_EQ(one.waiting_to_form(), wait_of(one.table));
    const auto waits = group[8].waits();
    for (const progress::Wait* const wait :
         {static_cast<progress::Wait*>(wait_of(group[8].table)),
          static_cast<progress::Wait*>(wait_of(group[8].run->levels().here)),
          static_cast<progress::Wait*>(wait_of(group[8].run->levels().between))}) {
        EXPECT_EQ(std::ranges::count(waits, wait), 1);
    }
    EXPECT_FALSE(one.is_busy());
}

TEST(Group, sleep_only_over__one_of_its_waits) {
    Processes all(17);
    Formed group(all);
    ASSERT_EQ(group.form_all(), Answers(17, kDone));
    Group& one = group[8];
    progress::Waits waits;
    EXPECT_TRUE(waits.add(one.table->wait()));
    EXPECT_TRUE(waits.add(one.run->levels().here->wait()));
    EXPECT_TRUE(waits.add(one.run->levels().between->wait()));
    one.sleep_only_over(wait_of(one.run->levels().here));
    EXPECT_FALSE(waits.add(one.run->levels().here->wait())) << "it is there still";
    EXPECT_EQ(one.table->table().head().asleep, 0u);
    EXPECT_EQ(one.run->levels().between->table().head().asleep, 0u);
    EXPECT_EQ(one.run->levels().here->table().head().asleep, 1u);
    one.sleep_only_over(nullptr);
    EXPECT_TRUE(waits.empty());
}

TEST(Group, waiting_to_form__for_its_own_part_first) {
    Processes all(4, {.per_host = 2, .mapped = true});
    Formed group(all);
    EXPECT_EQ(group.form(1), kWaits);
    EXPECT_EQ(group[1].waiting_to_form(), wait_of(group[1].run->levels().here));
    EXPECT_EQ(group.form_all(), Answers(4, kDone));
    EXPECT_EQ(group[1].waiting_to_form(), group[1].run->waiting());
}

TEST(Group, call__names_who_has_gone) {
    Processes all(3);
    Formed group(all);
    all.meet_all();
    ASSERT_EQ(group.form_all(), Answers(3, kDone));
    all.lose(2);
    Collective its[2] = {collective(FCI_ICL_BARRIER, 0, nullptr, 0),
                         collective(FCI_ICL_BARRIER, 0, nullptr, 0)};
    const Answers answers =
        group.run([&](unsigned rank) { return group[rank].call(its[rank], 1); });
    EXPECT_EQ(answers, (Answers{FCI_ICL_EPEER, FCI_ICL_EPEER, kWaits}));
    EXPECT_EQ(its[0].lost, 2u);
    EXPECT_EQ(its[1].lost, 2u);
}

// Another process has said it, and may have said anything.
TEST(Group, call__names_nobody_who_is_no_member) {
    for (const unsigned named : {1u, 2u, 3u, 77u}) {
        Processes all(3, {.per_host = 1, .mapped = true});
        Formed group(all);
        all.meet_all();
        ASSERT_EQ(group.form_all(), Answers(3, kDone));
        const std::uint64_t word = std::uint64_t{-FCI_ICL_EPEER} << 32 | named;
        EXPECT_GE(all[0].messages->send({all[0].peers[1],
                                         mp::kGroupSpace,
                                         mp::kSendImmediate,
                                         match_of(0, 2, false),
                                         word,
                                         {}},
                                        {}, nullptr),
                  0);
        all.settle();
        std::uint64_t data = 0;
        Collective it = collective(FCI_ICL_BROADCAST, 0, &data, 8);
        EXPECT_EQ(group[1].call(it, 1), FCI_ICL_EPEER);
        EXPECT_EQ(it.lost, named < 3 ? named : FCI_ICL_NO_RANK);
    }
}

// --- long broadcasts ---

class Long : public testing::Test {
protected:
    static constexpr unsigned kMembers = 6;
    void SetUp() override {
        all.meet_all();
        ASSERT_EQ(group.form_all(), Answers(kMembers, kDone));
        ASSERT_TRUE(group[0].long_broadcast);
    }
    void TearDown() override {
        group.leave();
        all.settle();
    }
    Answers broadcast(unsigned root, const std::vector<std::size_t>& lengths) {
        data.clear();
        its.clear();
        for (unsigned rank = 0; rank < kMembers; ++rank) {
            data.emplace_back(lengths[rank], rank == root ? 7 : 0);
        }
        for (unsigned rank = 0; rank < kMembers; ++rank) {
            its.push_back(collective(FCI_ICL_BROADCAST, root, data[rank].data(), lengths[rank]));
        }
        return group.run([&](unsigned rank) { return group[rank].call(its[rank], 1); });
    }

    Processes all{kMembers, {.per_host = 2, .mapped = true, .hints = {.work = true}}};
    Formed group{all};
    std::vector<Bytes> data;
    std::vector<Collective> its;
};

TEST_F(Long, broadcast__begins_where_a_table_ends) {
    for (const unsigned root : {0u, 3u}) {
        for (const std::size_t length :
             {Entry::kLong, std::size_t{1096}, std::size_t{1097}, std::size_t{30'000}}) {
            const Answers answers = broadcast(root, std::vector<std::size_t>(kMembers, length));
            const bool goes_another_way = length > Entry::kLong && length <= 1096;
            EXPECT_EQ(answers, Answers(kMembers, goes_another_way ? FCI_ICL_EUNSUPPORTED : kDone))
                << length;
            if (goes_another_way) continue;
            for (const Bytes& one : data) EXPECT_EQ(one, Bytes(length, 7));
        }
    }
}

TEST_F(Long, broadcast__of_another_length_than_some_have_said) {
    for (const std::size_t other : {std::size_t{8}, std::size_t{4000}, std::size_t{6000}}) {
        std::vector<std::size_t> lengths(kMembers, 5000);
        lengths[4] = other;
        const Answers answers = broadcast(0, lengths);
        for (unsigned rank = 0; rank < kMembers; ++rank) {
            EXPECT_EQ(answers[rank], rank == 4 || rank == 5 ? answers[rank] : kDone) << rank;
        }
        EXPECT_EQ(answers[4], FCI_ICL_ETRUNC);
        EXPECT_NE(answers[5], kWaits);
        if (other < 5000) {
            EXPECT_EQ(data[4], Bytes(other)) << "nothing is copied";
        }
        EXPECT_EQ(broadcast(1, std::vector<std::size_t>(kMembers, 64)), Answers(kMembers, kDone))
            << "and all goes on";
    }
}

// Nobody would take the word of one that expects another length, as nobody waits for it.
TEST_F(Long, broadcast__that_goes_another_way_is_refused_by_nobody) {
    std::vector<std::size_t> lengths(kMembers, Entry::kLong + 1);
    lengths[4] = 5000;
    Answers answers(kMembers, FCI_ICL_EUNSUPPORTED);
    answers[4] = FCI_ICL_ETRUNC;
    EXPECT_EQ(broadcast(0, lengths), answers);
    all.settle();
    for (unsigned rank = 0; rank < kMembers; ++rank) {
        EXPECT_EQ(all[rank].messages->engine().arrived.size(), 0u) << rank;
    }
    EXPECT_EQ(broadcast(3, std::vector<std::size_t>(kMembers, 5000)), Answers(kMembers, kDone));
}

TEST_F(Long, waits__are_all_those_of_the_group) {
    const auto waits = group[0].waits();
    const auto of_long = group[0].long_broadcast->waits();
    EXPECT_EQ(std::ranges::count(waits, group[0].run->waits()[2]), 1);
    EXPECT_EQ(std::ranges::count(waits, wait_of(group[0].run->levels().here)), 1);
    for (const progress::Wait* const one : of_long) {
        if (one != nullptr) {
            EXPECT_EQ(std::ranges::count(waits, one), 1);
        }
    }
    LongBroadcast* const before = group[0].long_broadcast.get();
    group[0].begin_long();
    EXPECT_EQ(group[0].long_broadcast.get(), before) << "once";
}

// --- what others say ---

// A group that nobody could have here: who would send a part of it that is wanted says no.
TEST(Group, on_progress__who_wants_a_part_of_what_is_not_here_is_told_so) {
    Processes all(2, {.per_host = 1, .mapped = true});
    Formed group(all, 5);
    all.meet_all();
    ASSERT_EQ(group.form_all(), Answers(2, kDone));
    ASSERT_FALSE(group[0].long_broadcast);
    mp::MessagePassing& messages = *all[1].messages;
    const mp::Pattern nothing{all[1].peers[0], mp::kGroupSpace, match_of(5, 9, true), 0};
    send_note(messages, all[1].peers[0], LongProgress{5, 9, 0, 0, 0});
    all.settle();
    EXPECT_NE(messages.probe(nothing, nullptr, nullptr), mp::kSuccess) << "nothing is wanted";
    send_note(messages, all[1].peers[0], LongProgress{6, 9, 0, 4096, 0});
    all.settle();
    EXPECT_NE(messages.probe(nothing, nullptr, nullptr), mp::kSuccess) << "of another group";
    send_note(messages, all[1].peers[0], LongProgress{5, 9, 0, 4096, 0});
    all.settle();
    EXPECT_EQ(messages.probe(nothing, nullptr, nullptr), mp::kSuccess);
}

// One that spoke for a root that has died may leave before all others have asked it.
TEST(Group, on_progress__who_wants_a_part_of_what_is_left_is_told_so) {
    Processes all(3, {.per_host = 1, .mapped = true, .hints = {.work = true}});
    Formed group(all, 5);
    all.meet_all();
    ASSERT_EQ(group.form_all(), Answers(3, kDone));
    group.leave();
    mp::MessagePassing& messages = *all[2].messages;
    const mp::Pattern nothing{all[2].peers[0], mp::kGroupSpace, match_of(5, 9, true), 0};
    const auto say = [&](std::uint32_t wanted) {
        send_note(messages, all[2].peers[0], LongProgress{5, 9, 0, wanted, 0});
        all.settle();
        return messages.probe(nothing, nullptr, nullptr);
    };
    EXPECT_NE(say(0), mp::kSuccess) << "nothing is wanted";
    EXPECT_EQ(say(4096), mp::kSuccess);
}

}  // namespace
}  // namespace fci::group::test
