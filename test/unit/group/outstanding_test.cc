// SPDX-License-Identifier: BSD-3-Clause
#include "fci_core/group/outstanding.h"

#include <gtest/gtest.h>

#include <deque>
#include <functional>
#include <vector>

#include "test/unit/group/members.h"

namespace fci::group::test {
namespace {

constexpr int kGoesOn = FCI_ICL_OK;


/// Two or more on one host; rank 0 begins collectives that go on, and the test calls the others'.
class OutstandingTest : public testing::Test {
protected:
    struct Told {
        unsigned number;
        fci_icl_status status;
    };
    void SetUp() override {
        all.meet_all();
        ASSERT_EQ(one.form_all(), Answers(2, kDone));
        ASSERT_EQ(other.form_all(), Answers(2, kDone));
    }
    void TearDown() override {
        one.leave();
        other.leave();
    }
    /// That of the next number.
    Collective& next(int kind = FCI_ICL_BARRIER, unsigned root = 0, void* data = nullptr,
                     std::size_t bytes = 0) {
        Collective& it = its_.emplace_back();
        it.kind = kind;
        it.root = root;
        it.own = it.data = data;
        it.bytes = bytes;
        it.completion = {
            [](void* user, void* number, const fci_icl_status* status) {
                auto& own = *static_cast<OutstandingTest*>(user);
                own.told.push_back(
                    {static_cast<unsigned>(reinterpret_cast<std::uintptr_t>(number)), *status});
                if (own.when_told) own.when_told();
            },
            this, reinterpret_cast<void*>(its_.size())};
        it.next = &it;  // anything
        return it;
    }
    static int barrier(Group& group) {
        Collective it{};
        it.kind = FCI_ICL_BARRIER;
        return group.call(it, 1);
    }
    Outstanding& outstanding() { return all[0].groups->outstanding(); }
    [[nodiscard]] std::vector<unsigned> numbers() const {
        std::vector<unsigned> all_told;
        for (const Told& it : told) all_told.push_back(it.number);
        return all_told;
    }

