// SPDX-License-Identifier: BSD-3-Clause
#include "fci_core/group/hints/hinting.h"

#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "test/unit/group/hints/bulk.h"

namespace fci::group {
namespace {

using test::Bytes;

constexpr std::uint64_t kBrief = 7, kBulk = 8;
constexpr Nanoseconds kMilli = 1'000'000, kOff = 10'000'000'000;
constexpr std::size_t kBytes = 16;
const std::vector<std::uint32_t> kThree{1, 2, 3};

/// One of three hosts, which is the root or not as each case says.
struct Host : test::Ends {
    Host() : Ends(3) { hinting.open({{kBrief, {}}, {kBulk, {}}}, true, 0); }
    void begin(int code = FCI_ICL_DONE) {
        hinting.begin();
        ++number;
        share.begin(code == FCI_ICL_DONE ? kBytes : 0);
        if (code != FCI_ICL_DONE) share.fail(code, 1);
    }
    /// A broadcast of another root, which ends with that trailer.
    void hear(const Trailer& trailer, nhi::PeerId root = nhi::kNoPeer) {
        begin();
        std::memcpy(share.data() + kBytes, &trailer, sizeof trailer);
        share.set_length(kBytes + sizeof trailer);
        hinting.end(share, root);
        EXPECT_EQ(share.length(), kBytes);
    }
    /// One of its own.
    Trailer tell() {
        begin();
        hinting.send(share);
        Trailer said;
        std::memcpy(&said, share.data() + kBytes, sizeof said);
        hinting.end(share, nhi::kNoPeer);
        return said;
    }
    void tell(unsigned times) {
        while (times-- != 0) (void)tell();
    }
    /// The last of the chain says that nobody had a hint of that one.
    void unheard(std::uint64_t its_number, Hears hears = Hears::formerly) {
        hinting.on_unheard({test::kGroupKey, its_number, hears, {}});
    }
    [[nodiscard]] std::uint64_t off() { return counters(0).hints_off; }
    bool bring(std::uint64_t its_number) {
        return hints(0).bring({kBrief, its_number, 0, 8, 1}, test::pattern(8));
    }
    /// The notes that have come to this end since it was asked last.
    std::vector<Noted> noted(unsigned end) {
        settle();
        return std::exchange(notes(end), {});
    }

