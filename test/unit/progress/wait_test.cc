// SPDX-License-Identifier: BSD-3-Clause
#include "fci_core/progress/wait.h"

#include <gtest/gtest.h>

#include "test/unit/progress/hand_wait.h"

namespace fci::progress {
namespace {

TEST(Waits, add__once_and_it_wants_to_be_woken) {
    Waits waits;
    HandWait one;
    EXPECT_TRUE(waits.empty());
    EXPECT_TRUE(waits.add(one));
    EXPECT_TRUE(one.wants_wake);
    EXPECT_FALSE(waits.empty());
    EXPECT_FALSE(waits.add(one));
    Waits::remove(one);
    EXPECT_FALSE(one.wants_wake);
    EXPECT_TRUE(waits.empty());
    Waits::remove(one);
}

TEST(Waits, any_over__of_those_that_stand_and_those_that_are_slept_over) {
    Waits waits;
    HandWait standing, slept_over;
    waits.enlist(standing);
    EXPECT_TRUE(waits.add(slept_over));
    EXPECT_FALSE(waits.any_over());
    standing.over = true;
    EXPECT_TRUE(waits.any_over());
    standing.over = false;
    slept_over.over = true;
    EXPECT_TRUE(waits.any_over());
    waits.forget();
    EXPECT_FALSE(waits.any_over());
}

TEST(Waits, any_wanted__what_is_slept_over_always_is) {
    Waits waits;
    HandWait standing, other, slept_over;
    standing.wanted = other.wanted = false;
    waits.enlist(standing);
    waits.enlist(other);
    EXPECT_FALSE(waits.any_wanted());
    other.wanted = true;
    EXPECT_TRUE(waits.any_wanted());
    other.wanted = false;
    EXPECT_TRUE(waits.add(slept_over));
    EXPECT_TRUE(waits.any_wanted());
    waits.forget();
}

TEST(Waits, prepare__says_whether_a_wait_is_new) {
    Waits waits;
    HandWait standing, part, step;
    waits.enlist(standing);
    EXPECT_FALSE(waits.prepare(nullptr));
    EXPECT_TRUE(waits.prepare(&step));
    EXPECT_FALSE(waits.prepare(&step));
    standing.part = &part;
    EXPECT_TRUE(waits.prepare(&step));
    EXPECT_TRUE(part.wants_wake);
    EXPECT_FALSE(waits.prepare(nullptr));
    EXPECT_FALSE(standing.wants_wake) << "its parts do";
    waits.forget();
}

TEST(Waits, may_be_woken__each_that_is_slept_over) {
    Waits waits;
    HandWait one, stranger;
    stranger.woken = false;
    EXPECT_TRUE(waits.may_be_woken());
    EXPECT_TRUE(waits.add(one));
    EXPECT_TRUE(waits.may_be_woken());
    EXPECT_TRUE(waits.add(stranger));
    EXPECT_FALSE(waits.may_be_woken());
    waits.forget();
}

TEST(Waits, forget__touches_nothing_that_is_waited_for) {
    HandWait one, standing;
    {
        Waits waits;
        waits.enlist(standing);
        EXPECT_TRUE(waits.add(one));
    }
    EXPECT_FALSE(one.linked() || standing.linked());
    EXPECT_TRUE(one.wants_wake) << "that is shared memory";
}

TEST(Wait, begin__counts_yields_anew) {
    HandWait one;
    one.begin(17);
    EXPECT_EQ(one.since(), 17);
    one.count_yield();
    one.count_yield();
    EXPECT_EQ(one.yields(), 2u);
    one.begin(18);
    EXPECT_EQ(one.yields(), 0u);
}

}  // namespace
}  // namespace fci::progress