    Processes all{2};
    Formed one{all, 0}, other{all, 2};
    std::vector<Told> told;
    std::function<void()> when_told;

private:
    std::deque<Collective> its_;
};
using Numbers = std::vector<unsigned>;

TEST_F(OutstandingTest, start__what_ends_at_once_is_told_to_nobody) {
    EXPECT_FALSE(outstanding().any());
    EXPECT_EQ(barrier(one[1]), FCI_ICL_EAGAIN);
    EXPECT_EQ(outstanding().start(one[0], next()), kDone);
    EXPECT_FALSE(outstanding().any());
    EXPECT_EQ(outstanding().start(one[0], next(17)), FCI_ICL_EINVAL);
    EXPECT_FALSE(outstanding().any());
    EXPECT_EQ(outstanding().advance(0), 0);
    EXPECT_EQ(numbers(), Numbers());
}

TEST_F(OutstandingTest, advance__one_after_the_other_in_the_order_of_their_beginning) {
    std::uint64_t words[3] = {5, 6, 7};
    EXPECT_EQ(outstanding().start(one[0], next()), kGoesOn);
    EXPECT_EQ(outstanding().start(one[0], next(FCI_ICL_BROADCAST, 0, &words[0], 8)), kGoesOn)
        << "though it need not wait";
    EXPECT_EQ(outstanding().start(one[0], next(FCI_ICL_BROADCAST, 0, &words[1], 4)), kGoesOn);
    EXPECT_TRUE(outstanding().any());
    EXPECT_FALSE(outstanding().is_over());
    EXPECT_EQ(outstanding().advance(0), 0);
    EXPECT_EQ(barrier(one[1]), kDone);
    EXPECT_EQ(outstanding().advance(5), 6) << "one look at one of each group";
    EXPECT_EQ(numbers(), Numbers({1}));
    EXPECT_TRUE(outstanding().is_over()) << "the next one was not looked at";
    EXPECT_EQ(outstanding().advance(0), 1);
    EXPECT_TRUE(outstanding().is_over());
    EXPECT_EQ(outstanding().advance(-7), -7);
    EXPECT_EQ(numbers(), Numbers({1, 2, 3}));
    EXPECT_FALSE(outstanding().is_over());
    EXPECT_FALSE(outstanding().any());
    for (const Told& it : told) EXPECT_EQ(it.status.error, FCI_ICL_OK);
    EXPECT_EQ(told[0].status.length, 0u);
    EXPECT_EQ(told[1].status.length, 8u);
    EXPECT_EQ(told[2].status.received, 4u);
}

TEST_F(OutstandingTest, advance__how_it_failed_is_told) {
    EXPECT_EQ(outstanding().start(one[0], next()), kGoesOn);
    EXPECT_EQ(outstanding().start(one[0], next()), kGoesOn);
    all.lose(1);
    EXPECT_EQ(outstanding().advance(0), 1);
    ASSERT_EQ(numbers(), Numbers({1}));
    EXPECT_EQ(told[0].status.error, FCI_ICL_EPEER);
    for (int i = 0; i < 3; ++i) (void)outstanding().advance(0);
    EXPECT_EQ(numbers(), Numbers({1, 2}));
    EXPECT_EQ(told[1].status.error, FCI_ICL_EPEER);
}

TEST_F(OutstandingTest, advance__nobody_need_be_told) {
    Collective& it = next();
    it.completion.done = nullptr;
    EXPECT_EQ(outstanding().start(one[0], it), kGoesOn);
    EXPECT_EQ(barrier(one[1]), kDone);
    EXPECT_EQ(outstanding().advance(0), 1);
    EXPECT_EQ(numbers(), Numbers());
}

TEST_F(OutstandingTest, advance__groups_go_on_side_by_side) {
    EXPECT_EQ(outstanding().start(one[0], next()), kGoesOn);
    EXPECT_EQ(outstanding().start(other[0], next()), kGoesOn);
    EXPECT_EQ(barrier(other[1]), kDone);
    EXPECT_EQ(outstanding().advance(0), 1);
    EXPECT_EQ(numbers(), Numbers({2}));
    EXPECT_FALSE(outstanding().is_over());
    EXPECT_TRUE(outstanding().any());
    EXPECT_EQ(barrier(one[1]), kDone);
    EXPECT_EQ(outstanding().advance(0), 1);
    EXPECT_EQ(numbers(), Numbers({2, 1}));
    EXPECT_EQ(outstanding().start(other[0], next()), kGoesOn) << "it begins anew";
    EXPECT_EQ(outstanding().start(one[0], next()), kGoesOn);
    EXPECT_EQ(barrier(one[1]), kDone);
    EXPECT_EQ(barrier(other[1]), kDone);
    EXPECT_EQ(outstanding().advance(0), 2);
    EXPECT_EQ(numbers(), Numbers({2, 1, 3, 4})) << "in the order of the groups";
}

TEST_F(OutstandingTest, advance__who_is_told_may_begin_another_one) {
    when_told = [&] {
        if (told.size() == 1) {
            EXPECT_EQ(outstanding().start(one[0], next()), kGoesOn);
        }
    };
    EXPECT_EQ(outstanding().start(one[0], next()), kGoesOn);
    EXPECT_EQ(barrier(one[1]), kDone);
    EXPECT_EQ(outstanding().advance(0), 1);
    EXPECT_TRUE(outstanding().any());
    EXPECT_EQ(barrier(one[1]), kDone);
    EXPECT_EQ(outstanding().advance(0), 1);
    EXPECT_EQ(numbers(), Numbers({1, 2}));
    EXPECT_FALSE(outstanding().any());
}

TEST_F(OutstandingTest, advance__who_is_told_may_drop_a_group) {
    for (Group* const dropped : {&one[0], &other[0]}) {
        told.clear();
        EXPECT_EQ(outstanding().start(one[0], next()), kGoesOn);
        EXPECT_EQ(outstanding().start(one[0], next()), kGoesOn);
        EXPECT_EQ(outstanding().start(other[0], next()), kGoesOn);
        when_told = [&, dropped] { outstanding().drop(*dropped); };
        EXPECT_EQ(barrier(one[1]), kDone);
        EXPECT_EQ(outstanding().advance(0), 1);
        EXPECT_EQ(told.size(), 1u);
        EXPECT_TRUE(outstanding().any()) << "the other group's";
        when_told = nullptr;
        outstanding().drop(one[0]);
        outstanding().drop(other[0]);
        EXPECT_FALSE(outstanding().any());
        if (dropped == &other[0]) break;
        EXPECT_EQ(barrier(one[1]), FCI_ICL_EAGAIN) << "the second one was not looked at";
        EXPECT_EQ(barrier(one[0]), kDone);
        EXPECT_EQ(barrier(one[1]), kDone);
        EXPECT_EQ(barrier(other[1]), kDone);
        EXPECT_EQ(barrier(other[0]), kDone);
    }
}

TEST_F(OutstandingTest, add_parts__what_the_first_of_each_group_waits_for_and_no_other) {
    progress::Waits waits;
    EXPECT_FALSE(outstanding().is_wanted());
    EXPECT_FALSE(outstanding().add_parts(waits));
    EXPECT_EQ(outstanding().start(one[0], next()), kGoesOn);
    EXPECT_EQ(outstanding().start(one[0], next()), kGoesOn);
    EXPECT_TRUE(outstanding().is_wanted());
    EXPECT_TRUE(outstanding().add_parts(waits));
    EXPECT_TRUE(one[0].table->wait().linked());
    EXPECT_FALSE(outstanding().add_parts(waits)) << "nothing is new";
    EXPECT_EQ(outstanding().start(other[0], next()), kGoesOn);
    EXPECT_TRUE(outstanding().add_parts(waits));
    EXPECT_TRUE(other[0].table->wait().linked());
    EXPECT_TRUE(waits.may_be_woken());
    outstanding().drop(one[0]);
    outstanding().drop(other[0]);
}

// It stands among the waits of its process, which ask it before each sleep.
TEST_F(OutstandingTest, waits__of_its_process_ask_it) {
    progress::Waits waits;
    waits.enlist(outstanding());
    EXPECT_FALSE(waits.any_wanted());
    EXPECT_EQ(outstanding().start(one[0], next()), kGoesOn);
    EXPECT_EQ(outstanding().start(one[0], next()), kGoesOn);
    EXPECT_TRUE(waits.any_wanted());
    EXPECT_TRUE(waits.prepare(nullptr));
    EXPECT_FALSE(waits.prepare(nullptr));
    EXPECT_FALSE(waits.any_over());
    EXPECT_EQ(barrier(one[1]), kDone);
    EXPECT_TRUE(waits.any_over());
    EXPECT_EQ(outstanding().advance(0), 1);
    EXPECT_TRUE(waits.empty());
    EXPECT_TRUE(waits.any_over()) << "the second one was not looked at";
    waits.forget();
    EXPECT_FALSE(outstanding().linked());
    outstanding().drop(one[0]);
}

TEST_F(OutstandingTest, advance__what_has_ended_is_not_slept_over) {
    EXPECT_EQ(outstanding().start(one[0], next()), kGoesOn);
    progress::Waits waits;
    EXPECT_TRUE(waits.add(one[0].table->wait()));
    EXPECT_EQ(outstanding().advance(0), 0);
    EXPECT_FALSE(waits.empty());
    EXPECT_EQ(barrier(one[1]), kDone);
    EXPECT_EQ(outstanding().advance(0), 1);
    EXPECT_TRUE(waits.empty());
    EXPECT_EQ(one[0].table->table().head().asleep, 0u);
}

// Those three apart have not met.
TEST(Outstanding, add_parts__may_not_all_be_ended_by_an_event) {
    Processes all(8);
    Formed group(all);
    ASSERT_EQ(group.form_all(), Answers(8, kDone));
    Collective it{};
    it.kind = FCI_ICL_BARRIER;
    Outstanding& outstanding = all[1].groups->outstanding();
    EXPECT_EQ(outstanding.start(group[1], it), kGoesOn);
    progress::Waits waits;
    EXPECT_TRUE(outstanding.add_parts(waits));
    EXPECT_FALSE(waits.may_be_woken());
    all.meet_all();
    EXPECT_TRUE(waits.may_be_woken());
    outstanding.drop(group[1]);
}

}  // namespace
}  // namespace fci::group::test