    Hinting hinting{messages(0), test::kGroupKey, &hints(0), kThree};
    Share share{};
    std::uint64_t number = 0;
};

TEST(Hinting, offer__where_hints_can_be_had) {
    test::Ends it(1);
    const auto offered = [&](nhi::Hints* hints, std::size_t hosts, unsigned draws, bool first) {
        it.hints(0).draws = draws;
        const Hinting hinting(it.messages(0), test::kGroupKey, hints,
                              std::vector<std::uint32_t>(hosts));
        return hinting.offer(first);
    };
    test::HandHints* const hints = &it.hints(0);
    const HintOffer all = offered(hints, 3, 2, true);
    EXPECT_EQ(all.brief.name, 102u);
    EXPECT_EQ(all.bulk.name, 101u);
    EXPECT_EQ(offered(hints, 3, 2, false).brief.name, HintOffer::kNothing);
    for (const bool first : {true, false}) {
        EXPECT_EQ(offered(nullptr, 3, 2, first).brief.name, HintOffer::kImpossible);
        EXPECT_EQ(offered(hints, 2, 2, first).brief.name, HintOffer::kImpossible);
        EXPECT_EQ(offered(hints, 3, 1, first).brief.name, HintOffer::kImpossible);
        EXPECT_EQ(offered(hints, 3, 0, first).brief.name, HintOffer::kImpossible);
    }
}

TEST(Hinting, open__with_what_all_could_have) {
    test::Ends it(1);
    const auto opened = [&](std::uint64_t name, bool speaks) {
        Hinting hinting(it.messages(0), test::kGroupKey, &it.hints(0), kThree);
        hinting.open({{name, {}}, {kBulk, {}}}, speaks, 2);
        return hinting.works();
    };
    EXPECT_FALSE(opened(HintOffer::kNothing, true));
    EXPECT_FALSE(opened(HintOffer::kImpossible, true));
    EXPECT_TRUE(opened(kBrief, false));
    EXPECT_TRUE(it.hints(0).joined.empty());
    EXPECT_TRUE(opened(kBrief, true));
    ASSERT_EQ(it.hints(0).joined.size(), 1u);
    EXPECT_EQ(it.hints(0).joined[0].group.name, kBrief);
    EXPECT_EQ(it.hints(0).joined[0].rank, 2u);
}

TEST(Hinting, long_ones__have_a_group_of_hints_of_their_own) {
    Host it;
    const Parts parts({1, 2, 3});
    const auto made = it.hinting.make_long(parts, {it.peers(0), 0, test::kGroupKey, 0});
    ASSERT_EQ(it.hints(0).joined.size(), 2u);
    EXPECT_EQ(it.hints(0).joined[1].group.name, kBulk);
    EXPECT_EQ(it.hints(0).joined[1].rank, 0u);
    EXPECT_EQ(it.hints(0).joined[1].hosts.size(), 3u);
}

TEST(Hinting, tells__data_and_trailer_in_one_hint) {
    Host it;
    it.begin();
    const Bytes data = test::pattern(kBytes);
    std::memcpy(it.share.data(), data.data(), kBytes);
    it.hinting.send(it.share);
    ASSERT_EQ(it.hints(0).hinted.size(), 1u);
    const auto& [hint, bytes] = it.hints(0).hinted[0];
    EXPECT_EQ(hint.number, 1u);
    ASSERT_EQ(bytes.size(), kBytes + sizeof(Trailer));
    EXPECT_EQ(Bytes(bytes.begin(), bytes.begin() + kBytes), data);
    Trailer trailer{};
    std::memcpy(&trailer, bytes.data() + kBytes, sizeof trailer);
    EXPECT_EQ(trailer.is_heard, 0u);
    EXPECT_EQ(trailer.hears, Hears::never);
    EXPECT_EQ(trailer.by_tree, 0u);
}

TEST(Hinting, end__makes_room_for_a_later_hint) {
    Host it;
    it.begin();
    EXPECT_FALSE(it.hinting.slots().is_plain(1));
    EXPECT_TRUE(it.bring(1));
    EXPECT_TRUE(it.hinting.slots().has(1));
    EXPECT_FALSE(it.bring(17));
    it.hinting.end(it.share, nhi::kNoPeer);
    EXPECT_TRUE(it.bring(17)) << "the first one has passed";
}

TEST(Hinting, end__of_data_that_have_no_trailer) {
    for (const std::size_t bytes : {std::size_t{0}, sizeof(Trailer) - 1, sizeof(Trailer)}) {
        Host it;
        it.begin();
        it.share.set_length(bytes);
        it.hinting.end(it.share, nhi::kNoPeer);
        EXPECT_EQ(it.share.code(), bytes < sizeof(Trailer) ? FCI_ICL_ETRUNC : FCI_ICL_DONE);
        EXPECT_EQ(it.share.length(), bytes < sizeof(Trailer) ? bytes : 0);
        EXPECT_FALSE(it.hinting.is_unsure());
    }
}

TEST(Hinting, lacked__by_the_next_one_and_for_a_while_nothing_lingers) {
    Host it;
    it.tell(2);
    it.hinting.on_lacking(it.peers(0)[1], {test::kGroupKey, 2});
    const auto noted = it.noted(1);
    ASSERT_EQ(noted.size(), 1u) << "whatever goes there pushes what lingers";
    EXPECT_EQ(noted[0].as<HintFollows>().key, test::kGroupKey) << "it is an answer";
    EXPECT_EQ(noted[0].as<HintFollows>().number, 2u);
    for (unsigned i = 0; i < 64; ++i) {
        it.begin();
        EXPECT_TRUE(it.hinting.slots().is_plain(it.number)) << it.number;
    }
    it.begin();
    EXPECT_FALSE(it.hinting.slots().is_plain(it.number));
    EXPECT_EQ(it.off(), 0u);
}

TEST(Hinting, closed__what_is_lacked_is_here_no_more) {
    Host it;
    it.begin();
    it.hinting.close();
    EXPECT_FALSE(it.bring(1));
    it.hinting.on_lacking(it.peers(0)[1], {test::kGroupKey, 1});
    EXPECT_TRUE(it.noted(1).empty());
}

TEST(Hinting, last_of_a_chain__tells_the_root_that_nobody_had_it) {
    Host it;
    const nhi::PeerId root = it.peers(0)[2];
    it.hear({0, Hears::formerly, 0}, root);
    const auto noted = it.noted(2);
    ASSERT_EQ(noted.size(), 1u);
    EXPECT_EQ(noted[0].as<HintUnheard>().key, test::kGroupKey);
    EXPECT_EQ(noted[0].as<HintUnheard>().number, 1u);
    EXPECT_EQ(noted[0].as<HintUnheard>().hears, Hears::formerly);
    it.hear({1, Hears::lately, 0}, root);
    it.hear({0, Hears::never, 0}, nhi::kNoPeer);
    it.begin(FCI_ICL_ETRUNC);
    it.hinting.end(it.share, root);
    EXPECT_TRUE(it.noted(2).empty());
    it.hear({1, Hears::lately, 1}, root);
    it.hear({0, Hears::never, 1}, root);
    EXPECT_TRUE(it.noted(2).empty()) << "nobody hears what comes down a tree";
}

TEST(Hinting, unsure__once_somebody_has_gone) {
    Host it;
    it.begin(FCI_ICL_ETRUNC);
    it.hinting.end(it.share, nhi::kNoPeer);
    EXPECT_FALSE(it.hinting.is_unsure());
    it.begin(FCI_ICL_EPEER);
    it.hinting.end(it.share, nhi::kNoPeer);
    EXPECT_TRUE(it.hinting.is_unsure());
    it.tell(1);
    EXPECT_TRUE(it.hinting.is_unsure()) << "for ever";
    EXPECT_TRUE(it.bring(17)) << "it has passed as well";
}

TEST(Hinting, tree__as_the_root_says_and_ten_seconds_later_a_chain) {
    Host it;
    it.hear({1, Hears::lately, 1});
    const Nanoseconds until = it.world.now() + kOff;
    EXPECT_TRUE(it.hinting.by_tree());
    EXPECT_EQ(it.tell().by_tree, 1u);
    EXPECT_TRUE(it.hints(0).hinted.empty());
    it.wait(kOff / 2);
    it.hear({0, Hears::never, 1});
    it.world.run_until(until - 1);
    EXPECT_EQ(it.tell().by_tree, 1u);
    EXPECT_TRUE(it.hinting.by_tree());
    it.world.run_until(until);
    EXPECT_EQ(it.tell().by_tree, 0u);
    EXPECT_TRUE(it.hints(0).hinted.empty()) << "of those behind that one";
    EXPECT_FALSE(it.hinting.by_tree());
    it.tell(1);
    EXPECT_EQ(it.hints(0).hinted.size(), 1u);
}

TEST(Hinting, unheard__what_was_sent_before_all_had_joined_counts_once) {
    Host it;
    it.tell(5);
    for (std::uint64_t number = 1; number <= 5; ++number) it.unheard(number);
    EXPECT_EQ(it.off(), 0u);
    it.tell(1);
    it.unheard(6);
    EXPECT_EQ(it.off(), 1u);
    EXPECT_EQ(it.tell().by_tree, 1u);
    EXPECT_EQ(it.hints(0).hinted.size(), 7u) << "the others hear of it by that one";
    it.tell(1);
    EXPECT_EQ(it.hints(0).hinted.size(), 7u);
}

TEST(Hinting, unheard__by_those_that_hear_others_is_late_only) {
    Host it;
    for (unsigned i = 0; i < 20; ++i) {
        it.tell(1);
        it.unheard(it.number, Hears::lately);
    }
    it.tell(1);
    it.unheard(it.number);
    EXPECT_EQ(it.off(), 0u);
}

TEST(Hinting, unheard__half_of_a_few) {
    for (const unsigned sent : {3u, 4u}) {
        Host it;
        it.tell(1);
        it.unheard(1);
        it.tell(sent);
        it.unheard(it.number);
        EXPECT_EQ(it.off(), sent == 3 ? 1u : 0u) << "two of " << 1 + sent;
    }
}

TEST(Hinting, unheard__of_sixteen_at_most) {
    for (const unsigned sent : {15u, 16u}) {
        Host it;
        it.tell(1);
        it.unheard(1);
        it.tell(sent);
        const unsigned least = sent == 15 ? 7 : 2;
        for (unsigned i = 1; i <= least; ++i) {
            EXPECT_EQ(it.off(), 0u) << i;
            it.unheard(it.number);
        }
        EXPECT_EQ(it.off(), 1u) << sent;
    }
}

TEST(Hinting, unheard__while_none_are_sent_is_no_news) {
    Host it;
    it.tell(1);
    it.unheard(1);
    it.tell(1);
    it.unheard(2);
    const Nanoseconds until = it.world.now() + kOff;
    it.world.run_until(until - 1);
    for (unsigned i = 0; i < 3; ++i) it.unheard(2);
    EXPECT_EQ(it.off(), 1u);
    it.world.run_until(until);
    it.unheard(2);
    EXPECT_EQ(it.off(), 2u);
}

TEST(Hinting, unheard__ever_is_said_and_what_was_heard_before_is_not) {
    Host it;
    testing::internal::CaptureStderr();
    it.tell(1);
    it.unheard(1, Hears::formerly);
    it.tell(1);
    it.unheard(2, Hears::formerly);
    EXPECT_EQ(it.off(), 1u);
    EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
    it.wait(kOff);
    testing::internal::CaptureStderr();
    it.unheard(2, Hears::never);
    it.unheard(2, Hears::never);
    EXPECT_EQ(it.off(), 2u);
    const std::string said = testing::internal::GetCapturedStderr();
    EXPECT_NE(said.find("no other host hears multicast"), std::string::npos) << said;
}

TEST(Hinting, window__of_long_ones) {
    Host it;
    it.hints(0).room = 4711;
    EXPECT_EQ(it.hinting.window(nhi::Hints::kShortMost), 0u);
    EXPECT_EQ(it.hinting.window(nhi::Hints::kShortMost + 1), 4711u);
    it.hear({1, Hears::lately, 1});
    const Nanoseconds until = it.world.now() + kOff;
    it.world.run_until(until - 1);
    EXPECT_EQ(it.hinting.window(100'000), 0u) << "while short ones go down a tree";
    it.world.run_until(until);
    EXPECT_EQ(it.hinting.window(100'000), 4711u);
}

TEST(Hinting, lossy__long_ones_go_another_way_for_ten_seconds) {
    Host it;
    testing::internal::CaptureStderr();
    it.hinting.report_lossy(it.peers(0)[1]);
    EXPECT_NE(it.hinting.window(100'000), 0u) << "that is for the root to know";
    const auto noted = it.noted(1);
    ASSERT_EQ(noted.size(), 1u);
    EXPECT_EQ(noted[0].as<LongLossy>().key, test::kGroupKey);
    EXPECT_EQ(it.off(), 0u);
    it.hinting.on_lossy();
    EXPECT_EQ(it.off(), 1u);
    Nanoseconds until = it.world.now() + kOff;
    EXPECT_EQ(it.hinting.window(100'000), 0u);
    EXPECT_EQ(it.tell().by_tree, 0u) << "short ones go on";
    it.world.run_until(until - 1);
    it.hinting.report_lossy(nhi::kSelf);
    EXPECT_EQ(it.off(), 1u);
    EXPECT_EQ(it.hinting.window(100'000), 0u);
    it.world.run_until(until);
    EXPECT_NE(it.hinting.window(100'000), 0u);
    it.hinting.report_lossy(nhi::kSelf);
    EXPECT_EQ(it.off(), 2u);
    EXPECT_EQ(it.hinting.window(100'000), 0u);
    const std::string said = testing::internal::GetCapturedStderr();
    EXPECT_NE(said.find("much of what is sent by multicast is lost"), std::string::npos) << said;
}

TEST(Hinting, long_one__refused_without_a_group) {
    Host it;
    it.hinting.refuse_long(it.peers(0)[1], 9);
    const auto message = it.take(1, 0, match_of(test::kGroupKey, 9, true));
    ASSERT_TRUE(message.has_value());
    EXPECT_TRUE(message->is_nothing);
}

}  // namespace
}  // namespace fci::group
