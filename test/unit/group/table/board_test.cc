// SPDX-License-Identifier: BSD-3-Clause
#include "fci_core/group/table/board.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <new>
#include <vector>

#include "fci_core/base/prng.h"
#include "fci_core/gcs/layout.h"
#include "test/unit/mp/shortage.h"
#include "test/unit/nhi/no_network.h"
#include "test/unit/seed.h"

namespace fci::group {
namespace {

constexpr std::size_t kPage = 4096;
constexpr auto kBoard = static_cast<std::uint64_t>(gcs::Layout::kBoard);

/// Remembers what memory of the window is there, and is asked for nothing else.
class Network final : public fci::test::NoNetwork {
public:
    Status open_window(nhi::WindowNumber number, nhi::LcsAddress base,
                       std::span<std::byte> memory) noexcept override {
        EXPECT_EQ(number, gcs::Layout::kBoardWindow);
        EXPECT_EQ(base, gcs::Layout::kBoard);
        window = memory;
        return opens ? Status::ok : Status::exhausted;
    }
    Status provide(nhi::PeerId id, nhi::LcsAddress address, std::size_t bytes) noexcept override {
        EXPECT_EQ(id, nhi::kSelf);
        ++provided;
        if (!provides) return Status::exhausted;
        mark(address, bytes, true);
        return Status::ok;
    }
    void take_back(nhi::LcsAddress address, std::size_t bytes) noexcept override {
        ++taken_back;
        mark(address, bytes, false);
    }
    [[nodiscard]] bool is_there(const std::byte* at, std::size_t bytes) const {
        const auto first = static_cast<std::size_t>(at - window.data()) / kPage;
        return std::all_of(pages.begin() + static_cast<std::ptrdiff_t>(first),
                           pages.begin() + static_cast<std::ptrdiff_t>(first + bytes / kPage),
                           [](bool one) { return one; });
    }

    std::span<std::byte> window;
    bool opens = true, provides = true;
    unsigned provided = 0, taken_back = 0;
    std::vector<bool> pages = std::vector<bool>(64);  // those that are there

private:
    void mark(nhi::LcsAddress address, std::size_t bytes, bool is) noexcept {
        const std::uint64_t at = static_cast<std::uint64_t>(address) - kBoard;
        EXPECT_EQ(at % kPage, 0u);
        EXPECT_EQ(bytes % kPage, 0u);
        for (std::uint64_t page = at / kPage; page < (at + bytes) / kPage; ++page) {
            pages.at(page) = is;
        }
    }
};

/// A board of so many bytes.
struct Made {
    explicit Made(std::size_t bytes) : memory(bytes), board(network, memory) {}
    /// Which of its pages those are that it takes; -1: none.
    int take(std::size_t bytes) {
        const std::span<std::byte> taken = board.take(bytes);
        if (taken.empty()) return -1;
        EXPECT_EQ(taken.size(), (bytes + kPage - 1) / kPage * kPage);
        EXPECT_TRUE(network.is_there(taken.data(), taken.size()));
        return static_cast<int>((taken.data() - memory.data()) / std::ptrdiff_t{kPage});
    }
    void give_back(int page, std::size_t pages = 1) {
        board.give_back({memory.data() + static_cast<std::size_t>(page) * kPage, pages * kPage});
    }

