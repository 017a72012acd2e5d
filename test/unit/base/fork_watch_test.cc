// SPDX-License-Identifier: BSD-3-Clause
#include "fci_core/base/fork_watch.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <functional>
#include <optional>

namespace fci {
namespace {

void count(void* user) noexcept {
    ++*static_cast<int*>(user);
}

/// What a child says that does so.
int in_child(const std::function<int()>& what) {
    const pid_t child = fork();
    if (child == 0) _exit(what());
    int status = -1;
    waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST(ForkWatch, in_child__called_there_and_not_in_the_parent) {
    int one = 0, other = 0;
    const ForkWatch first(count, &one), second(count, &other);
    EXPECT_EQ(in_child([&] { return 10 * one + other; }), 11);
    EXPECT_EQ(one + other, 0);
    EXPECT_EQ(in_child([&] { return in_child([&] { return one; }); }), 2) << "a child's child";
}

TEST(ForkWatch, in_child__not_of_those_that_have_ended) {
    int counts[3] = {};
    std::optional<ForkWatch> watches[3];
    for (int i = 0; i < 3; ++i) watches[i].emplace(count, &counts[i]);
    const auto called = [&] {
        return in_child([&] { return counts[0] + 2 * counts[1] + 4 * counts[2]; });
    };
    EXPECT_EQ(called(), 7);
    watches[1].reset();
    EXPECT_EQ(called(), 5);
    watches[2].reset();
    EXPECT_EQ(called(), 1);
    watches[1].emplace(count, &counts[1]);
    EXPECT_EQ(called(), 3);
    for (auto& watch : watches) watch.reset();
    EXPECT_EQ(called(), 0);
}

TEST(ForkWatch, end__in_the_child) {
    int calls = 0;
    std::optional<ForkWatch> watch(std::in_place, count, &calls);
    EXPECT_EQ(in_child([&] {
                  watch.reset();
                  return 10 * calls + in_child([&] { return calls; });
              }),
              11);
}

}  // namespace
}  // namespace fci
