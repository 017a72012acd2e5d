// SPDX-License-Identifier: BSD-3-Clause
#include "fci_core/group/plan.h"

#include <gtest/gtest.h>

#include <array>
#include <string>
#include <vector>

#include "test/unit/group/plans.h"

namespace fci::group::test {
namespace {

std::string text(const Case& of) {
    const auto name = [](unsigned part) { return part == kNone ? "-" : std::to_string(part); };
    return "flow " + std::to_string(static_cast<int>(of.flow)) + ", way " +
           std::to_string(static_cast<int>(of.way)) + ", parts " +
           std::to_string(of.members.size()) + " of " + std::to_string(of.members.front()) + ".." +
           std::to_string(of.members.back()) + ", root " + std::to_string(of.root) + "." +
           std::to_string(of.root_place) + ", lost " + name(of.lost) + ", refused " +
           name(of.refused) + ", unsure " + name(of.unsure) + ", dead " + name(of.dead) +
           " after " + std::to_string(of.dies_after);
}

void look(const Case& of) {
    Job job(of);
    ASSERT_EQ(job.run(), "") << text(of);
}

/// Each process dies after each of the things that it does.
void look_at_deaths(Case of) {
    unsigned count = 0;
    for (const unsigned members : of.members) count += members;
    for (of.dead = 0; of.dead < count; ++of.dead) {
        bool has_died = true;
        for (of.dies_after = 0; has_died; ++of.dies_after) {
            Job job(of);
            ASSERT_EQ(job.run(), "") << text(of);
            has_died = job.has_died();
        }
    }
}

constexpr unsigned kPartsMost = 64;
constexpr unsigned kEach = 9;  // up to so many parts all of them are taken; of more, some

/// Of many parts the root is in the first, the last or the middle one; so is the part that is lost.
std::vector<unsigned> some(unsigned parts) {
    if (parts > kEach) return {0, parts / 2, parts - 1};
    std::vector<unsigned> all;
    for (unsigned part = 0; part < parts; ++part) all.push_back(part);
    return all;
}

/// One member each, three members each, and one to three; of many parts only these.
std::vector<std::vector<unsigned>> shapes(unsigned parts) {
    std::vector<unsigned> mixed;
    for (unsigned part = 0; part < parts; ++part) mixed.push_back(1 + (part + parts) % 3);
    if (parts > kEach) return {mixed};
    return {std::vector<unsigned>(parts, 1), std::vector<unsigned>(parts, 3), mixed};
}

/// Each group of 2 to so many parts, and each of its roots: the first of its part, and the last.
template <class F>
void for_each_group(Flow flow, unsigned most, const F& visit) {
    for (unsigned parts = 2; parts <= most; ++parts) {
        for (const auto& members : shapes(parts)) {
            Case of{.flow = flow, .members = members};
            const auto roots = of.has_root() ? some(parts) : std::vector<unsigned>{0};
            for (const unsigned root : roots) {
                of.root = root;
                of.root_place = 0;
                ASSERT_NO_FATAL_FAILURE(visit(of));
                of.root_place = members[root] - 1;
                if (!of.has_root() || of.root_place == 0) continue;
                ASSERT_NO_FATAL_FAILURE(visit(of));
            }
        }
    }
}

void look_with_lost_parts(Case of) {
    for (const unsigned part : some(static_cast<unsigned>(of.members.size()))) {
        of.lost = part;
        ASSERT_NO_FATAL_FAILURE(look(of));
    }
}

/// Of four parts, of which the second one has the root, which is not its first member.
std::string stages(Flow flow, unsigned part, bool is_first, bool is_root, Way way = Way::plain,
                   bool is_lost = false) {
    const Plan plan = Plan::of(flow, {4, part, 1, false, is_first, is_root, true, true, is_lost,
                                      way});
    constexpr std::array kNames{"up", "hand", "across", "between", "chain", "down"};
    std::string all = plan.leads ? "leads:" : "";
    for (unsigned i = 0; i < plan.count; ++i) {
        if (!all.empty()) all += ' ';
        all += kNames.at(static_cast<unsigned>(plan.stages[i]));
    }
    return all;
}

TEST(Plan, stages__of_reductions) {
    EXPECT_EQ(stages(Flow::to_all, 0, true, false), "leads: up across down");
    EXPECT_EQ(stages(Flow::to_all, 0, false, false), "up down");
    EXPECT_EQ(stages(Flow::to_root, 0, true, false), "leads: up across");
    EXPECT_EQ(stages(Flow::to_root, 1, true, false), "up");
    EXPECT_EQ(stages(Flow::to_root, 1, false, true), "leads: up across");
    EXPECT_EQ(stages(Flow::forming, 0, true, false), "leads: across down");
    EXPECT_EQ(stages(Flow::forming, 0, false, false), "down");
}

TEST(Plan, stages__of_broadcasts) {
    EXPECT_EQ(stages(Flow::from_root, 1, false, true), "leads: across down");
    EXPECT_EQ(stages(Flow::from_root, 1, true, false), "down");
    EXPECT_EQ(stages(Flow::from_root, 0, true, false), "leads: across down");
    EXPECT_EQ(stages(Flow::from_root, 1, false, true, Way::by_chain), "hand");
    EXPECT_EQ(stages(Flow::from_root, 1, true, false, Way::by_chain), "leads: hand chain");
    EXPECT_EQ(stages(Flow::from_root, 0, true, false, Way::by_chain), "leads: chain down");
    EXPECT_EQ(stages(Flow::from_root, 0, true, false, Way::by_tree), "leads: across down");
    EXPECT_EQ(stages(Flow::from_root, 0, true, false, Way::is_unsure), "leads: across down");
    EXPECT_EQ(stages(Flow::from_root, 0, false, false, Way::by_chain), "down");
}

// Each member that others may take for the leader of a part that is lost tells them so.
TEST(Plan, stages__of_a_part_that_is_lost) {
    EXPECT_EQ(stages(Flow::to_all, 0, true, false, Way::plain, true), "leads: across");
    EXPECT_EQ(stages(Flow::to_all, 0, false, false, Way::plain, true), "");
    EXPECT_EQ(stages(Flow::from_root, 1, true, false, Way::plain, true), "leads: across");
    EXPECT_EQ(stages(Flow::from_root, 1, false, true, Way::plain, true), "leads: across");
    EXPECT_EQ(stages(Flow::from_root, 1, false, false, Way::plain, true), "");
}

TEST(Plan, all_end__reductions) {
    for (const Flow flow : {Flow::to_all, Flow::to_root}) {
        for_each_group(flow, kPartsMost, [](const Case& of) {
            ASSERT_NO_FATAL_FAILURE(look(of));
            look_with_lost_parts(of);
        });
    }
}

TEST(Plan, all_end__neighbours_with_a_table_of_leaders) {
    for_each_group(Flow::to_all, kEach, [](Case of) {
        of.by_messages = false;
        ASSERT_NO_FATAL_FAILURE(look(of));
        ASSERT_NO_FATAL_FAILURE(look_at_deaths(of));
    });
}

TEST(Plan, all_end__forming_with_a_part_that_is_lost_or_has_no_table) {
    for_each_group(Flow::forming, kPartsMost, [](Case of) {
        ASSERT_NO_FATAL_FAILURE(look(of));
        ASSERT_NO_FATAL_FAILURE(look_with_lost_parts(of));
        for (const unsigned part : some(static_cast<unsigned>(of.members.size()))) {
            of.refused = part;
            ASSERT_NO_FATAL_FAILURE(look(of));
        }
    });
}

TEST(Plan, all_end__broadcasts_of_each_way) {
    for_each_group(Flow::from_root, kPartsMost, [](Case of) {
        for (const Way way : {Way::plain, Way::by_chain, Way::by_tree}) {
            of.way = way;
            ASSERT_NO_FATAL_FAILURE(look(of));
            ASSERT_NO_FATAL_FAILURE(look_with_lost_parts(of));
        }
    });
}

TEST(Plan, all_end__broadcasts_of_leaders_that_do_not_know_the_way) {
    for_each_group(Flow::from_root, kPartsMost, [](Case of) {
        for (const Way way : {Way::by_chain, Way::by_tree}) {
            of.way = way;
            for (const unsigned part : some(static_cast<unsigned>(of.members.size()))) {
                of.unsure = part;
                ASSERT_NO_FATAL_FAILURE(look(of));
            }
        }
        of.way = Way::is_unsure;  // all leaders
        of.unsure = of.root;
        ASSERT_NO_FATAL_FAILURE(look(of));
    });
}

TEST(Plan, all_end__with_a_process_that_dies) {
    for (const Flow flow : {Flow::to_all, Flow::to_root, Flow::from_root, Flow::forming}) {
        for_each_group(flow, 7, [](Case of) {
            for (const Way way : {Way::plain, Way::by_chain, Way::by_tree}) {
                of.way = way;
                ASSERT_NO_FATAL_FAILURE(look_at_deaths(of));
                if (of.flow != Flow::from_root) return;
            }
        });
    }
}

}  // namespace
}  // namespace fci::group::test
