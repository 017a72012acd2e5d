// SPDX-License-Identifier: BSD-3-Clause
#include "fci_core/base/intrusive_list.h"

#include <gtest/gtest.h>

#include <vector>

namespace fci {
namespace {

struct Item : ListLink {
    explicit Item(int n) : number(n) {}
    int number;
};

std::vector<int> numbers(IntrusiveList<Item>& list) {
    std::vector<int> all;
    list.for_each([&](Item& item) { all.push_back(item.number); });
    return all;
}

TEST(intrusive_list, keeps_the_order) {
    IntrusiveList<Item> list;
    Item a(1), b(2), c(3);
    EXPECT_TRUE(list.empty());
    for (Item* item : {&a, &b, &c}) list.push_back(*item);
    EXPECT_EQ(numbers(list), (std::vector<int>{1, 2, 3}));
    EXPECT_EQ(list.pop_front(), &a);
    EXPECT_EQ(list.front().number, 2);
    EXPECT_FALSE(a.linked());
    list.push_back(a);
    EXPECT_EQ(numbers(list), (std::vector<int>{2, 3, 1}));
}

TEST(intrusive_list, removes_anywhere) {
    IntrusiveList<Item> list;
    Item a(1), b(2), c(3);
    for (Item* item : {&a, &b, &c}) list.push_back(*item);
    IntrusiveList<Item>::remove(b);
    EXPECT_EQ(numbers(list), (std::vector<int>{1, 3}));
    list.for_each([](Item& item) { IntrusiveList<Item>::remove(item); });
    EXPECT_TRUE(list.empty());
    EXPECT_EQ(list.pop_front(), nullptr);
}

TEST(intrusive_list, replaces_in_the_same_place) {
    IntrusiveList<Item> list;
    Item a(1), b(2), c(3), d(4), e(5);
    for (Item* item : {&a, &b, &c}) list.push_back(*item);
    IntrusiveList<Item>::replace(b, d);
    EXPECT_EQ(numbers(list), (std::vector<int>{1, 4, 3}));
    EXPECT_FALSE(b.linked());
    IntrusiveList<Item>::replace(c, e);
    list.push_back(b);
    EXPECT_EQ(numbers(list), (std::vector<int>{1, 4, 5, 2}));
    EXPECT_DEATH(IntrusiveList<Item>::replace(a, b), "broken invariant");
}

TEST(intrusive_list_death, refuses_an_element_that_is_in_a_list) {
    IntrusiveList<Item> list;
    Item a(1);
    list.push_back(a);
    EXPECT_DEATH(list.push_back(a), "broken invariant");
}

TEST(intrusive_list_death, remove__wants_an_element_that_is_in_a_list) {
    Item a(1);
    EXPECT_DEATH(IntrusiveList<Item>::remove(a), "broken invariant");
}

}  // namespace
}  // namespace fci