    std::vector<std::byte> memory;
    Network network;
    Board board;
};

TEST(Board, memory__of_less_than_a_page_is_none) {
    Made made(kPage - 1);
    EXPECT_TRUE(made.network.window.empty());
    EXPECT_EQ(made.take(1), -1);
    Made none(0);
    EXPECT_EQ(none.take(1), -1);
}

TEST(Board, memory__its_whole_pages_are_there_to_be_had) {
    Made one(kPage);
    EXPECT_EQ(one.network.window.size(), kPage);
    EXPECT_EQ(one.take(kPage), 0);
    EXPECT_EQ(one.take(1), -1);
    Made more(3 * kPage - 1);
    EXPECT_EQ(more.take(3 * kPage), -1);
    EXPECT_EQ(more.take(2 * kPage), 0);
    EXPECT_EQ(more.take(1), -1);
}

TEST(Board, memory__that_cannot_be_a_window_is_none) {
    Network network;
    network.opens = false;
    std::vector<std::byte> memory(4 * kPage);
    Board board(network, memory);
    EXPECT_TRUE(board.take(1).empty());
}

TEST(Board, take__whole_pages_from_the_first_place_that_is_large_enough) {
    Made made(8 * kPage);
    EXPECT_EQ(made.take(1), 0);
    EXPECT_EQ(made.take(kPage), 1);
    EXPECT_EQ(made.take(kPage + 1), 2);
    EXPECT_EQ(made.take(1), 4);
    EXPECT_EQ(made.take(4 * kPage), -1);
    EXPECT_EQ(made.take(3 * kPage), 5);
    EXPECT_EQ(made.take(1), -1);
    EXPECT_EQ(made.network.provided, 5u) << "of what is not to be had nothing is asked";
}

TEST(Board, address_of__as_far_in_the_window) {
    Made made(2 * kPage);
    EXPECT_EQ(made.board.address_of(made.memory.data()), gcs::Layout::kBoard);
    EXPECT_EQ(made.board.address_of(made.memory.data() + kPage + 64),
              gcs::Layout::kBoard + (kPage + 64));
}

TEST(Board, give_back__the_last_one_stays_for_the_next_of_its_length) {
    Made made(8 * kPage);
    EXPECT_EQ(made.take(2 * kPage), 0);
    EXPECT_EQ(made.take(2 * kPage), 2);
    made.give_back(2, 2);
    EXPECT_EQ(made.network.taken_back, 0u);
    EXPECT_EQ(made.take(kPage), 4) << "another length";
    EXPECT_EQ(made.take(2 * kPage - 1), 2) << "the same";
    EXPECT_EQ(made.network.provided, 3u) << "it was there still";
    EXPECT_EQ(made.take(2 * kPage), 5) << "once";
    made.give_back(0, 2);
    made.give_back(2, 2);
    EXPECT_EQ(made.network.taken_back, 1u) << "one of them at a time";
    EXPECT_FALSE(made.network.pages[0] || made.network.pages[1]);
    EXPECT_TRUE(made.network.pages[2] && made.network.pages[3]);
}

TEST(Board, give_back__what_stays_is_used_where_nothing_else_is_left) {
    Made made(4 * kPage);
    EXPECT_EQ(made.take(4 * kPage), 0);
    made.give_back(0, 4);
    EXPECT_EQ(made.take(kPage), 0);
    EXPECT_EQ(made.network.taken_back, 1u);
    EXPECT_EQ(made.take(3 * kPage), 1);
}

// One, its neighbour before, its neighbour behind, and both: and no other.
TEST(Board, give_back__neighbours_are_one_place_again) {
    const std::vector<std::vector<int>> orders{{0, 1, 2, 3}, {3, 2, 1, 0}, {0, 2, 1, 3},
                                               {2, 0, 3, 1}, {1, 3, 0, 2}, {1, 2, 0, 3}};
    for (const std::vector<int>& order : orders) {
        Made made(4 * kPage);
        for (int page = 0; page < 4; ++page) ASSERT_EQ(made.take(kPage), page);
        for (const int page : order) made.give_back(page);
        EXPECT_EQ(made.take(4 * kPage), 0) << order[0] << order[1] << order[2] << order[3];
        EXPECT_EQ(made.take(1), -1);
    }
}

TEST(Board, give_back__places_with_something_between_them_are_two) {
    Made made(5 * kPage);
    for (int page = 0; page < 5; ++page) ASSERT_EQ(made.take(kPage), page);
    for (const int page : {0, 2, 4}) made.give_back(page);
    EXPECT_EQ(made.take(2 * kPage), -1);
    EXPECT_EQ(made.take(kPage), 0) << "the last to come back was let go when that was tried";
    EXPECT_EQ(made.take(kPage), 2);
    EXPECT_EQ(made.take(kPage), 4);
    EXPECT_EQ(made.take(kPage), -1);
}

TEST(Board, give_back__between_two_of_which_one_is_near) {
    for (const int near : {1, 3}) {
        Made made(5 * kPage);
        for (int page = 0; page < 5; ++page) ASSERT_EQ(made.take(kPage), page);
        made.give_back(near == 1 ? 4 : 0);  // far
        made.give_back(near);
        made.give_back(2);
        EXPECT_EQ(made.take(3 * kPage), -1);
        EXPECT_EQ(made.take(2 * kPage), std::min(near, 2));
        EXPECT_EQ(made.take(kPage), near == 1 ? 4 : 0);
        EXPECT_EQ(made.take(1), -1);
    }
}

TEST(Board, take__what_the_network_cannot_provide_stays_for_later) {
    Made made(2 * kPage);
    made.network.provides = false;
    EXPECT_EQ(made.take(kPage), -1);
    EXPECT_EQ(made.take(2 * kPage), -1);
    EXPECT_EQ(made.network.taken_back, 2u);
    made.network.provides = true;
    EXPECT_EQ(made.take(2 * kPage), 0);
}

// Nothing lies in two of them, and nothing gets lost.
TEST(Board, random__all_that_is_given_back_can_be_had_again) {
    for (const std::uint64_t seed : seeds(20)) {
        SCOPED_TRACE(seed);
        Prng prng(seed);
        Made made(16 * kPage);
        std::map<int, std::size_t> taken;  // pages, by the first
        for (unsigned i = 0; i < 400; ++i) {
            if (taken.empty() || prng.below(2) == 0) {
                const std::size_t pages = 1 + prng.below(4);
                const int at = made.take(pages * kPage);
                if (at < 0) continue;
                const auto after = taken.lower_bound(at);
                if (after != taken.end()) {
                    ASSERT_LE(at + static_cast<int>(pages), after->first);
                }
                if (after != taken.begin()) {
                    const auto before = std::prev(after);
                    ASSERT_LE(before->first + static_cast<int>(before->second), at);
                }
                taken[at] = pages;
            } else {
                auto one = taken.begin();
                std::advance(one, static_cast<long>(prng.below(taken.size())));
                made.give_back(one->first, one->second);
                taken.erase(one);
            }
            for (const auto& [at, pages] : taken) {
                ASSERT_TRUE(made.network.is_there(made.memory.data() + at * kPage, pages * kPage));
            }
        }
        for (const auto& [at, pages] : taken) made.give_back(at, pages);
        EXPECT_EQ(made.take(16 * kPage), 0);
    }
}

// A take for which there is no memory has not happened, and works when it is tried again.
TEST(Board, take__without_memory_for_its_list) {
    using mp::test::InForce;
    using mp::test::Shortage;
    Made made(4 * kPage);
    Shortage::plan(0, 1);
    {
        const InForce here;
        EXPECT_THROW((void)made.board.take(kPage), std::bad_alloc);
    }
    EXPECT_EQ(made.network.provided, 0u);
    EXPECT_EQ(made.take(kPage), 0);
    EXPECT_EQ(made.take(3 * kPage), 1);
}

TEST(Board, give_back__takes_no_memory) {
    using mp::test::InForce;
    using mp::test::Shortage;
    Made made(4 * kPage);
    for (int page = 0; page < 4; ++page) ASSERT_EQ(made.take(kPage), page);
    Shortage::plan(0, 1000);
    for (const int page : {1, 3, 0, 2}) {
        const InForce here;
        made.give_back(page);
    }
    EXPECT_EQ(Shortage::calls, 0u);
    EXPECT_EQ(made.take(4 * kPage), 0);
}

}  // namespace
}  // namespace fci::group
