// SPDX-License-Identifier: BSD-3-Clause
// Long lists where there is no memory for an index: slower, and right all the same.
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <vector>

#include "fci_core/mp/match/matching.h"

namespace fci::mp {
namespace {

constexpr std::uint64_t kDepth = 200'000;  // an index of it does not fit into what is left over

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kLimits = false;  // the runtime reserves more than any limit allows
#else
constexpr bool kLimits = true;
#endif

/// The process gets no more memory from the system, or any again.
void limit_memory(bool on) {
    static rlimit before{};
    rlimit now{};
    if (before.rlim_max == 0) getrlimit(RLIMIT_AS, &before);
    now = before;
    unsigned long pages = 0;
    std::FILE* const file = std::fopen("/proc/self/statm", "r");
    if (file == nullptr || std::fscanf(file, "%lu", &pages) != 1) _exit(3);
    std::fclose(file);
    if (on) now.rlim_cur = pages * static_cast<unsigned long>(sysconf(_SC_PAGESIZE));
    if (setrlimit(RLIMIT_AS, &now) != 0) _exit(4);
    // Nor is anything left of what earlier tests gave back.
    for (std::size_t bytes = on ? 1u << 20 : 0; bytes >= 64; bytes /= 2) {
        while (void* volatile kept = std::malloc(bytes)) (void)kept;
    }
}

void check(bool fine, int line) {
    if (fine) return;
    std::fprintf(stderr, "line %d\n", line);
    _exit(1);
}
#define CHECK(what) check(what, __LINE__)

[[noreturn]] void starve_posted() {
    PostedList list;
    std::vector<PostedNode> nodes(kDepth);
    for (std::uint64_t i = 0; i < kDepth; ++i) {
        nodes[i].pattern = {1, 0, i, 0};
        list.append(nodes[i]);
    }
    limit_memory(true);
    for (std::uint64_t i = 1; i <= 20; ++i) {
        CHECK(list.find({1, 0, kDepth - i}) == &nodes[kDepth - i]);
        CHECK(list.take({2, 0, i}) == nullptr);
        CHECK(list.take({1, 0, i}) == &nodes[i]);
    }
    limit_memory(false);
    // It is not tried again and again; once the list has been short, it gets its index.
    const std::uint64_t linear = list.visits();
    CHECK(list.find({1, 0, kDepth - 1}) == &nodes[kDepth - 1]);
    CHECK(list.visits() - linear > kDepth / 2);
    for (std::uint64_t i = 21; i < kDepth; ++i) list.remove(nodes[i]);
    CHECK(list.size() == 1 && list.find({1, 0, 5}) == nullptr);
    for (std::uint64_t i = 1; i < kDepth; ++i) list.append(nodes[i]);
    CHECK(list.find({1, 0, kDepth - 1}) == &nodes[kDepth - 1]);
    const std::uint64_t before = list.visits();
    CHECK(list.find({1, 0, kDepth - 2}) == &nodes[kDepth - 2]);
    CHECK(list.visits() - before < 20);
    _exit(0);
}

[[noreturn]] void starve_posted_later() {
    PostedList list;
    std::vector<PostedNode> nodes(kDepth);
    for (std::uint64_t i = 0; i < kDepth; ++i) nodes[i].pattern = {1, 0, i, 0};
    for (std::uint64_t i = 0; i < 1000; ++i) list.append(nodes[i]);
    CHECK(list.find({1, 0, 999}) == &nodes[999]);  // there is an index
    limit_memory(true);
    for (std::uint64_t i = 1000; i < kDepth; ++i) list.append(nodes[i]);
    CHECK(list.size() == kDepth);
    for (const std::uint64_t i : {1ul, 999ul, 1000ul, 1001ul, kDepth - 1}) {
        CHECK(list.take({1, 0, i}) == &nodes[i]);
        CHECK(list.take({1, 0, i}) == nullptr);
    }
    _exit(0);
}

[[noreturn]] void starve_arrived(bool later) {
    ArrivedList list;
    std::vector<ArrivedNode> nodes(kDepth);
    for (std::uint64_t i = 0; i < kDepth; ++i) nodes[i].envelope = {1, 0, i};
    std::uint64_t i = 0;
    for (; i < (later ? 1000 : kDepth); ++i) list.append(nodes[i]);
    if (later) CHECK(list.find({1, 0, 999, 0}) == &nodes[999]);
    limit_memory(true);
    for (; i < kDepth; ++i) list.append(nodes[i]);
    for (i = 1; i <= 20; ++i) {
        ArrivedNode* const found = list.find({1, 0, kDepth - i, 0});
        CHECK(found == &nodes[kDepth - i]);
        list.remove(*found);
        CHECK(list.find({1, 0, kDepth - i, 0}) == nullptr);
        CHECK(list.find({kAnySource, 0, i, 0}) == &nodes[i]);
        CHECK(list.find({1, 1, i, 0}) == nullptr);
    }
    _exit(0);
}

// In a process of its own, where no other test has left memory that is free again.
#define STARVES(call)                                       \
    if (!kLimits) GTEST_SKIP() << "not under a sanitizer";  \
    GTEST_FLAG_SET(death_test_style, "threadsafe");         \
    EXPECT_EXIT(call, testing::ExitedWithCode(0), "")

TEST(starved, posted__linear_until_the_list_was_short) { STARVES(starve_posted()); }
TEST(starved, posted__while_it_grows) { STARVES(starve_posted_later()); }
TEST(starved, arrived__linear) { STARVES(starve_arrived(false)); }
TEST(starved, arrived__while_it_grows) { STARVES(starve_arrived(true)); }

}  // namespace
}  // namespace fci::mp
