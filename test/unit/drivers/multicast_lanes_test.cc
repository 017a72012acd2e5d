// SPDX-License-Identifier: BSD-3-Clause
// Hints by multicast: which lane they go by, when it is looked at, and what of them is kept.
#include <cstring>
#include <set>

#include "test/unit/drivers/datagrams.h"
#include "test/unit/drivers/multicast_hand.h"

namespace fci::multicast {
namespace {

using nhi::Hints;

// --- lanes ---

TEST_F(multicast_hand, hint__goes_by_its_lane) {
    struct Row {
        std::size_t offset, total, bytes;
        unsigned lane;
    };
    const Row rows[] = {
        {0, 0, 0, 0},
        {0, Hints::kShortMost, Hints::kShortMost, 0},
        {5, Hints::kShortMost, 10, 0},
        {0, Hints::kShortMost + 1, Hints::kShortMost + 1, 1},
        {kMost - 1, long_.size(), 10, 1},
        {kMost, long_.size(), 10, 2},
        {2 * kMost, long_.size(), 10, 3},
        {3 * kMost, next_.size(), 10, 1},
    };
    ASSERT_EQ(ear_->expect(kName, 5, next_), Status::ok);
    for (const Row& row : rows) {
        const std::size_t before = heard_.all.size();
        ASSERT_EQ(say(5, row.offset, row.total, row.bytes), Status::ok);
        look_until(row.lane, before + 1);
        EXPECT_EQ(heard_.all.back().first.offset, row.offset);
        EXPECT_EQ(heard_.all.back().first.total, row.total);
        EXPECT_EQ(heard_.all.back().second, row.bytes);
    }
    EXPECT_EQ(counters_.hints_heard, std::size(rows));
    EXPECT_EQ(sent_.hints_sent, std::size(rows));
    EXPECT_EQ(counters_.hints_stray + counters_.hints_refused + counters_.hints_forged, 0u);
}

TEST_F(multicast_hand, hint__in_pieces_each_at_its_place) {
    ASSERT_EQ(ear_->expect(kName, 5, long_), Status::ok);
    for (std::size_t i = 0; i < data_.size(); ++i) data_[i] = static_cast<std::byte>(i / 5);
    ASSERT_EQ(say(5, 100, long_.size(), 2 * kPiece + 1), Status::ok);
    look_until(1, 3);
    for (unsigned i = 0; i < 3; ++i) {
        EXPECT_EQ(heard_.all[i].first.offset, 100 + i * kPiece);
        EXPECT_EQ(heard_.all[i].second, i < 2 ? kPiece : 1);
    }
    EXPECT_TRUE(std::equal(data_.begin(), data_.begin() + 2 * kPiece + 1, long_.begin() + 100));
    EXPECT_EQ(sent_.hints_sent, 3u);
    EXPECT_EQ(std::ranges::count(std::span(long_).first(100), std::byte{0}), 100);
}

TEST_F(multicast_hand, hint__of_all_that_may_go_at_once) {
    ASSERT_EQ(ear_->expect(kName, 5, long_), Status::ok);
    ASSERT_EQ(say(5, 0, kMost, kMost), Status::ok);
    look_until(1, kPieces);
    EXPECT_EQ(sent_.hints_sent, kPieces);
    data_.resize(kMost + 1);
    EXPECT_EQ(say(5, 0, long_.size(), kMost + 1), Status::invalid);
    EXPECT_EQ(say(5, 10, 20, 11), Status::invalid);
    EXPECT_EQ(say(5, 21, 20, 0), Status::invalid);
    EXPECT_EQ(say(5, 20, 20, 0), Status::ok);
    EXPECT_EQ(say(5, 0, 0, 0, kName + 1), Status::not_found);
    EXPECT_EQ(sent_.hints_sent, kPieces + 1);
}

// --- looking ---

/// Behind one that is short nothing is, most likely; and there is other work.
TEST_F(multicast_hand, look__takes_so_much_at_a_time) {
    ASSERT_EQ(ear_->expect(kName, 5, long_), Status::ok);
    const auto send = [&](unsigned count, std::size_t bytes) {
        for (unsigned i = 0; i < count; ++i) ASSERT_EQ(say(5, 0, long_.size(), bytes), Status::ok);
    };
    for (unsigned i = 0; i < 20; ++i) {
        send(2, kPiece - sizeof(Heading) - 1);
        EXPECT_LE(ear_->look(1), 1u);
        look_until(1, 2 * (i + 1));
    }
    unsigned most = 0;
    std::size_t all = heard_.all.size();
    for (Limit limit("as many at once"); most < 16 && limit.holds();) {
        send(20, kPiece - sizeof(Heading));
        most = std::max(most, ear_->look(1));
        look_until(1, all += 20);
    }
    EXPECT_EQ(most, 16u);
    EXPECT_EQ(ear_->look(1), 0u);
}

TEST_F(multicast_hand, look__of_a_long_lane_only_where_something_long_is_expected) {
    ASSERT_EQ(ear_->expect(kName, 5, std::span(long_).first(Hints::kShortMost)), Status::ok);
    ASSERT_EQ(say(5, 0, kPiece, kPiece), Status::ok);
    for (unsigned i = 0; i < 1000; ++i) EXPECT_EQ(ear_->look(1), 0u);
    EXPECT_EQ(counters_.hints_stray, 0u) << "it waits where it is";
    ASSERT_EQ(ear_->expect(kName, 5, std::span(long_).first(kPiece)), Status::ok);
    look_until(1, 1);
}

TEST_F(multicast_hand, look_for_long__all_lanes_and_counts_itself) {
    ASSERT_EQ(ear_->expect(kName, 5, long_), Status::ok);
    EXPECT_EQ(ear_->looks(), 0u);
    for (unsigned lane = 0; lane < 3; ++lane) {
        ASSERT_EQ(say(5, lane * kMost, long_.size(), 10), Status::ok);
    }
    unsigned expected = 0;
    std::uint64_t looks = 0;
    for (Limit limit("three pieces"); expected < 3 && limit.holds(); ++looks) {
        expected += ear_->look_for_long();
    }
    EXPECT_EQ(expected, 3u);
    EXPECT_EQ(ear_->looks(), looks);
    EXPECT_EQ(heard_.all.size(), 3u);
}

TEST_F(multicast_hand, look__what_nobody_needs_is_stray) {
    ASSERT_EQ(ear_->expect(kName, 5, long_), Status::ok);
    Heard others;
    ASSERT_EQ(join(*mouth_, 0, nobody_, kName + 1), Status::ok);
    ASSERT_EQ(say(5, 0, 10, 10, kName + 1), Status::ok);
    ASSERT_EQ(say(5, 0, 10, 10), Status::ok);
    look_until(0, 1);
    EXPECT_EQ(counters_.hints_stray, 1u) << "of a group that is not its own";
    ear_->withdraw(kName, 100);
    ASSERT_EQ(ear_->expect(kName, 101, long_), Status::ok);
    ASSERT_EQ(say(36, 0, 10, 10), Status::ok);
    ASSERT_EQ(say(101, 0, 10, 10), Status::ok);
    look_until(0, 2);
    EXPECT_EQ(counters_.hints_stray, 2u) << "it is too old to be looked at";
    ASSERT_EQ(say(102, 0, 10, 10), Status::ok);
    ASSERT_EQ(say(101, 0, 10, 10), Status::ok);
    look_until(0, 3);
    EXPECT_EQ(counters_.hints_stray, 3u) << "what is short is not kept";
    ASSERT_EQ(say(102, 0, Hints::kShortMost, Hints::kShortMost), Status::ok);
    ASSERT_EQ(say(101, 0, 10, 10), Status::ok);
    look_until(0, 4);
    EXPECT_EQ(counters_.hints_stray, 4u);
    EXPECT_EQ(ear_->heard(kName), 102u);
    EXPECT_EQ(ear_->heard(kName + 1), 0u);
}

/// A piece that is forged or too old is not told as work, and the old one costs no cipher.
TEST_F(multicast_hand, look__what_is_forged_is_no_work) {
    ear_->withdraw(kName, 100);
    ASSERT_EQ(ear_->expect(kName, 101, long_), Status::ok);
    const Place place = Place::of(static_cast<std::uint64_t>(getpid()) << 20 | 11, {});
    Sockets other(place, htonl(0x7f000002));
    std::string why;
    ASSERT_TRUE(other.open_to_send(&why)) << why;
    const std::uint32_t hosts[] = {htonl(0x7f000002), htonl(0x7f000003)};
    nhi::HintMember without_key{{kName, {}}, 0, hosts};
    without_key.group.key[0] = std::byte{1};
    Seal seal(libcrypto(), without_key);
    const std::vector<std::byte> ten(10);
    unsigned expected = 0;
    testing::internal::CaptureStderr();
    for (const std::uint64_t number : {101u, 37u, 36u}) {
        const auto forged = datagram_of(seal, place.cookie, {kName, number, 0, 10, 0}, ten);
        ASSERT_GT(other.send(0, forged, 0), 0);
        ASSERT_EQ(say(101, 0, 10, 10), Status::ok);
        const std::size_t before = heard_.all.size();
        for (Limit limit("a hint"); heard_.all.size() == before && limit.holds();) {
            expected += ear_->look(0);
        }
    }
    (void)testing::internal::GetCapturedStderr();
    EXPECT_EQ(expected, 3u);
    EXPECT_EQ(counters_.hints_forged, 2u);
    EXPECT_EQ(counters_.hints_stray, 1u) << "older than 64 numbers";
}

// --- what is ahead ---

TEST_F(multicast_hand, stash__the_oldest_go_where_it_is_full) {
    constexpr std::size_t kMore = 10;
    const std::size_t total = (kStashMost + kMore) * kPiece;
    next_.resize(total);
    ASSERT_EQ(ear_->expect(kName, 5, long_), Status::ok);
    for (std::size_t offset = 0; offset < total; offset += kMost) {
        ASSERT_EQ(say(6, offset, total, std::min(kMost, total - offset)), Status::ok);
        drain();
        EXPECT_EQ(counters_.hints_stray, offset + kMost < total ? 0 : kMore);
    }
    EXPECT_EQ(heard_.of(6), 0u);
    ear_->withdraw(kName, 5);
    ASSERT_EQ(ear_->expect(kName, 6, next_), Status::ok);
    EXPECT_EQ(heard_.of(6), 0u) << "in poll() only";
    EXPECT_EQ(ear_->look_for_long(), kStashMost);
    EXPECT_EQ(heard_.of(6), kStashMost);
    const auto first = std::span(next_).first(kMore * kPiece);
    EXPECT_EQ(std::ranges::count(first, std::byte{0}), std::ranges::ssize(first));
    EXPECT_EQ(std::ranges::count(next_, std::byte{7}),
              static_cast<std::ptrdiff_t>(kStashMost * kPiece));
    EXPECT_EQ(counters_.hints_stray, kMore);
    EXPECT_EQ(ear_->look_for_long(), 0u) << "once";
}

/// The pieces that are still ahead then are kept on.
TEST_F(multicast_hand, stash__each_for_its_own_number) {
    ASSERT_EQ(ear_->expect(kName, 5, long_), Status::ok);
    for (const std::uint64_t number : {7u, 6u, 8u}) {
        ASSERT_EQ(say(number, 0, kPiece, kPiece), Status::ok);
    }
    drain();
    ear_->withdraw(kName, 5);
    for (const std::uint64_t number : {6u, 7u}) {
        ASSERT_EQ(ear_->expect(kName, number, long_), Status::ok);
        EXPECT_EQ(ear_->look_for_long(), 1u);
        EXPECT_EQ(heard_.all.back().first.number, number);
        ear_->withdraw(kName, number);
    }
    // Of those that are over by then nothing is left.
    ear_->withdraw(kName, 8);
    ASSERT_EQ(ear_->expect(kName, 9, long_), Status::ok);
    EXPECT_EQ(ear_->look_for_long(), 0u);
    EXPECT_EQ(counters_.hints_stray, 1u);
}

TEST_F(multicast_hand, stash__is_looked_into_where_something_long_is_expected) {
    ASSERT_EQ(ear_->expect(kName, 5, long_), Status::ok);
    ASSERT_EQ(say(6, 0, Hints::kShortMost + 1, Hints::kShortMost + 1), Status::ok);
    drain();
    ASSERT_EQ(ear_->expect(kName, 6, std::span(next_).first(Hints::kShortMost + 1)), Status::ok);
    EXPECT_EQ(ear_->look_for_long(), 1u);
}

TEST_F(multicast_hand, stash__goes_with_the_last_group) {
    Heard other;
    ASSERT_EQ(join(*ear_, 1, other, kName + 1), Status::ok);
    ASSERT_EQ(ear_->expect(kName, 5, long_), Status::ok);
    ASSERT_EQ(say(6, 0, kPiece, kPiece), Status::ok);
    drain();
    ear_->leave(kName + 1);
    EXPECT_TRUE(ear_->can_hear()) << "not of another one";
    ear_->leave(kName + 2);
    ear_->leave(kName);
    EXPECT_FALSE(ear_->can_hear());
    heard_.all.clear();
    ASSERT_EQ(join(*ear_, 1, heard_), Status::ok);
    ASSERT_EQ(ear_->expect(kName, 6, next_), Status::ok);
    EXPECT_EQ(ear_->look_for_long(), 0u);
    EXPECT_TRUE(heard_.all.empty());
}

// --- what is watched ---

using Watched = std::vector<std::tuple<unsigned, unsigned, bool>>;

TEST_F(multicast_hand, set_quiet__the_short_lane_is_watched_or_not) {
    EXPECT_TRUE(watched_.empty());
    ear_->set_quiet(false);
    EXPECT_TRUE(watched_.empty()) << "as it is";
    ear_->set_quiet(true);
    ear_->set_quiet(true);
    EXPECT_EQ(watched_, (Watched{{1, 0, false}}));
    ear_->set_quiet(false);
    EXPECT_EQ(watched_, (Watched{{1, 0, false}, {1, 0, true}}));
}

TEST_F(multicast_hand, set_watched__long_lanes_where_something_long_is_expected) {
    ear_->set_watched(true);
    EXPECT_TRUE(watched_.empty());
    ASSERT_EQ(ear_->expect(kName, 5, long_), Status::ok);
    ear_->set_watched(true);
    const Watched on = {{1, 1, true}, {1, 2, true}, {1, 3, true}};
    EXPECT_EQ(watched_, on);
    ear_->set_watched(true);
    EXPECT_EQ(watched_, on);
    watched_.clear();
    ear_->set_watched(false);
    EXPECT_EQ(watched_, (Watched{{1, 1, false}, {1, 2, false}, {1, 3, false}}));
    watched_.clear();
    ear_->set_quiet(true);
    ear_->set_watched(false);
    EXPECT_EQ(watched_, (Watched{{1, 0, false}})) << "nobody sleeps";
    watched_.clear();
    ear_->set_watched(true);
    EXPECT_EQ(watched_, (Watched{{1, 0, true}, {1, 1, true}, {1, 2, true}, {1, 3, true}}));
    watched_.clear();
    ear_->leave(kName);
    EXPECT_EQ(watched_, (Watched{{1, 0, false}, {1, 1, false}, {1, 2, false}, {1, 3, false}}));
    watched_.clear();
    ear_->set_watched(true);
    ear_->set_quiet(true);
    EXPECT_TRUE(watched_.empty()) << "nothing is heard";
}

/// As in a child of fork(), whose groups are still its parent's.
TEST_F(multicast_hand, set_watched__after_its_close_nothing_is) {
    ASSERT_EQ(ear_->expect(kName, 5, long_), Status::ok);
    ear_->close();
    ear_->set_watched(true);
    ear_->set_quiet(true);
    ear_->leave(kName);
    EXPECT_TRUE(watched_.empty());
}

TEST_F(multicast_hand, draw__a_name_and_a_key_that_nobody_has) {
    std::set<std::uint64_t> words;
    for (unsigned i = 0; i < 10; ++i) {
        nhi::HintGroup group{};
        ASSERT_EQ(ear_->draw(&group), Status::ok);
        words.insert(group.name);
        for (unsigned half = 0; half < 2; ++half) {
            std::uint64_t word = 0;
            std::memcpy(&word, group.key.data() + 8 * half, sizeof word);
            words.insert(word);
        }
    }
    EXPECT_EQ(words.size(), 30u);
    EXPECT_FALSE(words.contains(0));
}

TEST_F(multicast_hand, join__anew_is_watched_whatever_was_before) {
    ear_->set_quiet(true);
    ear_->leave(kName);
    watched_.clear();
    ASSERT_EQ(join(*ear_, 1, heard_), Status::ok);
    EXPECT_EQ(watched_, (Watched{{1, 0, true}}));
    ear_->set_quiet(true);
    EXPECT_EQ(watched_.size(), 2u);
    ASSERT_EQ(join(*ear_, 1, heard_, kName + 1), Status::ok);
    EXPECT_EQ(watched_.size(), 2u) << "that is there already";
    EXPECT_EQ(join(*ear_, 1, heard_), Status::invalid);
}

}  // namespace
}  // namespace fci::multicast
